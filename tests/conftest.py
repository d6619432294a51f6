"""The two tiers, what the terminal shows, the end by a signal, and the real container daemon."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dlbench.engines.connect import NoDaemon, connect
from tests.progress import Progress, not_run

if TYPE_CHECKING:
    import docker

_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests, too")


def pytest_sessionstart(session: pytest.Session) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    plugins = session.config.pluginmanager
    terminal = plugins.get_plugin("terminalreporter")
    if terminal is not None and session.config.get_verbosity() == 0:
        plugins.register(Progress(terminal))


_last_interrupt = float("-inf")


def _interrupt(number: int, _frame: object) -> None:
    """A second signal at once comes from `scripts/supervise.py` besides the terminal's."""
    global _last_interrupt
    before, _last_interrupt = _last_interrupt, time.monotonic()
    if _last_interrupt - before > 1.0:
        raise KeyboardInterrupt(signal.Signals(number).name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow, unless everything is asked for or its file is named."""
    config.stash[_LEFT_OUT] = 0
    if config.getoption("--all"):
        return
    named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    slow = [
        item
        for item in items
        if item.get_closest_marker("slow") is not None and item.path not in named
    ]
    config.stash[_LEFT_OUT] = len(slow)
    if slow:
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    text = not_run(skipped, config.stash.get(_LEFT_OUT, 0))
    if text:
        terminalreporter.section("not run", sep="-")
        terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def docker_client() -> Iterator[docker.DockerClient]:
    """The real daemon. Without one the test is skipped, or fails where CI demands Docker."""
    try:
        client = connect()
    except NoDaemon as error:
        if "docker" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(str(error))
        pytest.skip("no container daemon answers (start Docker or set DOCKER_HOST)")
    yield client
    client.close()
