"""Data sets: where they come from, how they become arrays. One file each, defining DATASET."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dlbench.errors import unknown

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, Mapping[str, np.ndarray]]
    """{split: {array: values}}; splits `train` and `test`."""

Source = Literal["real", "synthetic"]


@dataclass(frozen=True)
class Download:
    """One official file."""

    name: str
    urls: tuple[str, ...]
    bytes: int
    checksum: str
    """`md5:…` or `sha256:…`, as its publisher gives it."""


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
    divide: Mapping[str, float] = field(default_factory=dict)
    """What raw values are divided by to lie in 0..1."""
    proof: Callable[[int, int], Arrays] | None = None
    """A smaller synthetic twin for certificates (short sequences); None: `synthetic` itself."""


@cache
def datasets() -> dict[str, Dataset]:
    """All data sets by name."""
    found = (
        importlib.import_module(f"{__name__}.{module.name}").DATASET
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_") and module.name != "store"
    )
    return {dataset.name: dataset for dataset in sorted(found, key=lambda d: d.name)}


def find(name: str) -> Dataset:
    if name not in datasets():
        raise unknown("data set", name, datasets(), "dlbench data list")
    return datasets()[name]
