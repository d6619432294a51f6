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
    (
        "md5:c99cafc152244af753f735de768cd75f",
        "md5:d4bba439e000b95fd0a9bffe97cbabec",
        "md5:54ebc095f3ab1f0389bbae665268c751",
        "md5:634d18415352ddfa80567beed471001a",
        "md5:482c414d41f54cd18b22e5b47cb7c3cb",
        "md5:40351d587109b95175f43aff81a1287e",
    ),
)

DATASET = cifar(10, _BINARY, _PYTHON, "y")
