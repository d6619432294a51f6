"""Made-up images of coloured shapes with their boxes, for certificates only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset

if TYPE_CHECKING:
    import numpy as np

    from dlbench.datasets import Arrays

_CLASSES, _MOST, _SIDE = 3, 4, 60


def _make(train: int, test: int) -> Arrays:
    return {"train": _split(train, 1), "test": _split(test, 2)}


def _split(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Squares, discs and crosses; every image has a size of its own."""
    import numpy as np

    random = np.random.default_rng(seed)
    image = np.zeros((rows, _SIDE, _SIDE, 3), np.uint8)
    size = random.integers(40, _SIDE + 1, (rows, 2))
    boxes = np.zeros((rows, _MOST, 4), np.float32)
    classes = np.zeros((rows, _MOST), np.int32)
    difficult = np.zeros((rows, _MOST), np.int32)
    for row, (height, width) in enumerate(size):
        noise = random.integers(0, 60, (height, width, 3))
        image[row, :height, :width] = noise
        for place in range(random.integers(1, _MOST + 1)):
            side = int(random.integers(10, 28))
            top, left = random.integers(0, (height - side + 1, width - side + 1))
            kind = int(random.integers(1, _CLASSES + 1))
            colour = random.integers(120, 256, 3)
            image[row, top : top + side, left : left + side][_inside(kind, side)] = colour
            boxes[row, place] = top, left, top + side, left + side
            classes[row, place] = kind
            difficult[row, place] = random.uniform() < 0.1
    return {
        "image": image,
        "size": size.astype(np.int32),
        "boxes": boxes,
        "classes": classes,
        "difficult": difficult,
    }


def _inside(kind: int, side: int) -> np.ndarray:
    """Which pixels of a square belong to the shape."""
    import numpy as np

    y, x = np.abs(np.mgrid[:side, :side] - (side - 1) / 2)
    radius = side / 2
    shapes = (x <= radius, x * x + y * y <= radius * radius, np.minimum(x, y) <= side / 6)
    return shapes[kind - 1]


def _convert(_files: Mapping[str, Path]) -> Arrays:
    return _make(256, 64)


DATASET = Dataset(
    name="toy-shapes",
    title="Made-up images of shapes with boxes, for certificates",
    licence="CC0 1.0",
    rows=(256, 64),
    convert=_convert,
    synthetic=_make,
    divide={"image": 255.0},
)
