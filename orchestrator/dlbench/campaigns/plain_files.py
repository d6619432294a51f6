"""Reads the small files of a campaign, one or thousands, without waiting on anything odd."""

from __future__ import annotations

import os
from pathlib import Path

from dlbench.errors import UserError


def read_file(path: Path) -> bytes | None:
    """The whole file; None if there is none. Many are read one after the other: from a warm disk
    cache, threads would only wait for each other."""
    try:
        # A pipe in the place of a file must not block the reader.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        size = os.fstat(file).st_size + 1
        content = os.read(file, size)
        while more := os.read(file, size) if len(content) >= size else b"":  # it has grown
            content += more
        return content
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(file)


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path} can't be read ({error.strerror}).", "Correct its permissions.")
