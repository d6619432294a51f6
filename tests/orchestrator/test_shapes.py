"""What a value in a file must be, and the words where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dlbench.shapes import (
    COUNT,
    OutOfRange,
    Shape,
    WrongValue,
    anything,
    either,
    identity,
    label,
    list_of,
    moment,
    number,
    optional,
    record_of,
    table_of,
    text,
    whole,
)


@dataclass(frozen=True)
class Thing:
    name: str
    count: int
    share: float | None = None
    words: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("shape", "value", "found"),
    [
        (number(0, 1), 1, 1),
        (optional(COUNT), None, None),
        (text, "a\x1b\n", "a\\x1b\n"),
        (label, "a\r\nb\tc", "a\\r b c"),
        (identity, "a-B_9", "a-B_9"),
        (moment, "", ""),
        (anything, {"a": [float("nan"), "\ud800"]}, {"a": [None, "\\ud800"]}),
        (either(label, COUNT), 3, 3),
        (record_of(Thing), {"name": "x", "count": 1, "new": 2}, {"name": "x", "count": 1}),
        (table_of(COUNT, {"a": label}), {"a": "x", "b": 1}, {"a": "x", "b": 1}),
    ],
)
def test_right_values_come_back(shape: Shape, value: Any, found: Any) -> None:
    assert shape(value) == found


@pytest.mark.parametrize(
    ("shape", "value", "words"),
    [
        (number(0, 1), "1", "it is '1', not a number"),
        (number(), True, "it is True, not a number"),
        (COUNT, 1.0, "it is 1.0, not a whole number"),
        (identity, "..", "it is '..'; only letters"),
        (identity, "a\n", "it is 'a\\n'; only letters"),
        (label, "x" * 201, "it is a text of 201 characters; at most 200 are allowed"),
        (list_of(COUNT), [1, "x"], "[1] is 'x', not a whole number"),
        (list_of(COUNT, 2), [1, 2, 3], "it is a list of 3 entries; at most 2 are allowed"),
        (table_of(list_of(COUNT)), {"a": [[]]}, "a[0] is [], not a whole number"),
        (record_of(Thing), {"name": "x"}, "count is missing"),
        (record_of(Thing), {"name": "x", "count": 1, "words": [3]}, "words[0] is 3, not a text"),
        (record_of(Thing), None, "it is None, not an object"),
        (anything, 10**400, "it is a number that is too large"),
    ],
)
def test_wrong_values_are_named(shape: Shape, value: Any, words: str) -> None:
    with pytest.raises(WrongValue) as caught:
        shape(value)
    assert words in str(caught.value)
    assert not isinstance(caught.value, OutOfRange)


@pytest.mark.parametrize(
    ("shape", "value", "words"),
    [
        (number(0, 1), 1.5, "it is 1.5; a number from 0 to 1 is expected"),
        (number(), float("inf"), "it is inf; a number that is finite is expected"),
        (number(0), float("nan"), "it is nan; a number from 0 is expected"),
        (whole(1), 10**4000, "it is a number of 4001 digits"),
        (moment, "9999-12-31T23:59:59-12:00", "a time such as"),
    ],
)
def test_numbers_that_can_not_be_true_are_told_apart(shape: Shape, value: Any, words: str) -> None:
    with pytest.raises(OutOfRange) as caught:
        shape(value)
    assert words in str(caught.value)
