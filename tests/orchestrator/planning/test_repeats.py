"""How many repeats, when to look, and the words for both."""

from __future__ import annotations

import pytest

from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.repeats import (
    planned_looks,
    repeats_needed,
    rivals,
    what_another_look_costs,
    what_looks_do,
    what_repeats_show,
)


@pytest.mark.parametrize(("contenders", "repeats"), [(1, 3), (2, 5), (3, 5), (10, 7)])
def test_the_fewest_repeats(contenders: int, repeats: int) -> None:
    assert repeats_needed(contenders) == repeats


def test_rivals_are_those_of_one_case() -> None:
    choices = Choices(frameworks=("numpy", "jax"), workloads=("digits-cnn", "mnist-cnn"))
    assert rivals(draft(choices, "process").trials) == 2


@pytest.mark.parametrize("contenders", [2, 3, 7, 20])
@pytest.mark.parametrize("at_most", [None, 12, 20, 50])
def test_looks_grow_and_the_first_can_decide(contenders: int, at_most: int | None) -> None:
    looks = planned_looks(contenders, None, "decided", at_most)
    assert list(looks) == sorted(set(looks))
    assert looks[0] >= repeats_needed(contenders)
    assert at_most is None or looks[-1] == at_most


def test_looks_begin_after_the_repeats_that_were_asked_for() -> None:
    assert planned_looks(3, 10, "decided", 20)[0] >= 10
    assert planned_looks(3, 20, "decided", 20) == (20,)
    assert planned_looks(3, None, None, None) == ()


@pytest.mark.parametrize(
    ("contenders", "repeats", "at_most", "words"),
    [(3, None, 4, "needs 5 repeats"), (3, 9, 8, "--repeats asks for 9"), (1, None, 9, "only one")],
)
def test_looks_that_can_not_decide(
    contenders: int, repeats: int | None, at_most: int, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        planned_looks(contenders, repeats, "decided", at_most)


def test_what_is_said_beforehand() -> None:
    def said(repeats: int, *names: str) -> str:
        return what_repeats_show(draft(Choices(frameworks=names, repeats=repeats), "p").trials)

    assert "1 run of each can't show a difference" in said(1, "numpy", "jax")
    assert "5 runs of each of 2 contenders can show" in said(5, "numpy", "jax")
    assert "can't be compared" in said(4, "numpy")
    assert "after 6, 9 and 12 runs" in what_looks_do((6, 9, 12))
    assert "5%" in what_looks_do((6, 9, 12))
    assert what_looks_do((9,)) == "There is one look, after 9 runs of each."


def test_runs_that_could_not_be_judged_cost_nothing() -> None:
    assert what_another_look_costs(3, 3) == ""
    assert what_another_look_costs(9, 1) == ""
    assert "up to 10%" in what_another_look_costs(5, 3)
    assert "--look 2" in what_another_look_costs(5, 3)
