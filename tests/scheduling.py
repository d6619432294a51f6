"""Which tests run, in which order, and which of them share a process.

`scripts/test` runs the tests in several processes (pytest-xdist). A file is the unit that one
process gets, so that its fixtures are made once. All tests that use the container daemon are one
unit as well: they build, count and prune images of one daemon.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCKER_USED = pytest.StashKey[bool]()
"""In the stash of a process that has used the container daemon."""
_DOCKER_GROUP = "docker"
_DOCKER_FILES = (
    "tests/orchestrator/engines/test_connect.py",
    "tests/orchestrator/environments/test_cuda_images.py",
    "tests/orchestrator/environments/test_images.py",
    "tests/orchestrator/engines/test_gpu_passthrough.py",
)
"""Besides the tests that have "docker" in their addresses."""
_RELEASE = re.compile(r"/test_(?:named_releases|random_graphs)\.py::\w+\[([^:\]]+)")


def leave_out_slow(config: pytest.Config, items: list[pytest.Item]) -> int:
    """Remove the slow tests, unless everything is asked for or their file is; how many went?"""
    if config.getoption("--all"):
        return 0
    named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    slow = [item for item in items if item.get_closest_marker("slow") and item.path not in named]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]
    return len(slow)


def group_of(nodeid: str) -> str:
    """The name of the unit that a test belongs to, from its address alone.

    (pytest-xdist's own marks for this do not reach the process that hands out the tests.)"""
    file = nodeid.partition("::")[0]
    if "docker" in nodeid or file in _DOCKER_FILES:
        return _DOCKER_GROUP
    if release := _RELEASE.search(nodeid):  # one process prepares an environment and uses it
        return release[1]
    return file


def sort_by_group(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest goes first, so that no process is left alone with it at the end."""
    for item in items:
        if item.get_closest_marker("docker") and group_of(item.nodeid) != _DOCKER_GROUP:
            raise pytest.UsageError(f"add {item.nodeid} to the tests of the daemon (scheduling.py)")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _rank(group_of(item.nodeid)))


def _rank(group: str) -> int:
    """0: a named release; 1: the container daemon; 2: any other file."""
    if group == _DOCKER_GROUP:
        return 1
    return 2 if group.endswith(".py") else 0


def scheduler(config: pytest.Config, log: object) -> Any:
    """Hands out the tests group by group."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log)
