"""A chart's data: one table, from which the page draws, fills its table and makes its CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlbench.analysis.groups import Group

Cell = str | float | int | None
Row = Sequence[Cell | Group]
"""Of a chart's table; a group in it fills three cells: its case, contender and framework."""


Columns = Mapping[str, Sequence[Cell]]
"""A table: columns of equal length, by name."""


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Columns:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def packed(columns: Columns) -> dict[str, Any]:
    """For the page: each word once and where it stands, numbers with six digits."""
    return {name: _packed(values) for name, values in columns.items()}


@dataclass(frozen=True)
class Chart:
    """One picture: which drawing of assets/charts/ draws the table, and with what settings."""

    id: str
    drawing: str
    title: str
    columns: Columns
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, id: str, drawing: str, title: str, columns: str, rows: Sequence[Row], note: str,
        **settings: Any,
    ) -> Chart | None:  # fmt: skip
        """None where there are no rows. Of the columns, `group` is the place of a group."""
        names = columns.replace("group ", "case contender framework ").split()
        flat = [
            [
                each
                for cell in row
                for each in (_of_group(cell) if isinstance(cell, Group) else [cell])
            ]
            for row in rows
        ]
        return cls(id, drawing, title, columns_of(names, flat), note, settings) if rows else None

    @property
    def filename(self) -> str:
        return f"{self.id}.csv"

    def cases(self, every: Sequence[str]) -> list[int]:
        """The numbers of the cases of which it has something to show."""
        own = set(self.columns.get("case", every))
        return [number for number, case in enumerate(every) if case in own]

    def embedded(self) -> str:
        """JSON that can stand inside a script element whatever it holds."""
        content = {
            "drawing": self.drawing,
            "file": self.filename,
            "settings": dict(self.settings),
            "columns": packed(self.columns),
        }
        return inert(content)


def _of_group(group: Group) -> list[Cell]:
    return [group.case, group.name, group.framework]


def thinned(items: Sequence[Any], most: int) -> Sequence[Any]:
    """At most so many of them, evenly spread, the last always among them."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(step * i)] for i in range(most)]


def inert(content: object) -> str:
    """JSON in plain ASCII without any character that could end or begin markup."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _packed(values: Sequence[Cell]) -> Any:
    if any(isinstance(value, str) for value in values):
        words: dict[str, int] = {}
        rows = [None if v is None else words.setdefault(str(v), len(words)) for v in values]
        return {"words": list(words), "rows": rows}
    return [_number(value) for value in values]


def _number(value: Cell) -> float | int | None:
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    if isinstance(value, int) or value == 0:
        return value
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
