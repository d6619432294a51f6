"""Reads `predictions.npz` and `weights.npz`, which a trial wrote and which are not to be trusted.

NumPy's own reader believes the sizes that a file claims: a header of a hundred bytes can ask for a
terabyte. Here nothing is allocated before the claim has been compared with the bytes that are
there and with the caller's limit, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dlbench.engines.outfolder import open_regular
from dlbench.errors import UserError

_MOST_ARRAYS = 10_000
_MOST_DIMENSIONS = 32

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(path: Path, most_bytes: int) -> Arrays:
    """The arrays of an `.npz` file, refused if they take more than `most_bytes` unpacked."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as members:
            listed = members.infolist()
            unpacked = sum(info.file_size for info in listed)
            if len(listed) > _MOST_ARRAYS or unpacked > most_bytes:
                raise ValueError(f"more than {_MOST_ARRAYS:,} arrays or {most_bytes:,} bytes")
            arrays = {}
            for info in listed:
                with members.open(info) as member:
                    name = info.filename.removesuffix(".npy")
                    arrays[name] = _array(member, info.filename, info.file_size)
            return arrays
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError,
            RuntimeError, EOFError, SyntaxError, TokenError) as error:  # fmt: skip
        raise UserError(f"{path} can't be read ({error}).", "Run the trial again.") from error


def _array(member: IO[bytes], name: str, length: int) -> npt.NDArray[Any]:
    """One array of a file; `length` is the most bytes that zipfile hands out of it."""
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(member)
    else:
        raise ValueError(f"{name} is of an unknown version")
    if dtype.hasobject:
        raise ValueError(f"{name} holds objects, not numbers")
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size > length or count > length or min(shape, default=0) < 0:
        raise ValueError(f"{name} claims more numbers than it holds")
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{name} has {len(shape)} dimensions")
    content = member.read(size)
    flat = np.frombuffer(content, dtype=dtype, count=count)
    return flat.reshape(shape, order="F" if fortran else "C").copy()
