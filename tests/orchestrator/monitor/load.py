"""What the monitor's tests do with the load they watch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from dlbench.engines import cgroups
from dlbench.engines.base import Scope
from dlbench.engines.control_group import ControlGroup

Start = Callable[[str], subprocess.Popen[bytes]]


def go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


def scope_of(process: subprocess.Popen[bytes], group: ControlGroup | None = None) -> Scope:
    """The scope of a process, moved into `group` if one is given."""
    if group is None:
        return Scope(process.pid, 1.0)
    group.enter(process.pid)
    return Scope(process.pid, 1.0, cgroups.counted(group.folders))
