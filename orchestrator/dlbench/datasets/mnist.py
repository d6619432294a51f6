"""MNIST, from its official mirrors."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset, Download
from dlbench.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from dlbench.datasets import Arrays

_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_FILES = {
    "train-images-idx3-ubyte.gz": (9_912_422, "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    "train-labels-idx1-ubyte.gz": (28_881, "md5:d53e105ee54ea40749a09fcbcd1e9432"),
    "t10k-images-idx3-ubyte.gz": (1_648_877, "md5:9fb629c4189551a2d022fa330f9573f3"),
    "t10k-labels-idx1-ubyte.gz": (4_542, "md5:ec29112dd5afa0611ce80d1b7f02629c"),
}


def _read_idx(path: Path) -> np.ndarray:
    """An array in the IDX format: a magic number, the sizes, then bytes."""
    import numpy as np

    raw = gzip.decompress(path.read_bytes())
    zero, kind, dimensions = struct.unpack_from(">HBB", raw)
    shape = struct.unpack_from(f">{dimensions}I", raw, 4)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions)
    if zero != 0 or kind != 8 or values.size != np.prod(shape):
        raise UserError(f"{path.name} is not an IDX file of bytes.", "Fetch it again.")
    return values.reshape(shape)


def _convert(files: Mapping[str, Path]) -> Arrays:
    return {
        split: {
            "image": _read_idx(files[f"{prefix}-images-idx3-ubyte.gz"])[..., None],
            "label": _read_idx(files[f"{prefix}-labels-idx1-ubyte.gz"]),
        }
        for split, prefix in (("train", "train"), ("test", "t10k"))
    }


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.images(train, test, (28, 28, 1), 10)


DATASET = Dataset(
    name="mnist",
    title="MNIST database of handwritten digits (Y. LeCun, C. Cortes, C. Burges)",
    licence="CC BY-SA 3.0",
    rows=(60_000, 10_000),
    convert=_convert,
    synthetic=_synthetic,
    downloads=tuple(
        Download(name, tuple(mirror + name for mirror in _MIRRORS), size, checksum)
        for name, (size, checksum) in _FILES.items()
    ),
    divide={"image": 255.0},
)
