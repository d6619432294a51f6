"""What a value in a file must be: its type, its range, its length.

A shape is a function that gives the value back or raises `WrongValue`, whose message says where
the value is, what it is and what is expected. Keys that a record does not know are left out. A
number of the right type outside its range is `OutOfRange`: such a file can be read, but what it
says is not true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dlbench.event_fields import LONGEST_S
from dlbench.plain_json import (
    LARGEST,
    LONGEST_TEXT,
    NotPlain,
    plain,
    printable,
)

Shape = Callable[[Any], Any]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
LONGEST_NAME = 200
MOST_ENTRIES = 10_000
MOST_COUNTED = 2**53
_YEARS = (1970, 2200)


class WrongValue(ValueError):
    """A value that is not what the format says."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place} is {what}" if place else f"it is {what}")
        self._what, self._place = what, place

    def within(self, key: object) -> WrongValue:
        """The same, named from one level further out."""
        outer = str(key) if not isinstance(key, int) else f"[{key}]"
        joint = "" if not self._place or self._place.startswith("[") else "."
        place = f"{printable(outer)[:LONGEST_NAME]}{joint}{self._place}"
        return type(self)(self._what, place)


class OutOfRange(WrongValue):
    """A number that can't be true."""


def shown(value: Any) -> str:
    """A value in a message, cut to a length that can be read."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST_COUNTED:
        return f"a number of {len(str(abs(value)))} digits"
    text = printable(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}…"


def number(low: float = -LARGEST, high: float = LARGEST) -> Shape:
    return _within("a number", (float, int), low, high)


def whole(low: int = 0, high: int = MOST_COUNTED) -> Shape:
    return _within("a whole number", (int,), low, high)


def _within(words: str, kinds: tuple[type, ...], low: float, high: float) -> Shape:
    def check(value: Any) -> Any:
        if type(value) not in kinds:
            raise WrongValue(f"{shown(value)}, not {words}")
        if low <= value <= high:
            return value
        raise OutOfRange(f"{shown(value)}; {words} {_span(low, high)} is expected")

    return check


def _span(low: float, high: float) -> str:
    """`from 0 to 1`; the widest range is that of all finite numbers."""
    if high >= LARGEST:
        return f"from {low:g}" if low > -LARGEST else "that is finite"
    return f"from {low:g} to {high:g}"


SECONDS = number(0.0, LONGEST_S)
COUNT = whole()
BYTES = number(0, 2**60)


def flag(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    raise WrongValue(f"{shown(value)}, not true or false")


def text(value: Any) -> Any:
    """Prose: made printable, and cut where it is too long."""
    if type(value) is not str:
        raise WrongValue(f"{shown(value)}, not a text")
    return value if value.isprintable() and len(value) <= LONGEST_TEXT else printable(value)


def label(value: Any) -> Any:
    """What people read in a table: one short line."""
    if type(value) is not str:
        raise WrongValue(f"{shown(value)}, not a text")
    if len(value) > LONGEST_NAME:
        raise WrongValue(f"a text of {len(value):,} characters; at most {LONGEST_NAME} are allowed")
    return value if value.isprintable() else " ".join(printable(value).split())


def identity(value: Any) -> Any:
    """What becomes part of a path: an id, a digest, a key."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise WrongValue(f"{shown(value)}; only letters, digits, - and _ may be in it, up to 64")


def moment(value: Any) -> Any:
    """A time of day in ISO 8601, or nothing."""
    if not isinstance(value, str):
        raise WrongValue(f"{shown(value)}, not a time")
    if value and parsed_moment(value) is None:
        raise OutOfRange(f"{shown(value)}; a time such as 2026-11-16T03:12:00+00:00 is expected")
    return value


def parsed_moment(value: str) -> datetime | None:
    """In UTC; None if it is not one."""
    try:
        at = datetime.fromisoformat(value)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at if _YEARS[0] <= at.year <= _YEARS[1] else None


