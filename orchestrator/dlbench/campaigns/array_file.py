"""Reads arrays: `predictions.npz` and `weights.npz`, which a trial wrote and nobody trusts.

NumPy's own reader believes the sizes that a file claims: a header of a hundred bytes can ask for a
terabyte. Here nothing is allocated before the claim has been compared with the bytes that are
there and with the caller's limit, and nothing is ever unpickled.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from dlbench.engines.outfolder import open_regular
from dlbench.errors import UserError
from dlbench.plain_json import LONGEST_KEY, printable

_MOST_ARRAYS = 10_000
_MOST_DIMENSIONS = 32

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(path: Path, most_bytes: int) -> Arrays:
    """The arrays of an `.npz` file, refused if they take more than `most_bytes` unpacked."""
    try:
        file = open_array(path.parent, path.name)
        if file is None:
            raise ValueError("it is not a plain file")
        with file, zipfile.ZipFile(file) as members:
            listed = members.infolist()
            unpacked = sum(info.file_size for info in listed)
            if len(listed) > _MOST_ARRAYS or unpacked > most_bytes:
                raise ValueError(f"more than {_MOST_ARRAYS:,} arrays or {most_bytes:,} bytes")
            arrays = {}
            for info in listed:
                with members.open(info) as member:
                    name = printable(info.filename.removesuffix(".npy"), LONGEST_KEY)
                    arrays[name] = _array(member, name, info.file_size)
            return arrays
    except _WRONG as error:
        raise _unreadable(path, error) from error


def open_array(folder: Path, name: str) -> BinaryIO | None:
    """A file of arrays of a trial, to be copied; None where there is no plain file of that name: a
    trial may have put anything there."""
    path = folder / name
    try:
        return None if path.parent.is_symlink() else open_regular(path)
    except OSError:
        return None


def array_of(content: bytes, path: Path) -> npt.NDArray[Any]:
    """The array in the content of an `.npy` file."""
    try:
        return _array(io.BytesIO(content), path.name, len(content))
    except _WRONG as error:
        raise _unreadable(path, error) from error


_WRONG = (
    OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError,
    EOFError, SyntaxError, TokenError, TypeError, OverflowError, MemoryError, struct.error,
)  # fmt: skip
"""What NumPy and zipfile raise of files that they did not write."""


def _unreadable(path: Path, error: BaseException) -> UserError:
    why = printable(str(error) or type(error).__name__, 200)
    return UserError(f"{path} can't be read ({why}).", "Run the trial again.")


def _array(file: IO[bytes], name: str, length: int) -> npt.NDArray[Any]:
    """One array; `length` is the most bytes that there are of it."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"{name} is of an unknown version")
    if dtype.hasobject:
        raise ValueError(f"{name} holds objects, not numbers")
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{name} has {len(shape)} dimensions")
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size > length or count > length or min(shape, default=0) < 0:
        raise ValueError(f"{name} claims more numbers than it holds")
    content = file.read(size)
    if len(content) < size:
        raise ValueError(f"{name} ends too soon")
    flat = np.frombuffer(content, dtype=dtype, count=count)
    return flat.reshape(shape, order="F" if fortran else "C").copy()
