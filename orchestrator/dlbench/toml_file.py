"""Reads TOML files that somebody wrote, strictly: every error names the file and the key.

Workloads, releases, CUDA library sets and studies are all read with it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dlbench.errors import UserError, unknown
from dlbench.plain_json import printable

_MOST_BYTES = 4 << 20
_Value = TypeVar("_Value")
_WORDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def read_toml(path: Path) -> dict[str, Any]:
    """Its content, of bounded size and depth; it never waits on a pipe.

    OSError: it can't be read; ValueError says what is wrong in it."""
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES:,} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(printable(str(error), 200)) from error


@dataclass(frozen=True)
class Table:
    """Values by key. `position` is what stands before a key: `recipe.optimizer.`, or nothing."""

    file: Path
    position: str
    values: dict[str, Any]

    @classmethod
    def read(cls, file: Path) -> Table:
        try:
            return cls(file, "", read_toml(file))
        except (OSError, ValueError) as error:
            raise UserError(f"{file} can't be read: {error}.", "Correct the file.") from error

    def error(self, key: str, problem: str, remedy: str = "Correct it.") -> UserError:
        sentence = problem.rstrip(".")  # it may be that of another error
        return UserError(f"{self.file}: `{self.position}{key}` {sentence}.", remedy)

    def refuse_others(self, known: Collection[str]) -> None:
        """An error for a key that is not among these."""
        for key in self.values:
            if key not in known:
                raise self.error(key, "is not known here", unknown("key", key, known).remedy)

    def check_keys(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """An error for a key that is missing, or is not among these."""
        self.refuse_others({*required, *optional})
        for key in sorted(required):
            if key not in self.values:
                raise self.error(key, "is missing", "Add it.")

    def get(self, key: str, kind: type[_Value], default: _Value | None = None) -> _Value:
        """The value of this key, which must be of this kind; without a default it must be there."""
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, "is missing", f"Add it: {_WORDS[kind]}.")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        # To Python a truth value is a whole number, too.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"must be {_WORDS[kind]}", f"It is {value!r}: correct it.")
        return value

    def maybe(self, key: str, kind: type[_Value]) -> _Value | None:
        return self.get(key, kind) if key in self.values else None

    def count(self, key: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(key, int, default)
        if value < least:
            raise self.error(key, f"must be at least {least}", f"It is {value}: correct it.")
        return value

    def table(self, key: str, default: dict[str, Any] | None = None) -> Table:
        return Table(self.file, f"{self.position}{key}.", self.get(key, dict, default))

    def tables(self, key: str) -> list[Table]:
        """A list of tables; counted from 1, as people do."""
        items = self.get(key, list)
        if not items or not all(isinstance(item, dict) for item in items):
            raise self.error(key, "must be a list of tables", f"Write [[{self.position}{key}]].")
        return [
            Table(self.file, f"{self.position}{key}[{number}].", item)
            for number, item in enumerate(items, 1)
        ]

    def strings(self, key: str, default: Collection[str] | None = None) -> tuple[str, ...]:
        """A list of strings: at least one, unless it may be left out."""
        items = self.get(key, list, None if default is None else list(default))
        empty = not items and default is None
        if empty or not all(isinstance(item, str) for item in items):
            raise self.error(key, "must be a list of strings", f"It is {items!r}: correct it.")
        return tuple(items)
