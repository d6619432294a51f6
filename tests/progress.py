"""What the terminal shows of a run: one line for each file of tests, and what was not run and why.

On a terminal the last line says what runs now, how far the whole is, and moves every second, so
that a download or a compiler that takes minutes can be seen to take them. `-v` and `-q` switch this
off: then pytest's own display is as it always is.
"""

from __future__ import annotations

import textwrap
import threading
import time
from collections import Counter
from collections.abc import Generator
from pathlib import PurePath

import pytest
from _pytest.terminal import TerminalReporter

_WIDTH = 80


class Progress:
    """Follows the tests of a session; registered with pytest, which calls its `pytest_` methods."""

    def __init__(self, terminal: TerminalReporter) -> None:
        self._terminal = terminal
        self._live = terminal.isatty
        self._began = time.monotonic()
        self._total = self._done = 0
        self._file, self._file_began = "", 0.0
        self._outcomes: Counter[str] = Counter()
        self._test = ""
        self._ended = threading.Event()
        self._writing = threading.Lock()
        terminal.showfspath = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = len(session.items)
        if self._live:
            threading.Thread(target=self._tick, daemon=True).start()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self,
    ) -> Generator[None, tuple[str, str, str], tuple[str, str, str]]:
        """No letter for a test: the line of its file counts it."""
        category, _, _ = yield
        return category, "", ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file, _, test = nodeid.partition("::")
        with self._writing:
            if file != self._file:
                self._finish_file()
                self._file, self._file_began = file, time.monotonic()
            self._test = test
            self._show_current()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with self._writing:
                self._write(f"FAILED {report.nodeid}", red=True)
        if report.outcome != "passed" or report.when == "call":
            self._outcomes[report.outcome] += 1

    def pytest_runtest_logfinish(self) -> None:
        self._done += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._ended.set()
        with self._writing:
            self._finish_file()

    def _finish_file(self) -> None:
        if not self._outcomes:
            return
        counts = ", ".join(
            f"{self._outcomes[outcome]} {outcome}"
            for outcome in ("passed", "skipped", "failed")
            if self._outcomes[outcome]
        )
        left = f"{self._far()}  {_shorten(self._file, 46)}"
        seconds = _clock(time.monotonic() - self._file_began)
        self._write(f"{left}  {counts}, {seconds}", red="failed" in self._outcomes)
        self._outcomes.clear()

    def _far(self) -> str:
        return f"{100 * self._done // max(self._total, 1):3d} %"

    def _write(self, line: str, **markup: bool) -> None:
        if self._live:
            self._terminal.rewrite("", erase=True)
            self._terminal.rewrite("")
        self._terminal.write_line(line, **markup)

    def _show_current(self) -> None:
        if self._live:
            line = f"{self._far()}  {_clock(time.monotonic() - self._began)}  "
            name = f"{PurePath(self._file).stem}: {self._test}"
            width = min(_WIDTH, self._terminal._tw.fullwidth) - 1
            self._terminal.rewrite((line + name)[:width], erase=True)
            self._terminal.flush()

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            with self._writing:
                if not self._ended.is_set():
                    self._show_current()


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


def _shorten(path: str, width: int) -> str:
    path = path.removeprefix("tests/")
    return path if len(path) <= width else "…" + path[1 - width :]
