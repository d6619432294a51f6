"""What the terminal shows of a run: one line for each file of tests, and what was not run and why.

On a terminal the last line says what runs now, how far the whole is, and moves every second, so
that a download or a compiler that takes minutes can be seen to take them; a log gets such a line
every half minute. `-v` and `-q` switch this off: then pytest's own display is as it always is.
"""

from __future__ import annotations

import textwrap
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import PurePath

import pytest
from _pytest.terminal import TerminalReporter

_WIDTH = 80


class Progress:
    """Follows the tests of a session; registered with pytest, which calls its `pytest_` methods.

    Several processes may run tests at once: a file's line comes when its last test has ended."""

    def __init__(self, terminal: TerminalReporter) -> None:
        self._terminal = terminal
        self._live = terminal.isatty
        self._began = time.monotonic()
        self._total = self._done = 0
        self._waiting: Counter[str] = Counter()
        self._outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self._seconds: Counter[str] = Counter()
        self._current = ""
        self._ended = threading.Event()
        self._writing = threading.Lock()
        terminal.showfspath = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self._total:  # every process finds the same tests
            self._expect(ids)

    def _expect(self, nodeids: list[str]) -> None:
        self._total = len(nodeids)
        self._waiting.update(map(_file, nodeids))
        if nodeids:
            threading.Thread(target=self._tick, daemon=True).start()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self,
    ) -> Generator[None, tuple[str, str, str], tuple[str, str, str]]:
        """No letter for a test: the line of its file counts it."""
        category, _, word = yield
        return category, "", word

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self._writing:
            test = nodeid.partition("::")[2]
            self._current = f"{PurePath(_file(nodeid)).stem}: {test}"
            if self._live:
                self._show_current()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = _file(report.nodeid)
        self._seconds[file] += report.duration
        if report.outcome != "passed" or report.when == "call":
            self._outcomes[file][report.outcome] += 1
        if report.failed:
            with self._writing:
                self._write(f"FAILED {report.nodeid}", red=True)
                crash = getattr(report.longrepr, "reprcrash", None)
                if crash is not None:
                    self._terminal.write_line(f"       {crash.message.splitlines()[0][:_WIDTH]}")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        file = _file(nodeid)
        self._done += 1
        self._waiting[file] -= 1
        if self._waiting[file] == 0:
            with self._writing:
                self._show_file(file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._ended.set()
        with self._writing:
            if self._live:
                self._erase()

    def _show_file(self, file: str) -> None:
        outcomes = self._outcomes[file]
        counts = ", ".join(
            f"{outcomes[outcome]} {outcome}"
            for outcome in ("passed", "skipped", "failed")
            if outcomes[outcome]
        )
        line = f"{self._percent()}  {file.removeprefix('tests/')}  {counts}"
        self._write(f"{line}, {_clock(self._seconds[file])}", red="failed" in outcomes)

    def _percent(self) -> str:
        return f"{100 * self._done // max(self._total, 1):3d} %"

    def _write(self, line: str, **markup: bool) -> None:
        if self._live:
            self._erase()
        self._terminal.write_line(line, **markup)

    def _erase(self) -> None:
        self._terminal.rewrite("", erase=True)
        self._terminal.rewrite("")

    def _show_current(self) -> None:
        line = f"{self._percent()}  {_clock(time.monotonic() - self._began)}  {self._current}"
        line = line[: _WIDTH - 1]
        if self._live:
            self._terminal.rewrite(line, erase=True)
        else:
            self._terminal.write_line(line)
        self._terminal.flush()

    def _tick(self) -> None:
        while not self._ended.wait(1.0 if self._live else 30.0):
            with self._writing:
                if not self._ended.is_set():
                    self._show_current()


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def not_run(reports: list[pytest.TestReport], left_out: int) -> str:
    """One paragraph: how many tests did not run, for which reasons, and what would run them."""
    reasons = Counter(_reason(report) for report in reports)
    sentences = [f"{_tests(count)} skipped: {reason}." for reason, count in reasons.most_common()]
    if left_out:
        sentences.append(f"{_tests(left_out)} left out as slow: ./scripts/test --all runs them.")
    return textwrap.fill(" ".join(sentences), _WIDTH)


def _tests(count: int) -> str:
    return "1 test was" if count == 1 else f"{count} tests were"


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ").strip().rstrip(".")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
