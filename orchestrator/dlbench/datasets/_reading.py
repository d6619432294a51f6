"""Reads files that somebody else made: sizes are checked before memory is taken, nothing is run.

What is truncated, altered or of another kind ends in an error that names the file and what was
expected of it.
"""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from dlbench.errors import UserError
from dlbench.pickle_values import Call, PickleError, read_pickle

_DAMAGE = (
    EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile, UnicodeDecodeError,
    csv.Error, NotImplementedError, RuntimeError,
)  # fmt: skip


def wrong(name: str, problem: str) -> UserError:
    """The error for a file that is not what it should be."""
    return UserError(f"{name} {problem}.", "Get it again, or another copy of it.")


@contextmanager
def opened(path: Path, *, unpack: bool = True) -> Iterator[IO[bytes]]:
    """The file, unpacked if it is gzip's; what is damaged in it is an error with its name."""
    try:
        with path.open("rb") as file:
            packed = unpack and file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if packed:
                with gzip.open(file) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield file
    except _DAMAGE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise wrong(path.name, f"is truncated or damaged ({reason})") from error


def read_whole(file: IO[bytes], name: str, least: int, most: int) -> bytes:
    """All bytes of an open file, of which there must be between `least` and `most`."""
    content = file.read(most + 1)
    if not least <= len(content) <= most:
        expected = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        has = "more" if len(content) > most else f"{len(content):,}"
        raise wrong(name, f"has {has} bytes where {expected} were expected")
    return content


def read_file(path: Path, most: int, least: int = 1) -> bytes:
    """All bytes of a file, which may be packed with gzip: between `least` and `most` of them."""
    with opened(path) as file:
        return read_whole(file, path.name, least, most)


def as_text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise wrong(name, "is not a text in UTF-8") from error


def read_members(path: Path, most: Mapping[str, int]) -> dict[str, bytes]:
    """These members of a tar or zip archive, none larger than said; by the end of its name."""
    found: dict[str, bytes] = {}

    def take(name: str, size: int, open_it: Callable[[], IO[bytes] | None]) -> None:
        own = next((w for w in most if name == w or name.endswith(f"/{w}")), None)
        if own is None or own in found:
            return
        if size > most[own]:
            words = f"has {size:,} bytes where at most {most[own]:,} were expected"
            raise wrong(f"{own} in {path.name}", words)
        file = open_it()
        if file is not None:
            with file:
                found[own] = file.read(most[own] + 1)

    with opened(path, unpack=False) as file:
        packed = file.read(2) == b"PK"
        file.seek(0)
        if packed:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    take(info.filename, info.file_size, lambda one=info: archive.open(one))  # type: ignore[misc]
        else:
            with tarfile.open(fileobj=file) as members:
                for item in members:
                    if item.isfile():
                        take(item.name, item.size, lambda one=item: members.extractfile(one))  # type: ignore[misc]
                    if len(found) == len(most):
                        break
    for name in most:
        if name not in found:
            raise wrong(path.name, f"does not hold {PurePosixPath(name).name}")
    return found


def has_array(path: Path, name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{name}.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_npz(path: Path, names: Sequence[str], most: int) -> dict[str, np.ndarray]:
    """These arrays of an `.npz` file; the file may not hold more than `most` bytes."""
    from dlbench.campaigns.array_file import read_arrays

    try:
        arrays = read_arrays(path, most)
    except UserError as error:
        raise UserError(error.problem, "Get it again, or another copy of it.") from error
    for name in names:
        if name not in arrays:
            raise wrong(path.name, f"has no array {name!r}; it has {', '.join(arrays) or 'none'}")
    return {name: arrays[name] for name in names}


def read_pickled(content: bytes, name: str) -> Any:
    """Its plain values; nothing in it is executed."""
    try:
        return read_pickle(content)
    except PickleError as error:
        raise wrong(name, f"can't be read: {error}") from error


def pickled_bytes(value: Any, name: str) -> tuple[tuple[int, ...], bytes]:
    """(shape, content) of an array of bytes in a pickle."""
    state = getattr(value, "state", None)
    if not (isinstance(value, Call) and isinstance(state, tuple) and len(state) == 5):
        raise wrong(name, "does not hold an array where one was expected")
    _, shape, dtype, fortran, content = state
    if isinstance(content, str):
        content = content.encode("latin-1")
    kind = dtype.arguments[0] if isinstance(dtype, Call) and dtype.arguments else None
    if kind not in ("u1", "|u1") or fortran or not isinstance(content, bytes):
        raise wrong(name, "does not hold an array of bytes where one was expected")
    return tuple(shape), content


def read_rows(path: Path, most_bytes: int) -> Iterator[list[str]]:
    """The rows of a CSV file, which may be packed with gzip."""
    with opened(path) as file:
        content = read_whole(file, path.name, 1, most_bytes)
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        yield from csv.reader(text)
