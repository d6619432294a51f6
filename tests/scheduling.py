"""Which tests run, in which order, and which of them share a process.

`scripts/test` runs the tests in several processes (pytest-xdist). A file is the unit that one
process gets, so that its fixtures are made once. All tests that use the container daemon are one
unit as well: they build, count and prune images of one daemon.
"""

from __future__ import annotations

from pathlib import Path

import pytest

DOCKER_USED = pytest.StashKey[bool]()
"""In the stash of a process that has used the container daemon."""
_DOCKER_GROUP = "docker"


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


def group_and_sort(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest goes first, so that no process is left alone with it at the end."""
    if not config.getoption("loadgroup", False):
        return
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_default_group(item)))
    items.sort(key=_rank)


def _default_group(item: pytest.Item) -> str:
    if item.get_closest_marker("docker") or "docker_client" in getattr(item, "fixturenames", ()):
        return _DOCKER_GROUP
    return item.nodeid.partition("::")[0]


def _rank(item: pytest.Item) -> int:
    """0: slow groups that a test file names itself; 1: the daemon's; 2: all others."""
    group = item.get_closest_marker("xdist_group")
    name = group.args[0] if group else ""
    if name == _DOCKER_GROUP:
        return 1
    return 2 if name.endswith(".py") else 0
