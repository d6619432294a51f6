"""A table of somebody's file that knows its position there, so that every error can name it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dlbench.errors import UserError, unknown
from dlbench.toml_file import read_toml

_Value = TypeVar("_Value")
_WORDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


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

    def error(self, key: str, problem: str, remedy: str) -> UserError:
        return UserError(f"{self.file}: `{self.position}{key}` {problem}.", remedy)

    def refuse_others(self, known: Collection[str]) -> None:
        """An error for a key that is not among these."""
        for key in self.values:
            if key not in known:
                raise self.error(key, "is not known here", unknown("key", key, known).remedy)

    def get(self, key: str, kind: type[_Value], default: _Value | None = None) -> _Value:
        """The value of this key, which must be of this kind; without a default it must be there."""
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, "is missing", f"Add it: {_WORDS[kind]}.")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"must be {_WORDS[kind]}", f"It is {value!r}: correct it.")
        return value

    def count(self, key: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(key, int, default)
        if value < least:
            raise self.error(key, f"must be at least {least}", f"It is {value}: correct it.")
        return value

    def table(self, key: str) -> Table:
        return Table(self.file, f"{self.position}{key}.", self.get(key, dict))

    def tables(self, key: str) -> list[Table]:
        """A list of tables; counted from 1, as people do."""
        items = self.get(key, list)
        if not items or not all(isinstance(item, dict) for item in items):
            raise self.error(key, "must be a list of tables", f"Write [[{self.position}{key}]].")
        return [
            Table(self.file, f"{self.position}{key}[{number}].", item)
            for number, item in enumerate(items, 1)
        ]

    def strings(self, key: str) -> list[str]:
        items = self.get(key, list)
        if not items or not all(isinstance(item, str) for item in items):
            raise self.error(key, "must be a list of strings", f"It is {items!r}: correct it.")
        return items
