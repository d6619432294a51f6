"""The validation images of ILSVRC at 80x80, from the user's own folder, decoded once.

They may not be passed on, so there is no download. The folder holds either one folder of images a
class, as most tools arrange them, or all images with the devkit's list of their classes
(`ILSVRC2010_validation_ground_truth.txt`). Each image is cut to its middle square and scaled to
80x80. In the order of their names every fifth image is a test image. Decoding needs Pillow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.datasets import Arrays, Dataset, _synthetic
from dlbench.datasets._decoding import opened_image, pillow
from dlbench.datasets._folders import Inside, children, folders_in
from dlbench.datasets._image_arrays import every_fifth
from dlbench.datasets._reading import wrong
from dlbench.errors import UserError

_SIDE = 80
_CLASSES = 1000
_ENDINGS = (".jpeg", ".jpg", ".png")
_NOT_VALIDATED = ("train", "test")
"""Folders inside the one that is named: other images of the challenge."""
_LIST = "*validation_ground_truth.txt"
_MOST_PIXELS = 100_000_000
_REMEDY = "Name the folder with --from: one folder of images a class, or all images and the list."


def _convert(_files: Mapping[str, Path]) -> Arrays:
    raise UserError("The images of ILSVRC can't be downloaded without a log-in.", _REMEDY)


def _from_folder(folder: Path) -> Arrays:
    lists = Inside(folder).like(_LIST)
    places = (p for p in folders_in(folder) if p == folder or p.name.lower() not in _NOT_VALIDATED)
    found = (_by_class(place) or _by_list(place, lists) for place in places)
    images = next((own for own in found if own), None)
    if images is None:
        raise UserError(
            f"{folder} holds no images that dlbench finds, nor do the folders in it.", _REMEDY
        )
    library = pillow()
    pixels = np.empty((len(images), _SIDE, _SIDE, 3), np.uint8)
    for row, (path, _) in enumerate(images):
        pixels[row] = _decoded(path, library)
    label = np.array([number for _, number in images], np.uint16)
    return every_fifth(pixels, label)


def _by_class(folder: Path) -> list[tuple[Path, int]]:
    """Images in folders of their own; classes are numbered in the order of the folders' names."""
    classes = [path for path in children(folder) if path.is_dir() and _images_in(path)]
    if len(classes) < 2:
        return []
    if len(classes) > _CLASSES:
        raise wrong(str(folder), f"has {len(classes):,} folders; there are {_CLASSES:,} classes")
    found = [(path, number) for number, one in enumerate(classes) for path in _images_in(one)]
    return sorted(found, key=lambda item: item[0].name)


def _by_list(folder: Path, lists: Sequence[Path]) -> list[tuple[Path, int]]:
    """All images in one folder, and a list with the class of each, from 1, in their order."""
    images = _images_in(folder)
    if not lists or not images:
        return []
    numbers = lists[0].read_text(encoding="utf-8", errors="replace").split()
    if len(numbers) != len(images):
        words = f"has {len(numbers):,} lines where there are {len(images):,} images"
        raise wrong(lists[0].name, words)
    if not all(number.isdigit() and 1 <= int(number) <= _CLASSES for number in numbers):
        raise wrong(lists[0].name, f"has a line that is not a class from 1 to {_CLASSES:,}")
    return [(path, int(number) - 1) for path, number in zip(images, numbers, strict=True)]


def _images_in(folder: Path) -> Sequence[Path]:
    return [path for path in children(folder) if path.suffix.lower() in _ENDINGS]


def _decoded(path: Path, library: Any) -> np.ndarray:
    """The middle square of an image at 80x80."""
    with opened_image(path, path.name, library, _MOST_PIXELS) as image:
        width, height = image.size
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        square = (left, top, left + side, top + side)
        middle = image.convert("RGB").crop(square)  # `resize` alone would look beyond its edges
        scaled = middle.resize((_SIDE, _SIDE), library.Resampling.BILINEAR)
        return np.asarray(scaled)


DATASET = Dataset(
    name="imagenet80",
    title="ILSVRC validation images at 80x80 (O. Russakovsky et al., 2015; from your own folder)",
    licence="non-commercial research; not to be passed on",
    rows=(40_000, 10_000),
    convert=_convert,
    synthetic=partial(_synthetic.images, shape=(_SIDE, _SIDE, 3), classes=_CLASSES),
    from_folder=_from_folder,
    notes="50,000 images; tian2020 does not say how it split them: every fifth is a test image",
    divide={"image": 255.0},
    proof=partial(_synthetic.images, shape=(32, 32, 3), classes=20),
)
