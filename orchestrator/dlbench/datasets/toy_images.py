"""Small made-up images with a class and a place, for certificates only."""

from __future__ import annotations

import numpy as np

from dlbench.datasets import Arrays, Dataset, _synthetic


def _make(train: int, test: int) -> Arrays:
    return {
        split: {**arrays, "value": arrays["image"][:, 4, 4:6, 0].astype(np.float32) / 255}
        for split, arrays in _synthetic.images(train, test, (9, 9, 3), 5).items()
    }


DATASET = Dataset(
    name="toy-images",
    title="Made-up images for certificates",
    licence="CC0 1.0",
    rows=(1024, 256),
    convert=lambda _files: _make(1024, 256),
    synthetic=_make,
    divide={"image": 255.0},
)
