"""CIFAR-100 with its hundred fine labels, the official binary version: no pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlbench.datasets import Dataset
from dlbench.datasets._cifar import Version, archive, binary, pickled
from dlbench.datasets._image_arrays import image_arrays

if TYPE_CHECKING:
    from dlbench.datasets import Arrays

_BINARY = Version(
    archive(
        "cifar-100-binary.tar.gz",
        168_513_733,
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
    "cifar-100-binary",
    ("train.bin",),
    "test.bin",
    (50_000, 10_000),
    binary(labels=2),  # coarse, then fine
)
_PYTHON = Version(
    archive(
        "cifar-100-python.tar.gz",
        169_001_437,
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    ),
    "cifar-100-python",
    ("train",),
    "test",
    (50_000, 10_000),
    pickled("fine_labels"),
)


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.images(train, test, (32, 32, 3), 100)


DATASET = Dataset(
    name="cifar100",
    title="CIFAR-100 (A. Krizhevsky, 2009)",
    licence="none stated; for research",
    rows=(50_000, 10_000),
    convert=_BINARY.from_archive,
    synthetic=_synthetic,
    downloads=(_BINARY.archive,),
    packagings=(_PYTHON.packed(), _BINARY.unpacked(), _PYTHON.unpacked()),
    from_folder=image_arrays("cifar100", (32, 32, 3), 100, label="fine"),
    divide={"image": 255.0},
)
