"""UCI optical digits, 8x8, bundled with dlbench.

Every fifth row is a test row. The file's last rows, the usual choice, are other writers' digits: on
those 360 one model's accuracy swings by two points between epochs, which would hide what is asked
here, whether frameworks train alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, _synthetic
from dlbench.datasets._image_arrays import every_fifth

_TRAIN, _TEST = 1438, 359


def _convert(_files: Mapping[str, Path]) -> Arrays:
    with np.load(Path(__file__).parent / "bundled" / "digits.npz", allow_pickle=False) as file:
        image, label = file["image"], file["label"]
    return every_fifth(image, label)


DATASET = Dataset(
    name="digits",
    title="Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak; UCI, 1998)",
    licence="CC BY 4.0",
    rows=(_TRAIN, _TEST),
    convert=_convert,
    synthetic=partial(_synthetic.images, shape=(8, 8, 1), classes=10, top=16),
    divide={"image": 16.0},
)
