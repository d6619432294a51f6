"""UCI optical digits, 8x8, bundled with dlbench.

The file's last 360 rows are the test split: they were written later in the collection, so a
writer's digits are rarely on both sides, which a shuffled split would not give.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset

if TYPE_CHECKING:
    from dlbench.datasets import Arrays

_TRAIN, _TEST = 1437, 360


def _convert(_files: Mapping[str, Path]) -> Arrays:
    import numpy as np

    with np.load(Path(__file__).parent / "bundled" / "digits.npz", allow_pickle=False) as file:
        image, label = file["image"], file["label"]
    return {
        "train": {"image": image[:_TRAIN], "label": label[:_TRAIN]},
        "test": {"image": image[_TRAIN:], "label": label[_TRAIN:]},
    }


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.images(train, test, (8, 8, 1), 10, top=16)


DATASET = Dataset(
    name="digits",
    title="Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak; UCI, 1998)",
    licence="CC BY 4.0",
    rows=(_TRAIN, _TEST),
    convert=_convert,
    synthetic=_synthetic,
    divide={"image": 16.0},
)