def one_of(values: Collection[str]) -> Shape:
    def check(value: Any) -> Any:
        if isinstance(value, str) and value in values:
            return value
        raise WrongValue(f"{shown(value)}; one of {', '.join(values)} is expected")

    return check


def optional(shape: Shape) -> Shape:
    def check(value: Any) -> Any:
        return None if value is None else shape(value)

    return check


def either(first: Shape, *others: Shape) -> Shape:
    """The first shape, or else one of the others; errors are the last one's."""

    def check(value: Any) -> Any:
        for shape in (first, *others[:-1]):
            try:
                return shape(value)
            except WrongValue:
                continue
        return others[-1](value)

    return check


def list_of(shape: Shape, most: int = MOST_ENTRIES) -> Shape:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise WrongValue(f"{shown(value)}, not a list")
        if len(value) > most:
            raise WrongValue(f"a list of {len(value):,} entries; at most {most:,} are allowed")
        checked = []
        try:
            for item in value:
                checked.append(shape(item))
        except WrongValue as error:
            raise error.within(len(checked)) from None
        return checked

    return check


def table_of(
    shape: Shape, known: Mapping[str, Shape] | None = None, most: int = MOST_ENTRIES
) -> Shape:
    """An object with any keys; `known` are those with a shape of their own."""
    own = dict(known or {})

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongValue(f"{shown(value)}, not an object")
        if len(value) > most:
            raise WrongValue(f"an object of {len(value):,} keys; at most {most:,} are allowed")
        checked = {}
        key = ""
        try:
            for key, item in value.items():
                checked[key if key in own else label(key)] = own.get(key, shape)(item)
        except WrongValue as error:
            raise error.within(key) from None
        return checked

    return check


def anything(value: Any) -> Any:
    """What a framework says of itself: any JSON within the limits of all JSON."""
    try:
        return plain(value)
    except NotPlain as error:
        raise WrongValue(str(error)) from None


def record(fields: Mapping[str, Shape], required: Collection[str] = ()) -> Shape:
    """An object with these keys; those not required may be left out, others are ignored."""
    listed = list(fields.items())
    needed = frozenset(required)

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongValue(f"{shown(value)}, not an object")
        checked = {}
        key = ""
        try:
            for key, shape in listed:
                if key in value:
                    checked[key] = shape(value[key])
                elif key in needed:
                    raise WrongValue("missing")
        except WrongValue as error:
            raise error.within(key) from None
        return checked

    return check


def fields_of(kind: type[Any], **own: Shape) -> dict[str, Shape]:
    """The shape of each field of a data class: `own`, or else what its annotation says."""
    hints = get_type_hints(kind)
    return {each.name: own.get(each.name) or _of_hint(hints[each.name]) for each in fields(kind)}


def record_of(kind: type[Any], **own: Shape) -> Shape:
    """The record of a data class; fields without a default are required."""
    return record(fields_of(kind, **own), required_of(kind))


def instance_of(kind: type[Any], **own: Shape) -> Shape:
    """The data class itself, made of its record; a list becomes a tuple where it has a tuple."""
    checked = record_of(kind, **own)
    tuples = {name for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple}

    def made(value: Any) -> Any:
        known = checked(value)
        return kind(**{key: tuple(v) if key in tuples else v for key, v in known.items()})

    return made


def required_of(kind: type[Any]) -> list[str]:
    return [
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    ]


_OF_HINT: dict[Any, Shape] = {
    str: text,
    int: COUNT,
    float: number(),
    bool: flag,
    tuple[str, ...]: list_of(text),
    list[str]: list_of(text),
}


def _of_hint(hint: Any) -> Shape:
    if isinstance(hint, UnionType) and NoneType in get_args(hint):
        (only,) = (each for each in get_args(hint) if each is not NoneType)
        return optional(_of_hint(only))
    return _OF_HINT[hint]
