"""Finds files in a user's folder: they may lie deeper, and be written in upper or lower case."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

_MOST_LEVELS = 6
_MOST_FILES = 300_000


class Inside:
    """What is in a folder, listed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def like(self, pattern: str) -> list[Path]:
        """The files whose names fit the pattern, in the least deep folder that has any."""
        fitting = [path for path in self._files if fnmatchcase(path.name.lower(), pattern.lower())]
        return [path for path in fitting if path.parent == fitting[0].parent]

    def named(self, name: str) -> list[Path]:
        """The files of this name, with the folders in front that it has: the least deep ones.

        At the top these may be missing: whoever names the innermost folder means it."""
        bare = Path(name).name
        for top in (self.folder / name, self.folder / bare):
            if top.is_file():
                return [top]
        fitting = [
            path
            for path in self._files
            if path.as_posix().lower().endswith(f"/{name}".lower())
            or (path.parent == self.folder and path.name.lower() == bare.lower())
        ]
        return [path for path in fitting if len(path.parts) == len(fitting[0].parts)]

    @cached_property
    def _files(self) -> list[Path]:
        """The least deep first."""
        found: list[Path] = []
        for folder in folders_in(self.folder):
            found += [child for child in children(folder) if child.is_file()]
            if len(found) > _MOST_FILES:
                break
        return found


def folders_in(folder: Path, enter: Callable[[Path], bool] = lambda _: True) -> Iterator[Path]:
    """The folder and those in it, the least deep first; nothing below one that `enter` declines."""
    level = [folder]
    for _ in range(_MOST_LEVELS):
        yield from level
        level = [
            child
            for one in level
            if enter(one)
            for child in children(one)
            if child.is_dir() and not child.is_symlink()
        ]


def children(folder: Path) -> list[Path]:
    """What is in it, by name; nothing where it may not be read."""
    try:
        return sorted(Path(entry) for entry in os.scandir(folder))
    except OSError:
        return []
