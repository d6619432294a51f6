"""UCI optical digits, 8x8, bundled with dlbench.

Every fifth row is a test row. The file's last rows, the usual choice, are other writers' digits: on
those 360 one model's accuracy swings by two points between epochs, which would hide what is asked
here, whether frameworks train alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset

if TYPE_CHECKING:
    from dlbench.datasets import Arrays

_TRAIN, _TEST = 1438, 359


def _convert(_files: Mapping[str, Path]) -> Arrays:
    import numpy as np

    with np.load(Path(__file__).parent / "bundled" / "digits.npz", allow_pickle=False) as file:
        image, label = file["image"], file["label"]
    test = np.arange(len(label)) % 5 == 4
    return {
        "train": {"image": image[~test], "label": label[~test]},
        "test": {"image": image[test], "label": label[test]},
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
