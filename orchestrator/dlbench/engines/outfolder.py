"""Reads what a trial left in its output folder without trusting it.

The trial may have put symbolic links, pipes, devices or a million files there. Nothing here follows
a link, waits on a pipe or walks without end.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

ENTRIES = 100_000
"""More than any honest trial writes."""
DEPTH = 32
ENDLESS = 1 << 62
"""The size of a folder with too many entries or levels to be counted: past every limit."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def size(folder: Path, entries: int = ENTRIES) -> int:
    """Bytes that `folder` takes on the disk, or `ENDLESS`; 0 if it is not a folder."""
    try:
        handle = os.open(folder, _FOLDER)
    except OSError:
        return 0
    total, _ = _walk(handle, entries, DEPTH)
    return min(total, ENDLESS)


def _walk(handle: int, entries: int, depth: int) -> tuple[int, int]:
    """Bytes below an open folder, and how many entries may still be looked at. Closes it."""
    total = 0
    try:
        with os.scandir(handle) as listing:
            for entry in listing:
                entries -= 1
                if entries < 0 or depth == 0:
                    return ENDLESS, 0
                try:
                    status = entry.stat(follow_symlinks=False)
                    # Blocks, not length: a sparse file fills no disk, a small one fills a block.
                    total += status.st_blocks * 512
                    if not stat.S_ISDIR(status.st_mode):
                        continue
                    # Relative to the open parent: nothing above it can become a link meanwhile.
                    inner = os.open(entry.name, _FOLDER, dir_fd=handle)
                except OSError:
                    continue
                inside, entries = _walk(inner, entries, depth - 1)
                total += inside
    finally:
        os.close(handle)
    return total, entries


def clear(folder: Path) -> None:
    """Delete everything in `folder`, as far as this user may. Links are deleted, not followed."""
    for entry in folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with suppress(OSError):
                entry.unlink()


def open_files(pid: int, mapped: bool = False) -> Iterator[os.stat_result]:
    """The files that a process holds open, those it has deleted too; `mapped`: also in memory."""
    for kind in ("fd", "map_files") if mapped else ("fd",):
        try:
            with os.scandir(f"/proc/{pid}/{kind}") as listing:
                for entry, _ in zip(listing, range(ENTRIES), strict=False):
                    with suppress(OSError):
                        yield Path(entry.path).stat()
        except OSError:
            continue  # it has ended, or may not be looked at


def open_regular(path: Path) -> BinaryIO:
    """Open a file directly in an output folder; OSError if it is anything but a regular file."""
    # O_NONBLOCK: opening a pipe without a writer would wait for ever. No effect on regular files.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(handle, "rb")
