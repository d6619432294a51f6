"""Whatever somebody wrote can be added up, shown and written again, or is refused in words."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.plain_json import (
    DEEPEST,
    LARGEST,
    LARGEST_WHOLE,
    LONGEST_KEY,
    LONGEST_TEXT,
    NotPlain,
    parse_json,
    plain,
    printable,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe\xfa", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),  # more digits than Python makes a number of
        ("9" * 400, "too large"),
        (f"[1, {'9' * 400}]", "too large"),
        (f"[NaN, 1, -{'9' * 400}]", "too large"),
        (str(LARGEST_WHOLE + 1), "too large"),
        ("-1e101", "too large"),
        ("[" * 700 + "]" * 700, "levels deep"),
        ('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), "levels deep"),
        (json.dumps({"x" * (LONGEST_KEY + 1): 1}), "too long"),
        (r'{"\ud800": 1}', r"can't be printed: \ud800"),
        (r'{"\u001b[31m": 1}', r"can't be printed: \x1b[31m"),
    ],
)
def test_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(NotPlain) as caught:
        parse_json(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1.5, 2, -3], [1.5, 2, -3]),
        ([1.0, math.nan, math.inf], [1.0, None, None]),
        ((math.nan, 1), [None, 1]),
        ({"a": -math.inf}, {"a": None}),
        ([True, None, LARGEST, LARGEST_WHOLE], [True, None, LARGEST, LARGEST_WHOLE]),
        ("a\n\tb\u00a0ü漢🙂", "a\n\tb\u00a0ü漢🙂"),
        ("\ud800\x1b[31m\u202e\x00", r"\ud800\x1b[31m\u202e\x00"),
        ("x" * (LONGEST_TEXT + 1), "x" * (LONGEST_TEXT - 1) + "…"),
    ],
)
def test_made_plain(value: object, expected: object) -> None:
    assert plain(value) == expected


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(_ANYTHING)
def test_what_comes_out_is_strict_json_in_utf8(value: Any) -> None:
    try:
        result = plain(value)
    except NotPlain:
        return
    text = json.dumps(result, allow_nan=False, ensure_ascii=False)
    assert parse_json(text.encode("utf-8")) == result
    assert plain(result) == result


@given(st.text(st.characters()))
def test_no_text_can_steer_a_terminal(text: str) -> None:
    shown = printable(text)
    assert all(each.isprintable() or each.isspace() for each in shown)
    assert not set(shown) & {"\x1b", "\r", "\x9b", "\u202e", "\x85", "\u2028"}
