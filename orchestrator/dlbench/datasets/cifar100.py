"""CIFAR-100 with its hundred fine labels, the official binary version: no pickle."""

from __future__ import annotations

from dlbench.datasets._cifar import Version, archive, binary, cifar, pickled

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
    ("md5:16019d7e3df5f24257cddd939b257f8d", "md5:f0ef6b0ae62326f3e7ffdfab6717acfc"),
)

DATASET = cifar(100, _BINARY, _PYTHON, "fine")
