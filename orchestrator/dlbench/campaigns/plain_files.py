"""Reads the files of a campaign, which may be somebody else's: plain files only, of bounded size.

Nothing here follows a link, waits on a pipe or opens a device: each of them is refused by name.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from dlbench.errors import UserError, damaged
from dlbench.shapes import Shape

RESULT = "trial.json"
TEXTS = ("job.json", "events.jsonl", "samples.jsonl", "log.txt")
ARRAYS = ("out/predictions.npz", "out/weights.npz")
"""The files in a trial's folder that travel with a campaign."""
MOST_JSON = 16 << 20
"""Bytes of one JSON file."""
MOST_BYTES = 512 << 20
"""Of any file: a day of samples at 20 a second."""
MOST_LOG = 16 << 20
"""Bytes of a log that are read, from its end."""
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_file(path: Path, most_bytes: int = MOST_BYTES, *, end_only: bool = False) -> bytes | None:
    """The whole file, as long as it is now; None if there is none. A longer one is refused.

    `end_only`: of a longer one the last `most_bytes`. Many files are read one after the other: from
    a warm disk cache, threads would only wait for each other."""
    try:
        file = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise not_plain(path, _KINDS.get(stat.S_IFMT(about.st_mode), "no file"))
        if about.st_size > most_bytes:
            if not end_only:
                raise damaged(path, f"it is longer than {most_bytes:,} bytes")
            os.lseek(file, -most_bytes, os.SEEK_END)
        return os.read(file, min(about.st_size, most_bytes))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(file)


def read_record(path: Path, shape: Shape) -> Any:
    """The content of a JSON file, checked; None if there is no such file."""
    content = read_file(path, MOST_JSON)
    return None if content is None else parse_record(content, shape, path)


def parse_record(content: bytes, shape: Shape, path: Path, line: int | None = None) -> Any:
    """What a file holds, or one line of it; an error names both."""
    try:
        return shape(json.loads(content))
    except json.JSONDecodeError as error:
        line = line or error.lineno
        why = f"line {line} is not JSON: {error.msg} at column {error.colno}"
    except UnicodeDecodeError:
        why = f"line {line} is not UTF-8" if line else "it is not UTF-8"
    except RecursionError:
        why = "its lists and objects are nested too deeply"
    except ValueError as error:  # a WrongValue, or a number of too many digits
        why = f"line {line}: {error}" if line else str(error)
    raise damaged(path, why)


def check_folder(path: Path) -> None:
    """Refuse what is in the place of a folder of a campaign; there may be none."""
    try:
        kind = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return
    if kind == stat.S_IFLNK:
        raise not_plain(path, "a link")
    if kind != stat.S_IFDIR:
        raise UserError(f"{path} is not a folder.", "Restore the campaign from a copy.")


def not_plain(path: Path, what: str) -> UserError:
    return UserError(
        f"{path} is {what}; a campaign holds nothing but plain files and folders.",
        "Put the file itself in its place, or restore the campaign from a copy.",
    )


def _unreadable(path: Path, error: OSError) -> UserError:
    if error.errno == errno.ELOOP:
        return not_plain(path, "a link")
    if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
        return not_plain(path, "a socket or a device")
    return UserError(f"{path} can't be read ({error.strerror}).", "Correct its permissions.")
