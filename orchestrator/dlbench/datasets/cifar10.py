"""CIFAR-10, the official binary version: no pickle."""

from __future__ import annotations

from dlbench.datasets._cifar import Version, archive, binary, cifar, pickled

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

DATASET = cifar(10, _BINARY, _PYTHON, "y")
