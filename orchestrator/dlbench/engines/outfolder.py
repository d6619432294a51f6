"""Reads what a trial left in its output folder without trusting it.

The trial may have put symbolic links, pipes, devices or a million files there. Nothing here follows
a link, waits on a pipe or walks without end.
"""

from __future__ import annotations

import os
import secrets
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
    """Delete everything in `folder`, as far as this user may, however deep it is.

    Links are deleted, not followed. What is in an inner folder is first moved up to `folder`, so
    that no path gets long and no depth has to be descended to."""
    try:
        handle = os.open(folder, _FOLDER)
    except OSError:
        return
    try:
        while sum(_deleted(handle, name) for name in _names(handle)):
            pass
    finally:
        os.close(handle)


def _deleted(handle: int, name: str) -> bool:
    """Delete a file, or a folder whose inner folders go to where it was; False: it can't be."""
    try:
        if not _is_folder(handle, name):
            os.unlink(name, dir_fd=handle)
            return True
        inner = os.open(name, _FOLDER, dir_fd=handle)
        try:
            for each in _names(inner):
                if _is_folder(inner, each):
                    up = secrets.token_hex(8)
                    os.rename(each, up, src_dir_fd=inner, dst_dir_fd=handle)
                else:
                    os.unlink(each, dir_fd=inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=handle)
        return True
    except OSError:
        return False


def _names(handle: int) -> list[str]:
    with os.scandir(handle) as listing:
        return [entry.name for entry in listing]


def _is_folder(handle: int, name: str) -> bool:
    """Whether it is one, which then may be opened: its owner may have taken our rights to it."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        return False
    os.chmod(name, 0o700, dir_fd=handle)
    return True


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
