"""Where control groups are: reads /proc/PID/cgroup and mountinfo, for version 1, 2 and both mixed.

Pure functions of text, so that a layout this machine does not have can be tested too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

COUNTED = ("cpuacct", "memory", "pids")
"""Version 1 controllers whose counters describe a trial."""
UNIFIED = "unified"


@dataclass(frozen=True)
class Mount:
    """One mounted hierarchy."""

    controllers: frozenset[str]
    """Version 1: as mounted together, named ones as `name=…`; version 2: {"unified"}."""
    root: str
    """The group that the mount point shows."""
    folder: Path


def mounts(mountinfo: str) -> list[Mount]:
    """The hierarchies in a /proc/PID/mountinfo."""
    hierarchies = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        version2 = kind[0] == "cgroup2"
        controllers = {UNIFIED} if version2 else set(kind[2].split(",")) - {"rw", "ro"}
        hierarchies.append(
            Mount(frozenset(controllers), _unescape(fields[3]), Path(_unescape(fields[4])))
        )
    return hierarchies


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def memberships(cgroup: str) -> dict[str, str]:
    """The group of each controller in a /proc/PID/cgroup; version 2's under "unified"."""
    groups = {}
    for line in cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not path.startswith("/"):
            continue
        for controller in controllers.split(",") if controllers else [UNIFIED]:
            if controller != UNIFIED or number == "0":
                groups[controller] = path
    return groups


def locate(cgroup: str, mountinfo: str) -> dict[str, Path]:
    """The folder of each controller's group, for those that the mounts show."""
    shown = mounts(mountinfo)
    folders = {}
    for controller, path in memberships(cgroup).items():
        for mount in shown:
            if controller in mount.controllers and (inside := _below(path, mount.root)) is not None:
                folders[controller] = mount.folder / inside
                break
    return folders


def _below(path: str, root: str) -> PurePosixPath | None:
    """`path` relative to `root`; None where the mount does not reach it.

    A path with `..` is one outside our control group namespace."""
    if ".." in PurePosixPath(path).parts:
        return None
    try:
        return PurePosixPath(path).relative_to(PurePosixPath(root))
    except ValueError:
        return None


def choose(folders: dict[str, Path]) -> dict[str, Path]:
    """The folders that carry the counters: version 1's where its memory controller is mounted."""
    if "memory" in folders and "cpuacct" in folders:
        return {name: folders[name] for name in (*COUNTED, "cpu") if name in folders}
    return {UNIFIED: folders[UNIFIED]} if UNIFIED in folders else {}


def counted(folders: dict[str, Path]) -> dict[str, Path]:
    """Of chosen folders those that a `Scope` names."""
    return {name: path for name, path in folders.items() if name in (*COUNTED, UNIFIED)}


def of_process(pid: int | str = "self") -> dict[str, Path]:
    """Every group folder of a process that can be seen from here; empty if it is gone."""
    try:
        cgroup = Path(f"/proc/{pid}/cgroup").read_text()
        mountinfo = Path("/proc/self/mountinfo").read_text()
    except OSError:
        return {}
    return locate(cgroup, mountinfo)


def oom_kills(folders: dict[str, Path]) -> int:
    """How many processes the kernel has ended in this group for lack of memory."""
    if UNIFIED in folders:
        return counter(folders[UNIFIED] / "memory.events", "oom_kill")
    return counter(folders["memory"] / "memory.oom_control", "oom_kill") if folders else 0


def counter(file: Path, name: str) -> int:
    """One value of a file of `name value` lines; 0 where it is not there."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def group_name(campaign: str, trial: str) -> str:
    """The name of a trial's group: nothing but dlbench makes names like it."""
    return f"{prefix(campaign)}{_plain(trial)}"


def prefix(campaign: str) -> str:
    """What the names of all groups of one campaign begin with, and of no other campaign."""
    return f"dlbench@{_plain(campaign)}@"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:100]
