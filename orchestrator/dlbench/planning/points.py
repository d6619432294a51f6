"""The points of a sweep: every combination of the values that some fields get.

Swept are fields of the recipe (`batch`, `optimizer.lr`), the model's `size`, and of how it is run
`epochs`, `steps` and `threads`. Contenders are compared within a point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.errors import UserError, unknown
from dlbench.planning.changes import FIELDS, changed, read_value, texts_of, written
from dlbench.shapes import LONGEST_NAME, shown
from dlbench.suites.extent import NUMBERS, Extent, Value

MOST_POINTS = 10_000
MOST_THREADS = 10_000
_RUN = {"epochs": NUMBERS["epochs"][1], "steps": NUMBERS["steps"][1], "threads": MOST_THREADS}
"""Fields that are not the recipe's, with their largest value."""
SWEPT = (*_RUN, *FIELDS)


@dataclass(frozen=True)
class Point:
    """One point; that of a workload without a sweep has no text."""

    text: str = ""
    """`batch=8 threads=2`."""
    changes: tuple[str, ...] = ()
    """All that differs from the workload, swept or not."""
    epochs: int | None = None
    steps: int | None = None
    threads: int | None = None


def read_sweeps(texts: Sequence[str]) -> dict[str, tuple[Value, ...]]:
    """The values of each field of `batch=1,8,32`; each text is one `--sweep`."""
    sweep: dict[str, tuple[Value, ...]] = {}
    for text in texts:
        field, equals, values = (part.strip() for part in text.partition("="))
        listed = [value.strip() for value in values.split(",")]
        if not equals or not field or "" in listed:
            raise UserError(
                f"--sweep {shown(text)} does not say which field gets which values.",
                "Write it as --sweep batch=1,8,32.",
            )
        if field in sweep:
            raise UserError(f"--sweep names {field} twice.", "Put all its values into one.")
        sweep[field] = tuple(read_value(value) for value in listed)
    return sweep


def points_of(workload: str, extent: Extent, where: Path | str = "--sweep") -> list[Point]:
    """All points of a workload, each once; every value that is not possible is refused here."""
    made: dict[str, Point] = {}
    for values in _assignments(extent, where):
        point = _point(workload, extent, values, where)
        made.setdefault(point.text, point)
    return list(made.values())


def _assignments(extent: Extent, where: Path | str) -> Iterator[Mapping[str, Value]]:
    for field in (*extent.sweep, *(field for point in extent.points for field in point)):
        if field not in SWEPT:
            raise UserError(
                f"{where}: there is no field {shown(field)} to sweep.",
                unknown("field", field, SWEPT).remedy or f"Fields are {', '.join(SWEPT)}.",
            )
    if math.prod(map(len, extent.sweep.values())) > MOST_POINTS:
        raise UserError(f"{where}: these are more than {MOST_POINTS:,} points.", "Give fewer.")
    for values in itertools.product(*extent.sweep.values()):
        grid = dict(zip(extent.sweep, values, strict=True))
        for own in extent.points or ({},):
            yield {**grid, **own}


def _point(workload: str, extent: Extent, values: Mapping[str, Value], where: Path | str) -> Point:
    if "epochs" in values and "steps" in values:
        raise UserError(f"{where}: epochs and steps exclude each other.", "Sweep one of them.")
    run = {field: _count(field, values[field], where) for field in _RUN if field in values}
    own = {field: value for field, value in values.items() if field not in _RUN}
    changes = {**extent.changes, **own}
    changed(workload, changes, where)
    text = " ".join(texts_of(values))
    if len(text) > LONGEST_NAME:
        raise UserError(f"{where}: a point of so many fields has no readable name.", "Sweep fewer.")
    return Point(text, texts_of(changes), **run)


def _count(field: str, value: Value, where: Path | str) -> int | None:
    if field == "threads" and value == "default":
        return None
    if type(value) is int and 1 <= value <= _RUN[field]:
        return value
    word = "`default` or a whole number" if field == "threads" else "a whole number"
    raise UserError(
        f"{where}: {field}={shown(written(value))} is not possible.",
        f"Give {word} from 1 to {_RUN[field]:,}.",
    )
