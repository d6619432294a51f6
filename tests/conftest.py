"""The two tiers, what the terminal shows, the end by a signal, and the real container daemon."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dlbench.engines.connect import NoDaemon, connect
from tests.progress import Progress, not_run
from tests.scheduling import DOCKER_USED, leave_out_slow, scheduler, sort_by_group

if TYPE_CHECKING:
    import docker

_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests, too")


def pytest_sessionstart(session: pytest.Session) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    reports = terminal is not None and not hasattr(config, "workerinput")  # one process does
    if reports and config.get_verbosity() == 0:
        config.pluginmanager.register(Progress(terminal))


_last_interrupt = float("-inf")


def _interrupt(number: int, _frame: object) -> None:
    """A second signal at once comes from `scripts/supervise.py` besides the terminal's."""
    global _last_interrupt
    before, _last_interrupt = _last_interrupt, time.monotonic()
    if _last_interrupt - before > 1.0:
        raise KeyboardInterrupt(signal.Signals(number).name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = leave_out_slow(config, items)
    sort_by_group(config, items)
    config.stash[_LEFT_OUT] = left_out
    if hasattr(config, "workeroutput"):  # one of several processes: told to the one that reports
        config.workeroutput["left_out"] = left_out


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Any:
    return scheduler(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    text = not_run(skipped, config.stash.get(_LEFT_OUT, 0))
    if text:
        terminalreporter.section("not run", sep="-")
        terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def docker_client(request: pytest.FixtureRequest) -> Iterator[docker.DockerClient]:
    """The real daemon. Without one the test is skipped, or fails where CI demands Docker."""
    try:
        client = connect()
    except NoDaemon as error:
        if "docker" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            pytest.fail(str(error))
        pytest.skip("no container daemon answers (start Docker or set DOCKER_HOST)")
    request.config.stash[DOCKER_USED] = True
    yield client
    client.close()
