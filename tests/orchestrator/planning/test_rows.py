"""`--scale` and `--rows`: how many rows are used, and what is refused."""

from __future__ import annotations

import pytest

from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.rows import read_share, used_rows

WHOLE = {"train": 1000, "test": 200}


def test_a_share_and_a_number_of_rows() -> None:
    assert used_rows(WHOLE, None, None, "d") is None
    assert used_rows(WHOLE, None, 0.01, "d") == {"train": 10, "test": 2}
    assert used_rows(WHOLE, 300, None, "d") == {"train": 300, "test": 200}
    assert used_rows(WHOLE, 5000, None, "d") is None
    assert used_rows(WHOLE, None, 1.0, "d") is None


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.01", 0.01), ("1", 1.0), ("5%", 0.05), ("1e-2", 0.01), ("smoke", None), ("2fast", None)],
)
def test_a_scale_is_a_share_or_a_name(text: str, share: float | None) -> None:
    assert read_share(text) == share


@pytest.mark.parametrize("text", ["0", "1.5", "-0.1", "200%", "1..5", "1e999"])
def test_what_is_not_a_share_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a share of the rows"):
        read_share(text)


def test_a_share_of_nothing_is_refused_when_it_is_planned() -> None:
    words = r"leaves 0 of the 38 rows of split 'train' of petrol\. Give at least 0\.2\."
    with pytest.raises(UserError, match=words):
        draft(Choices(workloads=("petrol-mlp",), scale="0.01"), "process")
    with pytest.raises(UserError, match="--rows 1 is not possible"):
        draft(Choices(rows=1), "process")


def test_the_plan_says_what_was_asked_for() -> None:
    trials = draft(Choices(scale="0.1", repeats=1), "process").trials
    assert {(t.scale, t.share, t.rows) for t in trials} == {("0.1", 0.1, None)}
    trials = draft(Choices(rows=64, repeats=1), "process").trials
    assert {(t.scale, t.share, t.rows) for t in trials} == {("", None, 64)}
