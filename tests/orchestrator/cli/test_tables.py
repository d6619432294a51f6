"""Tables in narrow terminals: wrapped, with fewer columns, or stacked; no number is ever cut."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from dlbench.cli.tables import table_lines

COLUMNS = ["release", ">runs", ">accuracy", ">training", "about"]
ROWS = [
    ["pytorch@2.13.0", "5", "98.3312 %", "1,234.56 s", "many words that may be wrapped somewhere"],
    ["numpy", "4 of 5", "97.1 %", "2.5 s", ""],
]
NUMBERS = ["98.3312 %", "1,234.56 s", "4 of 5", "97.1 %", "2.5 s"]


@pytest.mark.parametrize("width", [None, 200, 80, 60, 50, 40, 30, 20])
def test_no_number_is_cut_at_any_width(width: int | None) -> None:
    lines = table_lines(COLUMNS, ROWS, width)
    assert all(any(number in line for line in lines) for number in NUMBERS)
    if width and width >= 30:
        assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("width", range(20, 120, 7))
def test_dropped_columns_are_named(width: int) -> None:
    text = "\n".join(table_lines(COLUMNS, ROWS, width, ("about", "runs")))
    assert "1,234.56 s" in text and "98.3312 %" in text
    for heading, cell in (("about", "many"), ("runs", "4 of 5")):
        shown = cell in text
        named = re.search(rf"Left out for lack of room:[^.]*{heading}", text.replace("\n", " "))
        assert shown or named


def test_a_wide_terminal_has_columns_in_line() -> None:
    head, first, second = table_lines(COLUMNS, ROWS, 120)
    assert head.index("accuracy") + len("accuracy") == first.index(" %") + 2
    assert second.startswith("numpy ")


def test_no_rows() -> None:
    assert table_lines(["a", ">b"], [], 80) == ["a  b"]
    assert table_lines(["a", ">b"], [], None) == ["a  b"]


def test_wide_characters_count_twice() -> None:
    lines = table_lines(["名前", ">n"], [["フレーム", "1"], ["x", "22"]], 80)
    assert len({cell_len(line) for line in lines}) == 1
