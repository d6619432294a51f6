"""How much is trained, and at which points: what a suite, its scales and its workloads can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Value = bool | int | float | str | None
"""Of a recipe's field; None takes a part away: `stopping = "none"`."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """None or empty: nothing is said about it here."""

    epochs: int | None = None
    steps: int | None = None
    rows: int | None = None
    """The most rows of each split; None: all."""
    share: float | None = None
    """The share of the rows of each split."""
    size: str | None = None
    """The size of the model, of those that the workload has; None: its own."""
    data: str | None = None
    """`real` or `synthetic`."""
    recipe: Mapping[str, Value] = field(default_factory=dict)
    """What differs from the workload's recipe, by dotted name."""
    sweep: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """The values of each field; all their combinations are points."""
    points: tuple[Mapping[str, Value], ...] = ()
    """Points that are no such grid, one by one."""

    @property
    def changes(self) -> dict[str, Value]:
        """What differs from the workload: its size, then its recipe."""
        return {**({"size": self.size} if self.size else {}), **self.recipe}

    def below(self, other: Extent) -> Extent:
        """What both say; `other` is nearer to the user and counts more."""
        budget = self if other.epochs is None and other.steps is None else other
        rows = self if other.rows is None and other.share is None else other
        swept = other if other.sweep or other.points else self
        return Extent(
            epochs=budget.epochs,
            steps=budget.steps,
            rows=rows.rows,
            share=rows.share,
            size=other.size or self.size,
            data=other.data or self.data,
            recipe={**self.recipe, **other.recipe},
            sweep=swept.sweep,
            points=swept.points,
        )


@dataclass(frozen=True, kw_only=True)
class SuiteScale(Extent):
    """A named size of a suite: what it changes of the suite."""

    about: str = ""
    workloads: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    repeats: int | None = None
    time_limit: str | None = None
    workload: Mapping[str, Extent] = field(default_factory=dict)


class BadExtent(ValueError):
    """What is wrong with a value; `key` says where."""

    def __init__(self, key: str, wanted: str) -> None:
        super().__init__(f"`{key}` must be {wanted}")


_LISTS = ("workloads", "releases", "devices", "settings", "notes")
NUMBERS = {
    "repeats": (1, 100_000),
    "epochs": (1, 10**9),
    "steps": (1, 10**12),
    "seed": (0, 2**31 - 1),
    "rows": (2, 10**12),
}
"""From least to most, in a suite's file and on the command line."""


def checked(key: str, value: Any, place: str = "") -> Any:
    """One value of a suite's file, in the form that the classes above have it."""
    where = f"{place}{key}"
    if key in _LISTS:
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise BadExtent(where, "a list of strings")
    if key in NUMBERS:
        least, most = NUMBERS[key]
        if type(value) is int and least <= value <= most:
            return value
        raise BadExtent(where, f"a whole number from {least} to {most:,}")
    if key == "seeds":
        return _seeds(value, where)
    if key == "share":
        if type(value) in (int, float) and 0 < value <= 1:
            return float(value)
        raise BadExtent(where, "a number above 0 and up to 1")
    if key in ("inference", "save"):
        if isinstance(value, bool):
            return value
        raise BadExtent(where, "true or false")
    if key in ("recipe", "sweep"):
        return dict(_flat(value, where, several=key == "sweep"))
    if key == "points":
        if isinstance(value, list) and value:
            return tuple(dict(_flat(item, where, several=False)) for item in value)
        raise BadExtent(where, "a list of tables")
    if key in ("workload", "scales"):
        if not isinstance(value, dict):
            raise BadExtent(where, "a table")
        kind = Extent if key == "workload" else SuiteScale
        return {name: _read(kind, item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, str):
        return value
    raise BadExtent(where, "a string")


def _seeds(value: Any, where: str) -> Any:
    if value in ("each", "same"):
        return value
    least, most = NUMBERS["seed"]
    several = isinstance(value, list) and 0 < len(value) <= NUMBERS["repeats"][1]
    if several and all(type(seed) is int and least <= seed <= most for seed in value):
        return tuple(value)
    raise BadExtent(where, f'"each", "same" or a list of whole numbers from {least} to {most:,}')


def _read(kind: type[Extent], content: Any, where: str) -> Extent:
    if not isinstance(content, dict):
        raise BadExtent(where, "a table")
    known = kind.__dataclass_fields__
    for key in content:
        if key not in known:
            raise BadExtent(f"{where}.{key}", f"one of {', '.join(known)}")
    return kind(**{key: checked(key, value, f"{where}.") for key, value in content.items()})


def _flat(content: Any, where: str, *, several: bool) -> Iterable[tuple[str, Any]]:
    """The fields of a recipe with their dots, whether written as `a.b = 1` or as a table `a`."""
    if not isinstance(content, dict) or not content:
        raise BadExtent(where, "a table with fields of a recipe")
    for key, value in content.items():
        if isinstance(value, dict):
            for rest, inner in _flat(value, f"{where}.{key}", several=several):
                yield f"{key}.{rest}", inner
        elif not several:
            yield key, _value(value, f"{where}.{key}")
        elif isinstance(value, list) and value:
            yield key, tuple(_value(item, f"{where}.{key}") for item in value)
        else:
            raise BadExtent(f"{where}.{key}", "a list of values")


def _value(value: Any, where: str) -> Value:
    if type(value) in (bool, int, float, str):
        return None if value == "none" else value
    raise BadExtent(where, "a number, a string, true or false")
