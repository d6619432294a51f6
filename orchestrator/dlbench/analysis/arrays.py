"""Arrays out of a trial's output folder, which is not to be trusted.

NumPy's own reader believes the sizes that a file claims; here they are held against the bytes that
are really there, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dlbench.engines.outfolder import open_regular
from dlbench.errors import UserError

_MOST_ARRAYS = 10_000
_MOST_BYTES = 16 << 30

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(path: Path) -> Arrays:
    """The arrays of an `.npz` file."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as members:
            return _read(members)
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError,
            RuntimeError, EOFError) as error:  # fmt: skip
        raise UserError(f"{path} can't be read ({error}).", "Run the trial again.") from error


def _read(members: zipfile.ZipFile) -> Arrays:
    listed = members.infolist()
    if len(listed) > _MOST_ARRAYS or sum(info.file_size for info in listed) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_ARRAYS:,} arrays or {_MOST_BYTES >> 30} GiB")
    found: Arrays = {}
    for info in listed:
        with members.open(info) as member:
            version = np.lib.format.read_magic(member)
            if version == (1, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
            elif version == (2, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(member)
            else:
                raise ValueError(f"{info.filename} is of an unknown version")
            if dtype.hasobject:
                raise ValueError(f"{info.filename} holds objects, not numbers")
            size = math.prod(shape) * dtype.itemsize
            if size > info.file_size or min(shape, default=0) < 0:
                raise ValueError(f"{info.filename} claims more numbers than it holds")
            content = member.read(size)
        flat = np.frombuffer(content, dtype=dtype, count=math.prod(shape))
        whole = flat.reshape(shape, order="F" if fortran else "C")
        found[info.filename.removesuffix(".npy")] = whole.copy()
    return found
