"""Opens a file of weights that some program wrote; what it is, its content says, not its name."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dlbench.campaigns.array_file import Arrays, array_of, read_arrays
from dlbench.engines.outfolder import open_regular
from dlbench.errors import UserError
from dlbench.weights import safetensors, torch_files
from dlbench.weights.tensors import (
    MOST_BYTES,
    MOST_TENSORS,
    BadTensors,
    Tensor,
    TensorFile,
    refused,
)

FORMATS = "Weights are read from .npz, .npy, .safetensors and PyTorch's .pt and .pth."
_HDF5 = b"\x89HDF\r\n\x1a\n"
_NPY = b"\x93NUMPY"


def read_tensors(path: Path) -> TensorFile:
    """All tensors of a file. Raises `UserError`."""
    try:
        with open_regular(path.resolve()) as file:
            return _read(file, path)
    except BadTensors as error:
        remedy = torch_files.STATE_DICT if "state_dict" in str(error) else ""
        raise refused(path, error, remedy) from error
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.", FORMATS) from None
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError,
            EOFError, ValueError, MemoryError, OverflowError) as error:  # fmt: skip
        raise refused(path, str(error) or type(error).__name__, FORMATS) from error


def _read(file: BinaryIO, path: Path) -> TensorFile:
    size = os.fstat(file.fileno()).st_size
    head = file.read(64)
    file.seek(0)
    if size > MOST_BYTES:
        raise BadTensors(f"it has more than {MOST_BYTES:,} bytes")
    if head.startswith(_NPY):
        return TensorFile("NumPy array", _arrays(lambda: {path.stem: array_of(file.read(), path)}))
    if head.startswith(b"PK"):
        with zipfile.ZipFile(file) as members:
            if torch_files.is_torch_zip(members.namelist()):
                return TensorFile("PyTorch (zip)", *torch_files.read_torch_zip(members))
        return TensorFile("NumPy arrays", _arrays(lambda: read_arrays(path.resolve(), MOST_BYTES)))
    if torch_files.is_legacy(head):
        tensors, notes = torch_files.read_torch_legacy(file, size)
        return TensorFile("PyTorch (before 1.6)", tensors, notes)
    if head.startswith(_HDF5):
        raise refused(
            path,
            "it is an HDF5 file of Keras",
            "Save its arrays instead: np.savez('weights.npz', *model.get_weights()).",
        )
    if safetensors.is_safetensors(head, size):
        found = safetensors.read_safetensors(file, size)
        return TensorFile("safetensors", found, as_saved=False)  # its writer sorts by name
    raise refused(path, "its format is not known here, or it is cut off", FORMATS)


def _arrays(read: Callable[[], Arrays]) -> dict[str, Tensor]:
    try:
        found = read()
    except UserError as error:
        raise UserError(error.problem, FORMATS) from error
    if len(found) > MOST_TENSORS:
        raise BadTensors(f"it has more than {MOST_TENSORS:,} arrays")
    return {name: Tensor(name, str(v.dtype), v) for name, v in found.items()}
