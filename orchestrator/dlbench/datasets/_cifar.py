"""What the two CIFAR sets have in common: their binary and their Python version.

Rows are channel-first in both: they are transposed, not reshaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset, Download, Packaging
from dlbench.datasets._image_arrays import image_arrays
from dlbench.datasets._reading import (
    opened,
    pickled_bytes,
    read_members,
    read_pickled,
    read_whole,
    wrong,
)

if TYPE_CHECKING:
    import numpy as np

    from dlbench.datasets import Arrays

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

    def from_archive(self, files: Mapping[str, Path]) -> Arrays:
        names = [f"{self.folder}/{name}" for name in (*self.train, self.test)]
        content = read_members(files[self.archive.name], dict.fromkeys(names, _MOST_PICKLE))
        return self._arrays([content[name] for name in names])

    def unpacked(self) -> Packaging:
        names = [f"{self.folder}/{name}" for name in (*self.train, self.test)]

        def convert(files: Mapping[str, Path]) -> Arrays:
            content = []
            for name in names:
                with opened(files[name]) as file:
                    content.append(read_whole(file, files[name].name, 1, _MOST_PICKLE))
            return self._arrays(content)

        title = f"the folder {self.folder}"
        return Packaging(title, tuple(Download(name) for name in names), convert)

    def packed(self) -> Packaging:
        return Packaging(self.archive.name, (self.archive,), self.from_archive)

    def _arrays(self, content: Sequence[bytes]) -> Arrays:
        import numpy as np

        parts = [
            self.read(raw, name, self.rows[0])
            for raw, name in zip(content[:-1], self.train, strict=True)
        ]
        image, label = self.read(content[-1], self.test, self.rows[1])
        return {
            "train": {
                "image": np.concatenate([part[0] for part in parts]),
                "label": np.concatenate([part[1] for part in parts]),
            },
            "test": {"image": image, "label": label},
        }


def cifar(classes: int, binary: Version, python: Version, label: str) -> Dataset:
    """The set with so many classes; `label` is how arrays of people's own call its labels."""
    name = f"cifar{classes}"

    def synthetic(train: int, test: int) -> Arrays:
        from dlbench.datasets import _synthetic

        return _synthetic.images(train, test, (32, 32, 3), classes)

    return Dataset(
        name=name,
        title=f"CIFAR-{classes} (A. Krizhevsky, 2009)",
        licence="none stated; for research",
        rows=(50_000, 10_000),
        convert=binary.from_archive,
        synthetic=synthetic,
        downloads=(binary.archive,),
        packagings=(python.packed(), binary.unpacked(), python.unpacked()),
        from_folder=image_arrays(name, (32, 32, 3), classes, label),
        divide={"image": 255.0},
    )


def archive(name: str, size: int, sha256: str) -> Download:
    return Download(name, (_PLACE + name,), size, f"sha256:{sha256}")


def binary(labels: int) -> Callable[[bytes, str, int], Part]:
    """A reader of the binary version, whose rows begin with so many labels; the last one counts."""

    def read(content: bytes, name: str, rows: int) -> Part:
        import numpy as np

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
        import numpy as np

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
