"""Where an archive is unpacked: a folder that goes with the process, however the process ends.

It is removed at exit. A process that was killed cannot do that; but the lock it held on its folder
went with it, and the next one that unpacks an archive removes folders that nobody holds.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "dlbench-archive-"
_NEW_S = 60.0
"""So old a folder is, at least, before it may be taken for left behind: it is made, then locked."""
_held: dict[Path, int] = {}


def new_folder() -> Path:
    """An empty folder of this process."""
    _remove_left_behind()
    base = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if not _held:
        atexit.register(_remove_all)
    _held[base] = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(_held[base], fcntl.LOCK_EX)
    return base


def remove(base: Path) -> None:
    """Remove a folder before its time, with all that is in it."""
    shutil.rmtree(base, ignore_errors=True)
    os.close(_held.pop(base))


def _remove_all() -> None:
    for base in list(_held):
        remove(base)


def _remove_left_behind() -> None:
    for base in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # gone, somebody else's, or no folder
            continue
        try:
            about = os.fstat(folder)
            if about.st_uid == os.getuid() and time.time() - about.st_mtime > _NEW_S:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(base, ignore_errors=True)
        except OSError:  # somebody holds it
            continue
        finally:
            os.close(folder)
