"""What the two CIFAR sets have in common: their binary and their Python version.

Rows are channel-first in both: they are transposed, not reshaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging, _synthetic
from dlbench.datasets._image_arrays import image_arrays
from dlbench.datasets._reading import pickled_bytes, read_file, read_members, read_pickled, wrong

Part = tuple[np.ndarray, np.ndarray]
"""Images NHWC and labels of one file."""
_IMAGE = 3 * 32 * 32
_PLACE = "https://www.cs.toronto.edu/~kriz/"
_MOST_PICKLE = 200_000_000


@dataclass(frozen=True)
class Version:
    """One of the two versions: an archive of these files of so many rows."""

    archive: Download
    folder: str
    train: tuple[str, ...]
    test: str
    rows: tuple[int, int]
    """Of one file of train, and of test."""
    read: Callable[[bytes, str, int], Part]
    """From a file's content, its name and its rows."""
    checksums: tuple[str, ...] = ()
    """Of these files, train first, where they are known."""

    def from_archive(self, files: Mapping[str, Path]) -> Arrays:
        content = read_members(files[self.archive.name], dict.fromkeys(self._names, _MOST_PICKLE))
        return self._arrays(content)

    def _from_files(self, files: Mapping[str, Path]) -> Arrays:
        return self._arrays({name: read_file(files[name], _MOST_PICKLE) for name in self._names})

    def packagings(self) -> tuple[Packaging, Packaging]:
        """Its two forms: the archive, and the files in it."""
        sums = self.checksums or ("",) * len(self._names)
        files = tuple(
            Download(name, checksum=checksum, packed=not checksum)
            for name, checksum in zip(self._names, sums, strict=True)
        )
        return (
            Packaging(self.archive.name, (self.archive,), self.from_archive),
            Packaging(f"the folder {self.folder}", files, self._from_files),
        )

    @property
    def _names(self) -> list[str]:
        return [f"{self.folder}/{name}" for name in (*self.train, self.test)]

    def _arrays(self, content: Mapping[str, bytes]) -> Arrays:
        def part(name: str, rows: int) -> Part:
            return self.read(content[f"{self.folder}/{name}"], name, rows)

        images, labels = zip(*(part(name, self.rows[0]) for name in self.train), strict=True)
        image, label = part(self.test, self.rows[1])
        return {
            "train": {"image": np.concatenate(images), "label": np.concatenate(labels)},
            "test": {"image": image, "label": label},
        }


def cifar(classes: int, binary: Version, python: Version, label: str) -> Dataset:
    """The set with so many classes; `label` is how arrays of people's own call its labels."""
    name = f"cifar{classes}"
    archived, unpacked = python.packagings()
    return Dataset(
        name=name,
        title=f"CIFAR-{classes} (A. Krizhevsky, 2009)",
        licence="none stated; for research",
        rows=(50_000, 10_000),
        convert=binary.from_archive,
        synthetic=partial(_synthetic.images, shape=(32, 32, 3), classes=classes),
        downloads=(binary.archive,),
        packagings=(archived, binary.packagings()[1], unpacked),
        from_folder=partial(
            image_arrays, name=name, shape=(32, 32, 3), classes=classes, label=label
        ),
        divide={"image": 255.0},
    )


def archive(name: str, size: int, sha256: str) -> Download:
    return Download(name, (_PLACE + name,), size, f"sha256:{sha256}")


def binary(labels: int) -> Callable[[bytes, str, int], Part]:
    """A reader of the binary version, whose rows begin with so many labels; the last one counts."""

    def read(content: bytes, name: str, rows: int) -> Part:
        width = labels + _IMAGE
        if len(content) != rows * width:
            raise wrong(
                name,
                f"does not hold {rows:,} images: it has {len(content):,} bytes where"
                f" {rows * width:,} were expected",
            )
        table = np.frombuffer(content, np.uint8).reshape(rows, width)
        return _channels_last(table[:, labels:]), table[:, labels - 1]

    return read


def pickled(labels: str) -> Callable[[bytes, str, int], Part]:
    """A reader of the Python version, whose labels have this name. Its pickle is not executed."""

    def read(content: bytes, name: str, rows: int) -> Part:
        values = read_pickled(content, name)
        if not isinstance(values, dict):
            raise wrong(name, "does not hold a dictionary")
        values = {_text(key): value for key, value in values.items()}
        if "data" not in values or labels not in values:
            raise wrong(name, f"does not hold data and {labels}")
        shape, raw = pickled_bytes(values["data"], name)
        label = values[labels]
        if shape != (rows, _IMAGE) or len(raw) != rows * _IMAGE or len(label) != rows:
            raise wrong(name, f"does not hold {rows:,} images of 32x32x3 with their labels")
        if not all(isinstance(one, int) and 0 <= one < 256 for one in label):
            raise wrong(name, "has labels that are not whole numbers from 0 to 255")
        table = np.frombuffer(raw, np.uint8).reshape(rows, _IMAGE)
        return _channels_last(table), np.array(label, np.uint8)

    return read


def _channels_last(table: np.ndarray) -> np.ndarray:
    return table.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _text(key: object) -> object:
    return key.decode("latin-1") if isinstance(key, bytes) else key
