"""CIFAR-10, the official binary version: no pickle."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset, Download
from dlbench.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from dlbench.datasets import Arrays

_NAME = "cifar-10-binary.tar.gz"
_ROW = 1 + 3 * 32 * 32


def _read(archive: tarfile.TarFile, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images NHWC and labels of one file. Its rows are channel-first: transposed, not reshaped."""
    import numpy as np

    file = archive.extractfile(f"cifar-10-batches-bin/{name}")
    raw = np.frombuffer(file.read() if file else b"", np.uint8)
    if raw.size != 10_000 * _ROW:
        raise UserError(f"{name} in {_NAME} does not hold 10,000 images.", "Fetch it again.")
    rows = raw.reshape(-1, _ROW)
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def _convert(files: Mapping[str, Path]) -> Arrays:
    import numpy as np

    with tarfile.open(files[_NAME]) as archive:
        parts = [_read(archive, f"data_batch_{k}.bin") for k in range(1, 6)]
        image, label = _read(archive, "test_batch.bin")
    return {
        "train": {
            "image": np.concatenate([part[0] for part in parts]),
            "label": np.concatenate([part[1] for part in parts]),
        },
        "test": {"image": image, "label": label},
    }


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.images(train, test, (32, 32, 3), 10)


DATASET = Dataset(
    name="cifar10",
    title="CIFAR-10 (A. Krizhevsky, 2009)",
    licence="none stated; for research",
    rows=(50_000, 10_000),
    convert=_convert,
    synthetic=_synthetic,
    downloads=(
        Download(
            _NAME,
            (f"https://www.cs.toronto.edu/~kriz/{_NAME}",),
            170_052_171,
            "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
    ),
    divide={"image": 255.0},
)
