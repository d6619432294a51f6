"""Weights that campaigns start from, kept in dlbench's cache by the hash of their content.

A campaign records the file's name and its digest, no path; so a campaign that is resumed finds its
weights here, and nobody can change them under it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench import paths
from dlbench.errors import UserError
from dlbench.plain_json import printable
from dlbench.weights.canonical import read_canonical, write_canonical
from dlbench.whole_files import whole_file

_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Weights:
    name: str
    """The last part of its path."""
    digest: str
    """Of its content: the SHA-256 of the file in its one spelling."""
    arrays: Mapping[str, Any]

    @property
    def words(self) -> str:
        return words_of(self.name, self.digest)


def words_of(name: str, digest: str) -> str:
    """`backbone.npz (1f2e3d4c…)`: how people read of a file of weights."""
    return f"{name} ({digest[:8]}…)"


def read(path: str) -> Weights:
    """The file that a user named."""
    file = Path(path).expanduser()
    arrays = read_canonical(file)
    return Weights(printable(file.name, _LONGEST_NAME), write_canonical(arrays), arrays)


def path_of(digest: str) -> Path:
    """Where weights of this digest are kept."""
    if not _DIGEST.fullmatch(digest):
        raise UserError(f"{printable(digest, 80)!r} is not a digest of weights.")
    return paths.cache() / "weights" / f"{digest}.npz"


def keep(weights: Weights) -> Path:
    """Put them into the cache, unless they are there and whole."""
    target = path_of(weights.digest)
    if is_whole(weights.digest):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as file:
            write_canonical(weights.arrays, file)
            os.fchmod(file.fileno(), 0o444)  # trials read it, also as another user
    except OSError as error:
        raise UserError(
            f"Weights can't be kept in {target.parent} ({error.strerror}).",
            "Free some space or set DLBENCH_CACHE to another disk.",
        ) from error
    return target


def is_whole(digest: str) -> bool:
    """Whether these very weights are in the cache."""
    try:
        with path_of(digest).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False
