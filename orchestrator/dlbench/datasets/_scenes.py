"""Made-up scenes: coloured shapes on a textured ground, with their true boxes."""

from __future__ import annotations

import numpy as np

from dlbench.datasets import Arrays

_COLOURS = ((230, 40, 40), (40, 200, 60), (60, 80, 240), (240, 220, 40), (220, 60, 220))
_SHAPES = 4
_MOST_OBJECTS = 4
_TRIES = 8


def scenes(train: int, test: int, side: int) -> Arrays:
    """Images of up to side x side pixels with one to four shapes each that do not overlap.

    A class is a shape and a colour: ellipse, rectangle, triangle or cross, in five colours. Boxes
    are those of the pixels that were painted; the arrays are those of `_box_arrays`.
    """
    random = np.random.RandomState(20180918)
    return {"train": _drawn(random, train, side), "test": _drawn(random, test, side)}


def _drawn(random: np.random.RandomState, rows: int, side: int) -> dict[str, np.ndarray]:
    image = np.zeros((rows, side, side, 3), np.uint8)
    size = random.randint(-(-3 * side // 4), side + 1, (rows, 2)).astype(np.int32)
    boxes = np.zeros((rows, _MOST_OBJECTS, 4), np.float32)
    labels = np.zeros((rows, _MOST_OBJECTS), np.int32)
    for row in range(rows):
        height, width = size[row]
        scene = image[row, :height, :width]
        scene[:] = _ground(random, height, width)
        taken = np.zeros((height, width), bool)
        placed = 0
        for _ in range(random.randint(1, _MOST_OBJECTS + 1)):
            label = random.randint(0, _SHAPES * len(_COLOURS))
            painted = _place(random, taken, label % _SHAPES, side)
            if painted is None:
                continue
            top, left, mask = painted
            down, across = mask.shape
            scene[top : top + down, left : left + across][mask] = _paint(random, label, mask)
            taken[top : top + down, left : left + across] = True
            boxes[row, placed] = top, left, top + down, left + across
            labels[row, placed] = label + 1
            placed += 1
    difficult = np.zeros((rows, _MOST_OBJECTS), np.uint8)
    return {"image": image, "size": size, "boxes": boxes, "classes": labels, "difficult": difficult}


def _ground(random: np.random.RandomState, height: int, width: int) -> np.ndarray:
    """Grey patches with noise."""
    coarse = random.randint(70, 150, (-(-height // 8), -(-width // 8), 1))
    patches = coarse.repeat(8, axis=0).repeat(8, axis=1)[:height, :width]
    return (patches + random.randint(-20, 21, (height, width, 3))).astype(np.uint8)


def _paint(random: np.random.RandomState, label: int, mask: np.ndarray) -> np.ndarray:
    colour = np.array(_COLOURS[label // _SHAPES])
    noisy = colour + random.randint(-25, 26, (int(mask.sum()), 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def _place(
    random: np.random.RandomState, taken: np.ndarray, shape: int, side: int
) -> tuple[int, int, np.ndarray] | None:
    """(top, left, mask) of a shape where nothing is yet; None: no place was found."""
    for _ in range(_TRIES):
        down, across = random.randint(max(5, side // 5), max(7, side // 2), 2)
        if down > taken.shape[0] or across > taken.shape[1]:
            continue
        top = random.randint(0, taken.shape[0] - down + 1)
        left = random.randint(0, taken.shape[1] - across + 1)
        if not taken[top : top + down, left : left + across].any():
            return top, left, _mask(shape, down, across)
    return None


def _mask(shape: int, height: int, width: int) -> np.ndarray:
    """[height, width] bool; every outermost row and column has a pixel of the shape."""
    y = (np.arange(height) + 0.5)[:, None] / height * 2 - 1
    x = (np.arange(width) + 0.5)[None, :] / width * 2 - 1
    if shape == 0:
        filled = y**2 + x**2 <= 1 + 1 / min(height, width)
    elif shape == 1:
        filled = np.ones((height, width), bool)
    elif shape == 2:
        filled = np.abs(x) <= (y + 1) / 2 + 1 / width
    else:
        filled = (np.abs(x) <= 1 / 3) | (np.abs(y) <= 1 / 3)
    return filled
