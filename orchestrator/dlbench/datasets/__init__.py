"""Data sets: where they come from, how they become arrays. One file each; it defines DATASET.

People's own data sets come from the search path (`dlbench.extensions`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dlbench import extensions
from dlbench.errors import check_known
from dlbench.extensions import BUILT_IN, Extension

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, Mapping[str, "np.ndarray"]]
"""{split: {array: values}}; splits `train`, `test`, and `validation` if a recipe wants it."""

Source = Literal["real", "synthetic"]
"""What is asked for. What is on disk may also be a `sample`: real rows, but not all of them."""


@dataclass(frozen=True)
class Download:
    name: str
    urls: tuple[str, ...] = ()
    """The official address, then mirrors; none: only people who have the file can use it."""
    bytes: int = 0
    """0: its publisher does not say."""
    checksum: str = ""
    """`md5:…` or `sha256:…`, as its publisher gives it; empty: what it holds is checked instead."""
    packed: bool = False
    """Of a user's own file: it may also be packed with gzip, and then its name ends with `.gz`."""


def downloads(files: Mapping[str, tuple[int, str]], *places: str) -> tuple[Download, ...]:
    """Files by name, with their bytes and checksums; all are at each of these places."""
    return tuple(
        Download(name, tuple(place + name for place in places), size, checksum)
        for name, (size, checksum) in files.items()
    )


@dataclass(frozen=True)
class Packaging:
    """Another form in which people have the same data: `dlbench data fetch NAME --from DIR`."""

    title: str
    files: tuple[Download, ...]
    """A name may have folders in front; the file may lie in such folders, or without them."""
    convert: Callable[[Mapping[str, Path]], Arrays]
    """From the files (by name) to arrays."""


@dataclass(frozen=True)
class Dataset:
    name: str
    title: str
    licence: str
    rows: tuple[int, int]
    """Rows of train and test."""
    convert: Callable[[Mapping[str, Path]], Arrays]
    """From the downloaded files (by name) to arrays."""
    synthetic: Callable[[int, int], Arrays]
    """A twin with as many rows: same shapes and ranges, learnable, made from a fixed seed."""
    downloads: tuple[Download, ...] = ()
    packagings: tuple[Packaging, ...] = ()
    """Other forms of the same data, for those who have it already."""
    digest: str = ""
    """Of the official arrays, where it is known: files without a checksum must give the same."""
    from_folder: Callable[[Path], Arrays | None] | None = None
    """From a user's folder that has none of these files; None: there is nothing of use in it."""
    notes: str = ""
    """What has to be known of it: where a study's own numbers differ from the official ones."""
    divide: Mapping[str, float] = field(default_factory=dict)
    """What raw values are divided by to lie in 0..1."""
    proof: Callable[[int, int], Arrays] | None = None
    """A smaller synthetic twin for certificates (short sequences); None: `synthetic` itself."""
    origin: str = BUILT_IN
    """Where it comes from; set when it is loaded."""
    revision: str = ""
    """The digest of the file that defines it; empty for those that ship with dlbench."""


def datasets() -> dict[str, Dataset]:
    return _datasets(extensions.search_path())


def find(name: str) -> Dataset:
    known = datasets()
    check_known("data set", name, known, "dlbench data list")
    return known[name]


@cache
def _datasets(_search_path: tuple[Extension, ...]) -> dict[str, Dataset]:
    shipped = extensions.built_in(__name__, __path__, "DATASET")
    return extensions.by_name("data set", [*shipped, *_brought()])


def _brought() -> Iterator[tuple[Path, Dataset]]:
    """The data sets of the search path."""
    from dlbench.datasets._checked_arrays import with_checks

    for extension, path in extensions.files("datasets", ".py"):
        for dataset in extensions.load_python(extension, path, "DATASET", Dataset):
            own = replace(
                dataset,
                convert=with_checks(path, dataset.convert),
                synthetic=with_checks(path, dataset.synthetic),
                proof=dataset.proof and with_checks(path, dataset.proof),
                origin=extension.name,
                revision=hashlib.sha256(path.read_bytes()).hexdigest(),
            )
            yield path, own
