"""Reads the TOML files in `images/` strictly: a wrong key or type is an error that names the file.

Release files, CUDA library sets and the table of GPU generations are all read with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dlbench import errors
from dlbench.toml_file import read_toml

_Value = TypeVar("_Value")
_WORDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True)
class Table:
    """One table of a file. Every question names the type of the answer."""

    path: Path
    where: str
    """How messages name it: `[gpu] `, or nothing for the file itself."""
    content: Mapping[str, object]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.content)

    def check_keys(self, required: set[str], optional: set[str]) -> None:
        if lacking := sorted(required - self.content.keys()):
            raise self.broken(f"{self.where}`{lacking[0]}` is missing")
        if extra := sorted(self.content.keys() - required - optional):
            near = errors.unknown("key", extra[0], required | optional)
            raise self.broken(f"{self.where}{extra[0]!r} is not a known key", near.remedy)

    def get(self, key: str, kind: type[_Value]) -> _Value:
        value = self.content.get(key)
        # To Python a truth value is a whole number, too.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.broken(f"{self.where}`{key}` must be given as {_WORDS[kind]}")
        return value

    def maybe(self, key: str, kind: type[_Value]) -> _Value | None:
        return self.get(key, kind) if key in self.content else None

    def strings(self, key: str) -> tuple[str, ...]:
        values = self.content.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.broken(f"{self.where}`{key}` must be a list of strings")
        return tuple(values)

    def table(self, key: str) -> Table:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.broken(f"[{key}] must be a table")
        return Table(self.path, f"[{key}] ", value)

    def tables(self, key: str) -> list[Table]:
        values = self.content.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.broken(f"[[{key}]] must be a list of tables")
        return [Table(self.path, f"[[{key}]] ", value) for value in values]

    def broken(self, why: str, remedy: str = "") -> errors.UserError:
        return errors.UserError(
            f"{self.path} is broken: {why}.", remedy or "Correct or restore the file."
        )


def read(path: Path) -> Table:
    try:
        return Table(path, "", read_toml(path))
    except (ValueError, OSError) as error:
        raise Table(path, "", {}).broken(str(error)) from error
