"""Images with boxes in the forms that people make themselves.

- JSON as COCO has it: `*train*.json` and `*val*.json` (in the folder or in `annotations/`), each
  with `images` (id, file_name, height, width), `annotations` (image_id, category_id, bbox: x, y,
  width, height from the upper left edge; `difficult`, `ignore` or `iscrowd` 1: does not count) and
  `categories` (id, name). The images are in the folder, or in a folder inside it.
- Arrays: `voc2012*.npz` with the arrays of `_box_arrays`, `image_train`, `image_test` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.datasets import Arrays
from dlbench.datasets._box_arrays import LARGEST_SIDE, BoxedImage, boxed_arrays
from dlbench.datasets._decoding import pillow
from dlbench.datasets._problems import Problems
from dlbench.datasets._reading import opened, read_file, read_npz, wrong
from dlbench.datasets._voc_annotation import (
    CLASSES,
    MOST_OBJECTS,
    AnnotatedObject,
    box_problem,
    cut_off,
)
from dlbench.datasets._voc_devkit import MOST_IMAGE_BYTES, decoded
from dlbench.plain_json import NotPlain, parse_json

_MOST_JSON_BYTES = 50_000_000
_MOST_ARRAY_BYTES = 4_000_000_000
_FOLDERS = ("", "JPEGImages", "images", "train", "val")
_ARRAYS = {"image": "u", "size": "iu", "boxes": "f", "classes": "iu", "difficult": "iub"}
_SPLITS = {"train": "*train*.json", "test": "*val*.json"}


def from_json(folder: Path) -> Arrays | None:
    """The arrays from two files of JSON and the images; None: these files are not there."""
    files = {}
    for split, pattern in _SPLITS.items():
        found = [*sorted(folder.glob(pattern)), *sorted((folder / "annotations").glob(pattern))]
        if not found:
            return None
        files[split] = found[0]
    problems = Problems()
    entries = {split: _entries(path, problems) for split, path in files.items()}
    library = pillow()

    def images(split: str) -> Iterator[BoxedImage | None]:
        for place, name, size, objects in entries[split]:
            pixels = _pixels(folder, place, name, size, library, problems)
            yield None if pixels is None else BoxedImage(pixels, tuple(objects))

    counts = {split: len(own) for split, own in entries.items()}
    return boxed_arrays(counts, images, problems, str(folder))


_Entry = tuple[str, str, tuple[int, int], list[AnnotatedObject]]
"""Where it is named, its file, (height, width), what is in it."""


def _pixels(
    folder: Path,
    place: str,
    name: str,
    size: tuple[int, int],
    library: Any,
    problems: Problems,
) -> np.ndarray | None:
    path = next((p for one in _FOLDERS if (p := folder / one / name).is_file()), None)
    if path is None:
        problems.add(place, f"the image {name} is missing")
        return None
    with opened(path, unpack=False) as file:
        return decoded(file.read(MOST_IMAGE_BYTES + 1), name, size, library, problems)


def _entries(path: Path, problems: Problems) -> list[_Entry]:
    try:
        parsed = parse_json(read_file(path, _MOST_JSON_BYTES, least=2))
    except NotPlain as error:
        raise wrong(path.name, f"holds {error}") from error
    lists: dict[str, list[Any]] = {}
    for name in ("images", "annotations", "categories"):
        listed = parsed.get(name) if isinstance(parsed, dict) else None
        if not isinstance(listed, list):
            raise wrong(path.name, f"has no list {name!r}")
        lists[name] = listed
    labels = {}
    for number, one in enumerate(lists["categories"]):
        key, name = _values(one, "id", "name")
        if name not in CLASSES or not _is_key(key):
            problems.add(f"{path.name} categories[{number}]", f"unknown class {name!r}")
        else:
            labels[key] = CLASSES.index(name) + 1
    images: dict[Any, _Entry] = {}
    for number, one in enumerate(lists["images"]):
        place = f"{path.name} images[{number}]"
        key, name, height, width = _values(one, "id", "file_name", "height", "width")
        if not _is_key(key) or key in images:
            problems.add(place, f"the id {key!r} is not one of its own")
        elif not isinstance(name, str) or name != Path(name).name or not name.strip("."):
            problems.add(place, f"{name!r} is not the name of a file")
        elif not all(isinstance(side, int) and side > 0 for side in (height, width)):
            problems.add(place, f"{width!r} x {height!r} is not a size")
        else:
            images[key] = (place, name, (height, width), [])
    for number, one in enumerate(lists["annotations"]):
        place = f"{path.name} annotations[{number}]"
        key = _values(one, "image_id")[0]
        if not _is_key(key) or key not in images:
            problems.add(place, f"there is no image {key!r}")
            continue
        _, _, size, objects = images[key]
        if found := _object(one, labels, size, place, problems):
            objects.append(found)
        if len(objects) == MOST_OBJECTS + 1:
            problems.add(place, f"the image {key!r} has more than {MOST_OBJECTS:,} objects")
    if not images:
        problems.add(path.name, "lists no image")
    return list(images.values())


def _values(entry: Any, *names: str) -> list[Any]:
    return [entry.get(name) if isinstance(entry, dict) else None for name in names]


def _is_key(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _object(
    entry: Any, labels: Mapping[Any, int], size: tuple[int, int], place: str, problems: Problems
) -> AnnotatedObject | None:
    key, bbox, *flags = _values(entry, "category_id", "bbox", "difficult", "ignore", "iscrowd")
    if not _is_key(key) or key not in labels:
        problems.add(place, f"unknown class {key!r}")
    elif not isinstance(bbox, list) or len(bbox) != 4 or not all(map(_is_number, bbox)):
        problems.add(place, f"bbox {bbox!r} is not four numbers")
    elif not all(flag in (None, 0, 1) for flag in flags):
        problems.add(place, "difficult, ignore or iscrowd is neither 0 nor 1")
    else:
        x, y, width, height = bbox
        box = (y, x, y + height, x + width)
        words = box_problem(box, size)
        if not words:
            return AnnotatedObject(labels[key], cut_off(box, size), any(flags))
        problems.add(place, words)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def from_arrays(folder: Path) -> Arrays | None:
    """The arrays from one file of arrays; None: there is none."""
    files = sorted(folder.glob("voc2012*.npz"))
    if not files:
        return None
    names = [f"{name}_{split}" for split in _SPLITS for name in _ARRAYS]
    arrays = read_npz(files[0], names, _MOST_ARRAY_BYTES)
    problems = Problems()
    splits = {}
    for split in _SPLITS:
        own = {name: arrays[f"{name}_{split}"] for name in _ARRAYS}
        _check_shapes(own, split, files[0].name)
        _check_rows(own, f"{files[0].name} {split}", problems)
        kinds = {"boxes": "f4", "classes": "i4", "size": "i4", "difficult": "u1", "image": "u1"}
        splits[split] = {name: array.astype(kinds[name]) for name, array in own.items()}
    problems.refuse_any(files[0].name)
    for name, array in splits["train"].items():
        if array.shape[1:] != splits["test"][name].shape[1:]:
            raise wrong(files[0].name, f"has arrays {name!r} of two shapes")
    return splits


def _check_shapes(arrays: Mapping[str, np.ndarray], split: str, file: str) -> None:
    rows, most = len(arrays["image"]), arrays["boxes"].shape[1:2]
    shapes = {"size": (rows, 2), "boxes": (rows, *most, 4), "classes": (rows, *most),
              "difficult": (rows, *most)}  # fmt: skip
    for name, array in arrays.items():
        expected = shapes.get(name, (rows, *array.shape[1:3], 3))
        if array.shape != expected or array.dtype.kind not in _ARRAYS[name] or not rows:
            words = f"has {name}_{split} {array.shape} of {array.dtype}, which does not fit"
            raise wrong(file, words)
    if arrays["image"].itemsize != 1 or max(arrays["image"].shape[1:3]) > LARGEST_SIDE:
        raise wrong(file, f"has images that are not bytes of {LARGEST_SIDE} pixels at most")


def _check_rows(arrays: Mapping[str, np.ndarray], place: str, problems: Problems) -> None:
    """Every size within the image, every box within its size, every class known."""
    most = arrays["image"].shape[1:3]
    columns = (arrays[name].tolist() for name in ("size", "boxes", "classes"))
    for row, (size, boxes, classes) in enumerate(zip(*columns, strict=True)):
        if not (0 < size[0] <= most[0] and 0 < size[1] <= most[1]):
            problems.add(f"{place} row {row}", f"{size} is not a size within {most}")
        for number, (box, label) in enumerate(zip(boxes, classes, strict=True)):
            at = f"{place} row {row} box {number}"
            if not 0 <= label <= len(CLASSES):
                problems.add(at, f"unknown class {label}")
            elif label and not all(map(math.isfinite, box)):
                problems.add(at, f"{box} is not four numbers")
            elif label and (words := box_problem(tuple(box), (size[0], size[1]))):
                problems.add(at, words)
