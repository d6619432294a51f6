"""A control group of a trial's own: made, limited, emptied and removed by the process engine.

It is made below the orchestrator's own group, so that whatever limits dlbench limits its trials.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dlbench.engines import cgroups
from dlbench.engines.base import Limits

PERIOD_US = 100_000
_NEEDED = ("memory", "cpu", "pids")


@dataclass(frozen=True)
class ControlGroup:
    """The folders of one group: one per controller in version 1, one in version 2."""

    folders: dict[str, Path]

    @property
    def limits_cpu(self) -> bool:
        return self._file("cpu", "cpu.max", "cpu.cfs_quota_us") is not None

    def limit(self, limits: Limits) -> None:
        """Set what the trial may use. Raises OSError where the kernel refuses a value."""
        if limits.memory_bytes is not None:
            if unified := self.folders.get(cgroups.UNIFIED):
                (unified / "memory.max").write_text(str(limits.memory_bytes))
                _write_if_there(unified / "memory.swap.max", "0")
                # One process killed for memory is the whole trial's end, not a broken remainder.
                _write_if_there(unified / "memory.oom.group", "1")
            else:
                memory = self.folders["memory"]
                (memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
                _write_if_there(memory / "memory.memsw.limit_in_bytes", str(limits.memory_bytes))
        if limits.cpus is not None and self.limits_cpu:
            quota = max(1000, round(limits.cpus * PERIOD_US))
            if unified := self.folders.get(cgroups.UNIFIED):
                (unified / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            else:
                (self.folders["cpu"] / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (self.folders["cpu"] / "cpu.cfs_quota_us").write_text(str(quota))
        if pids := self._file("pids", "pids.max", "pids.max"):
            pids.write_text(str(limits.pids))

    def enter(self, pid: int) -> None:
        """Move a process in; what it starts from then on is born inside."""
        for folder in self._distinct():
            (folder / "cgroup.procs").write_text(str(pid))

    def pids(self) -> set[int]:
        members: set[int] = set()
        for folder in self._distinct():
            for file in (folder / "cgroup.procs", *folder.glob("*/cgroup.procs")):
                with suppress(OSError):
                    members.update(int(line) for line in file.read_text().split())
        return members - {0, os.getpid()}

    def kill(self, seconds: float = 5.0) -> None:
        """End every process inside, those started meanwhile too."""
        end = time.monotonic() + seconds
        while pids := self.pids():
            for pid in pids:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > end:
                return
            time.sleep(0.005)

    def remove(self, seconds: float = 5.0) -> bool:
        """Empty it and take it away; says whether that worked."""
        self.kill(seconds)
        removed = [remove_folder(folder, seconds) for folder in self._distinct()]
        return all(removed)

    def _file(self, controller: str, version2: str, version1: str) -> Path | None:
        if unified := self.folders.get(cgroups.UNIFIED):
            file = unified / version2
        elif controller in self.folders:
            file = self.folders[controller] / version1
        else:
            return None
        return file if file.exists() else None

    def _distinct(self) -> list[Path]:
        # cpu and cpuacct are often one hierarchy under two names.
        return list({folder.resolve(): folder for folder in self.folders.values()}.values())


def create(name: str, own: dict[str, Path] | None = None) -> ControlGroup | None:
    """A new group below our own (`own`: its folders); None where this user may not make one."""
    parents = cgroups.choose(cgroups.of_process() if own is None else own)
    if unified := parents.get(cgroups.UNIFIED):
        return _create_unified(name, unified)
    return _create_version1(name, parents) if parents else None


def _create_version1(name: str, parents: dict[str, Path]) -> ControlGroup | None:
    folders: dict[str, Path] = {}
    for controller, parent in parents.items():
        folder = parent / name
        # What an earlier trial of the same name left still has that trial's counters.
        if folder.exists() and folder.resolve() not in {
            made.resolve() for made in folders.values()
        }:
            ControlGroup({"memory": folder}).remove()
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            continue
        folders[controller] = folder
    if "memory" in folders and "cpuacct" in folders:
        return ControlGroup(folders)
    for folder in folders.values():
        remove_folder(folder)
    return None


def _create_unified(name: str, own: Path) -> ControlGroup | None:
    """Below our own group if the kernel lets it have controllers, else beside it, else higher up.

    A group with processes in it (ours has one: us) can't hand controllers down, except the root:
    the delegated folder above it then can, as far up as this user may write.
    """
    for parent in (own, *own.parents):
        if not (parent / "cgroup.procs").exists():
            return None
        if not os.access(parent / "cgroup.procs", os.W_OK):
            # Moving a process asks for write access to the common ancestor: no use going higher.
            return None
        there = (parent / "cgroup.controllers").read_text().split()
        if "memory" not in there:
            continue
        wanted = " ".join(f"+{controller}" for controller in _NEEDED if controller in there)
        folder = parent / name
        try:
            if folder.exists():
                ControlGroup({cgroups.UNIFIED: folder}).remove()
            (parent / "cgroup.subtree_control").write_text(wanted)
            folder.mkdir()
        except OSError:
            continue
        if (folder / "memory.max").exists() and (folder / "cpu.stat").exists():
            return ControlGroup({cgroups.UNIFIED: folder})
        remove_folder(folder)
    return None


def remove_folder(folder: Path, seconds: float = 1.0) -> bool:
    """Remove an empty group; the kernel needs a moment after the last process has gone."""
    end = time.monotonic() + seconds
    while True:
        try:
            for child in folder.iterdir():
                if child.is_dir():
                    child.rmdir()
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        else:
            return True


def _write_if_there(file: Path, text: str) -> None:
    with suppress(OSError):
        if file.exists():
            file.write_text(text)
