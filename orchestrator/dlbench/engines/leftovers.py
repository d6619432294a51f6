"""Finds what a killed orchestrator left of its process trials, and nothing else.

Each trial has a private folder in dlbench's cache, which also holds the paths of its control group,
and every process of a trial carries a mark in its environment. A process number alone proves
nothing: it may belong to somebody else by now.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from dlbench import paths
from dlbench.engines import cgroups
from dlbench.engines.control_group import ControlGroup
from dlbench.errors import UserError

MARK = "DLBENCH_TRIAL"
"""In the environment of every process of a trial; its value is `cgroups.group_name`."""
_GROUP_FILE = "group.json"


def make_private(campaign: str, trial: str) -> Path:
    """A new folder for one trial's home and temporary files, outside the campaign."""
    folder = _folder() / cgroups.group_name(campaign, trial)
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise UserError(
            f"The folder {folder.parent} can't be written ({error.strerror}).",
            "Name another cache folder with DLBENCH_CACHE.",
        ) from error
    return folder


def record_group(private: Path, group: ControlGroup) -> None:
    folders = {name: str(path) for name, path in group.folders.items()}
    (private / _GROUP_FILE).write_text(json.dumps({"v": 1, "folders": folders}))


def sweep(campaign: str) -> list[str]:
    """End and remove what is left of a campaign's trials; the names of what was ended."""
    prefix = cgroups.prefix(campaign)
    ended = _kill_marked(f"{MARK}={prefix}".encode())
    for private in sorted(_folder().glob(f"{prefix}*")):
        group = _recorded_group(private)
        if group is not None:
            ended |= group.pids()
            group.remove()
        shutil.rmtree(private, ignore_errors=True)
    return [f"process {pid}" for pid in sorted(ended)]


def pids_of_trial(campaign: str, trial: str) -> set[int]:
    """The processes of a trial that still carry its mark."""
    return set(_marked(_whole_mark(campaign, trial)))


def end_trial(campaign: str, trial: str) -> None:
    """End what a trial left running outside its process group, where it has no control group."""
    _kill_marked(_whole_mark(campaign, trial))


def _whole_mark(campaign: str, trial: str) -> bytes:
    return f"{MARK}={cgroups.group_name(campaign, trial)}\0".encode()


def _folder() -> Path:
    return paths.cache() / "running"


def _recorded_group(private: Path) -> ControlGroup | None:
    """The group written down beside a trial; None unless it carries this very trial's name."""
    try:
        record = json.loads((private / _GROUP_FILE).read_text())
        folders = {name: Path(path) for name, path in record["folders"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    for folder in folders.values():
        if folder.name != private.name or not (folder / "cgroup.procs").exists():
            return None
    return ControlGroup(folders) if folders else None


def _kill_marked(beginning: bytes, seconds: float = 5.0) -> set[int]:
    """Kill every process that has a variable with this beginning, until there is none left."""
    killed: set[int] = set()
    end = time.monotonic() + seconds
    while (marked := _marked(beginning)) and time.monotonic() < end:
        killed.update(pid for pid in marked if _kill_if_marked(pid, beginning))
        time.sleep(0.01)
    return killed


def _marked(beginning: bytes) -> list[int]:
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if pid != os.getpid() and _has_mark(pid, beginning)]


def _has_mark(pid: int, beginning: bytes) -> bool:
    try:
        return b"\0" + beginning in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _kill_if_marked(pid: int, beginning: bytes) -> bool:
    """Through a handle on the process, so that no other can take its number in between."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _has_mark(pid, beginning):
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    except PermissionError:
        return False
    finally:
        os.close(handle)
