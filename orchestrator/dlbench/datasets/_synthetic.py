"""Data that can be learnt but means nothing: for machines that can't download, and for proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dlbench.datasets import Arrays


def images(
    train: int, test: int, shape: tuple[int, int, int], classes: int, top: int = 255
) -> Arrays:
    """Noisy, shifted copies of one smooth pattern a class, as uint8 in 0..top."""
    random = np.random.RandomState(20180918)
    height, width, channels = shape
    coarse = random.uniform(0, 1, (classes, -(-height // 4), -(-width // 4), channels))
    patterns = coarse.repeat(4, axis=1).repeat(4, axis=2)[:, :height, :width]

    def draw(rows: int) -> dict[str, np.ndarray]:
        label = random.randint(0, classes, rows).astype(np.uint8)
        image = np.empty((rows, *shape), np.uint8)
        for start in range(0, rows, 4096):  # in pieces: CIFAR-sized noise in float64 is 1.2 GB
            part = slice(start, start + 4096)
            picked = patterns[label[part]]
            noisy = picked + random.normal(0, 0.25, picked.shape)
            image[part] = np.rint(np.clip(noisy, 0, 1) * top).astype(np.uint8)
        return {"image": image, "label": label}

    return {"train": draw(train), "test": draw(test)}
