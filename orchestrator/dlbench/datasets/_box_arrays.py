"""Images with boxes as arrays: `image`, `size`, `boxes`, `classes`, `difficult`.

| array | | |
|---|---|---|
| image | uint8 [N, side, side, 3] | the image at the upper left, zeros elsewhere |
| size | int32 [N, 2] | its height and width |
| boxes | float32 [N, M, 4] | edges in pixels from the upper left: y1, x1, y2, x2 |
| classes | int32 [N, M] | from 1; 0: no box |
| difficult | uint8 [N, M] | 1: does not count when a detector is judged |

M is the largest number of boxes of an image, over all splits.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dlbench import paths
from dlbench.datasets import Arrays
from dlbench.datasets._problems import Problems
from dlbench.datasets._voc_annotation import AnnotatedObject
from dlbench.errors import UserError

LARGEST_SIDE = 500
"""No image of the VOC challenge is higher or wider."""


@dataclass(frozen=True)
class BoxedImage:
    pixels: np.ndarray
    objects: tuple[AnnotatedObject, ...]


def boxed_arrays(
    counts: Mapping[str, int],
    images: Callable[[str], Iterable[BoxedImage | None]],
    problems: Problems,
    title: str,
) -> Arrays:
    """The arrays of each split; `images` gives one after another, None where there is a problem."""
    pixels, sizes = {}, {}
    objects: dict[str, list[tuple[AnnotatedObject, ...]]] = {}
    for split, count in counts.items():
        pixels[split] = _on_disk((count, LARGEST_SIDE, LARGEST_SIDE, 3))
        sizes[split] = np.zeros((count, 2), np.int32)
        objects[split] = []
        for row, image in enumerate(images(split)):
            if image is not None and not problems.count:
                height, width = image.pixels.shape[:2]
                pixels[split][row, :height, :width] = image.pixels
                sizes[split][row] = height, width
                objects[split].append(image.objects)
    problems.refuse_any(title)
    most = max((len(own) for named in objects.values() for own in named), default=0)
    return {
        split: {
            "image": pixels[split],
            "size": sizes[split],
            **_box_lists(objects[split], max(1, most)),
        }
        for split in counts
    }


def _box_lists(rows: list[tuple[AnnotatedObject, ...]], most: int) -> dict[str, np.ndarray]:
    boxes = np.zeros((len(rows), most, 4), np.float32)
    classes = np.zeros((len(rows), most), np.int32)
    difficult = np.zeros((len(rows), most), np.uint8)
    for row, objects in enumerate(rows):
        for place, one in enumerate(objects):
            boxes[row, place] = one.box
            classes[row, place] = one.label
            difficult[row, place] = one.difficult
    return {"boxes": boxes, "classes": classes, "difficult": difficult}


def _on_disk(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that are kept in a file which ends with them: all images are 9 GB."""
    try:
        paths.cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=paths.cache()) as file:
            size = int(np.prod(shape, dtype=np.int64))
            os.posix_fallocate(file.fileno(), 0, max(1, size))  # a full disk is noticed here
            return np.memmap(file, np.uint8, "r+", shape=shape)
    except OSError as error:
        raise UserError(
            f"There is no room to decode images ({error.strerror}).",
            "Free some space or set DLBENCH_CACHE to another disk.",
        ) from error
