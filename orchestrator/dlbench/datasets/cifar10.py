"""CIFAR-10, the official binary version: no pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlbench.datasets import Dataset
from dlbench.datasets._cifar import Version, archive, binary, pickled
from dlbench.datasets._image_arrays import image_arrays

if TYPE_CHECKING:
    from dlbench.datasets import Arrays

_BINARY = Version(
    archive(
        "cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    "cifar-10-batches-bin",
    tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    "test_batch.bin",
    (10_000, 10_000),
    binary(labels=1),
)
_PYTHON = Version(
    archive(
        "cifar-10-python.tar.gz",
        170_498_071,
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
    "cifar-10-batches-py",
    tuple(f"data_batch_{k}" for k in range(1, 6)),
    "test_batch",
    (10_000, 10_000),
    pickled("labels"),
)


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.images(train, test, (32, 32, 3), 10)


DATASET = Dataset(
    name="cifar10",
    title="CIFAR-10 (A. Krizhevsky, 2009)",
    licence="none stated; for research",
    rows=(50_000, 10_000),
    convert=_BINARY.from_archive,
    synthetic=_synthetic,
    downloads=(_BINARY.archive,),
    packagings=(_PYTHON.packed(), _BINARY.unpacked(), _PYTHON.unpacked()),
    from_folder=image_arrays("cifar10", (32, 32, 3), 10),
    divide={"image": 255.0},
)
