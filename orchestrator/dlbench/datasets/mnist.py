"""MNIST, from its official mirrors; also as CSV or as `mnist.npz`."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging, _synthetic, downloads
from dlbench.datasets._reading import opened, read_npz, read_rows, read_whole, wrong

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
_SPLITS = {"train": "train", "test": "t10k"}
_MOST_BYTES = 60_000 * 784
_MOST_CSV = 60_001 * 785 * 4


def _read_idx(path: Path, row: tuple[int, ...]) -> np.ndarray:
    """An array in the IDX format: a magic number, the sizes, then bytes. `row`: one row's shape."""
    with opened(path) as file:
        head = file.read(4)
        zero, kind, dimensions = struct.unpack(">HBB", head) if len(head) == 4 else (1, 0, 0)
        sizes = file.read(4 * dimensions)
        if zero != 0 or kind != 8 or len(sizes) != 4 * dimensions:
            raise wrong(path.name, "is not an IDX file of bytes")
        shape = struct.unpack(f">{dimensions}I", sizes)
        if shape[1:] != row:
            held = "images of 28x28" if row else "labels"
            raise wrong(path.name, f"does not hold {held}: its sizes are {shape}")
        count = math.prod(shape)
        if count > _MOST_BYTES:
            raise wrong(path.name, f"claims {count:,} values where at most {_MOST_BYTES:,} can be")
        return np.frombuffer(read_whole(file, path.name, count, count), np.uint8).reshape(shape)


def _from_idx(title: str, pattern: str) -> Packaging:
    """`pattern`: how the four files are called."""

    def name(prefix: str, what: str, dimensions: int) -> str:
        return pattern.format(prefix, what, dimensions)

    def convert(files: Mapping[str, Path]) -> Arrays:
        return {
            split: {
                "image": _read_idx(files[name(prefix, "images", 3)], (28, 28))[..., None],
                "label": _read_idx(files[name(prefix, "labels", 1)], ()),
            }
            for split, prefix in _SPLITS.items()
        }

    kinds = (("images", 3), ("labels", 1))
    names = [name(prefix, *kind) for prefix in _SPLITS.values() for kind in kinds]
    return Packaging(title, tuple(Download(name) for name in names), convert)


def _own(name: str) -> Download:
    return Download(name, packed=True)


def _from_csv(files: Mapping[str, Path]) -> Arrays:
    return {split: _read_csv(files[f"mnist_{split}.csv"]) for split in ("train", "test")}


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    """A label and 784 grey values a line; a first line with the columns' names may be there."""
    rows = []
    for number, row in enumerate(read_rows(path, _MOST_CSV), 1):
        if number == 1 and row and not row[0].strip().isdigit():
            continue
        try:
            values = [int(value) for value in row]
        except ValueError:
            values = []
        if len(values) != 785 or min(values) < 0 or max(values) > 255 or values[0] > 9:
            raise wrong(
                path.name,
                f"does not have a label and 784 grey values from 0 to 255 in line {number}",
            )
        rows.append(bytes(values))
    table = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 785)
    return {"image": table[:, 1:].reshape(-1, 28, 28, 1), "label": table[:, 0]}


def _from_npz(files: Mapping[str, Path]) -> Arrays:
    path = files["mnist.npz"]
    names = ("x_train", "y_train", "x_test", "y_test")
    arrays = read_npz(path, names, 4 * _MOST_BYTES)
    for name in names:
        shape = arrays[name].shape[1:]
        if arrays[name].dtype.kind not in "iu" or shape != ((28, 28) if name[0] == "x" else ()):
            raise wrong(path.name, f"has an array {name!r} that does not hold digits of 28x28")
    return {
        split: {
            "image": arrays[f"x_{split}"].astype(np.uint8)[..., None],
            "label": arrays[f"y_{split}"].astype(np.uint8),
        }
        for split in ("train", "test")
    }


DATASET = Dataset(
    name="mnist",
    title="MNIST database of handwritten digits (Y. LeCun, C. Cortes, C. Burges)",
    licence="CC BY-SA 3.0",
    rows=(60_000, 10_000),
    convert=_from_idx("official", "{}-{}-idx{}-ubyte.gz").convert,
    synthetic=partial(_synthetic.images, shape=(28, 28, 1), classes=10),
    downloads=downloads(_FILES, *_MIRRORS),
    packagings=(
        _from_idx("unpacked", "{}-{}-idx{}-ubyte"),
        _from_idx("unpacked, with a dot", "{}-{}.idx{}-ubyte"),
        Packaging("CSV", (_own("mnist_train.csv"), _own("mnist_test.csv")), _from_csv),
        Packaging("Keras' arrays", (Download("mnist.npz"),), _from_npz),
    ),
    digest="3c0e8ab0783903e2fdfc9524822bed47b4eacbba3c7d250a8b79d6d6b99a6116",
    divide={"image": 255.0},
)
