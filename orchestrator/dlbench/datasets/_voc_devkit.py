"""Turns the VOC challenge's devkit, unpacked or in its archive, into arrays."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.datasets import Arrays, _voc_annotation
from dlbench.datasets._box_arrays import LARGEST_SIDE, BoxedImage, boxed_arrays
from dlbench.datasets._decoding import opened_image, pillow
from dlbench.datasets._folders import folders_in
from dlbench.datasets._problems import Problems
from dlbench.datasets._reading import opened
from dlbench.errors import UserError

MOST_IMAGE_BYTES = 50_000_000
_MOST_LIST_BYTES = 10_000_000
_NAME = re.compile(r"[0-9A-Za-z_-]{1,100}", re.ASCII)
_LISTS = {"train": "ImageSets/Main/train.txt", "test": "ImageSets/Main/val.txt"}
Read = Callable[[str, int], bytes | None]
"""At most so many bytes of a file of the devkit, by its path; None: it is not there."""


def devkit_in(folder: Path) -> Path | None:
    """The folder VOC2012 of an unpacked devkit: this one, or one inside it, however deep."""
    devkits = (one for one in folders_in(folder, _is_no_devkit) if not _is_no_devkit(one))
    return next((one for one in devkits if one == folder or one.name.lower() == "voc2012"), None)


def _is_no_devkit(folder: Path) -> bool:
    return not (folder / "Annotations").is_dir()


def from_folder(devkit: Path) -> Arrays:
    def read(name: str, most: int) -> bytes | None:
        path = devkit / name
        if not path.is_file():
            return None
        with opened(path, unpack=False) as file:
            return file.read(most)

    return _arrays(read, str(devkit))


def from_archive(path: Path) -> Arrays:
    with opened(path, unpack=False) as file, tarfile.open(fileobj=file, mode="r:") as archive:
        members = {
            member.name.partition("VOC2012/")[2]: member for member in archive if member.isfile()
        }

        def read(name: str, most: int) -> bytes | None:
            content = archive.extractfile(members[name]) if name in members else None
            return content.read(most) if content else None

        return _arrays(read, path.name)


@dataclass(frozen=True)
class _Row:
    """One image of a list, and the line where it is named."""

    name: str
    place: str


def _arrays(read: Read, title: str) -> Arrays:
    problems = Problems()
    rows = {split: _listed(read, path, problems) for split, path in _LISTS.items()}
    twice = {row.name for row in rows["train"]} & {row.name for row in rows["test"]}
    for row in rows["test"]:
        if row.name in twice:
            problems.add(row.place, f"{row.name} is a training image, too")
    problems.refuse_any(title)
    library = pillow()

    def images(split: str) -> Iterable[BoxedImage | None]:
        return (_image(read, row, library, problems) for row in rows[split])

    counts = {split: len(named) for split, named in rows.items()}
    return boxed_arrays(counts, images, problems, title)


def _listed(read: Read, path: str, problems: Problems) -> list[_Row]:
    content = read(path, _MOST_LIST_BYTES + 1)
    if content is None:
        problems.add(path, "is missing: it lists the images")
        return []
    if len(content) > _MOST_LIST_BYTES:
        problems.add(path, f"has more than {_MOST_LIST_BYTES:,} bytes")
        return []
    rows: list[_Row] = []
    seen = set()
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        name = line.strip()
        place = f"{path} line {number}"
        if not name:
            continue
        if not _NAME.fullmatch(name):
            problems.add(place, f"{name!r} is not the name of an image")
        elif name in seen:
            problems.add(place, f"{name} is listed twice")
        else:
            seen.add(name)
            rows.append(_Row(name, place))
    if not rows:
        problems.add(path, "lists no image")
    return rows


def _image(read: Read, row: _Row, library: Any, problems: Problems) -> BoxedImage | None:
    """The image with its boxes; None if there is a problem, which is added."""
    path = f"Annotations/{row.name}.xml"
    content = read(path, _voc_annotation.MOST_BYTES + 1)
    if content is None:
        problems.add(row.place, f"{path} is missing")
        annotation = None
    else:
        annotation = _voc_annotation.read_annotation(content, path, problems)
    picture = f"JPEGImages/{row.name}.jpg"
    packed = read(picture, MOST_IMAGE_BYTES + 1)
    if packed is None:
        problems.add(row.place, f"{picture} is missing")
        return None
    if annotation is None:
        return None
    pixels = decoded(packed, picture, (annotation.height, annotation.width), library, problems)
    return None if pixels is None else BoxedImage(pixels, annotation.objects)


def decoded(
    packed: bytes, name: str, size: tuple[int, int], library: Any, problems: Problems
) -> np.ndarray | None:
    """The pixels of an image that must have this (height, width)."""
    try:
        if len(packed) > MOST_IMAGE_BYTES:
            raise UserError(f"has more than {MOST_IMAGE_BYTES:,} bytes")
        with opened_image(io.BytesIO(packed), "it", library, LARGEST_SIDE**2) as image:
            if image.size != size[::-1]:
                found, said = ("{} x {}".format(*one) for one in (image.size, size[::-1]))
                raise UserError(f"has {found} pixels where its annotation says {said}")
            if max(size) > LARGEST_SIDE:
                raise UserError(f"is higher or wider than {LARGEST_SIDE} pixels")
            return np.asarray(image.convert("RGB"))
    except UserError as error:
        problems.add(name, error.problem)
        return None
