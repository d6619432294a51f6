"""Equivalence within a margin, and what lies exactly on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlbench.statistics.margins import equivalence, inside, margin_problem
from dlbench.statistics.measurements import LOSS, MEMORY, SCORE, TIME, Kind


@pytest.mark.parametrize("base", [0.1, 0.7, 1.1, 3.3, 1e-9, 12345.678])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("way", [1.05, 1 / 1.05])
def test_a_ratio_on_the_margin_is_not_within_it(base: float, paired: bool, way: float) -> None:
    # Rounding puts these now a little inside, now a little outside.
    a = base * np.linspace(1, 1.001, 12)
    assert equivalence(a * way, a, 1.05, paired=True).p == 1.0
    same = np.full(12, base)
    assert equivalence(same * way, same, 1.05, paired=paired).p == 1.0
    assert equivalence(same * (way**0.99), same, 1.05, paired=paired).p < 0.001


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("score", [0.9, 0.83, 0.71, 0.3])
def test_a_difference_on_the_margin_is_not_within_it(score: float, paired: bool) -> None:
    a = np.full(12, score)
    assert equivalence(a - 0.01, a, 0.01, SCORE, paired=paired).p == 1.0
    assert equivalence(a + 0.01, a, 0.01, SCORE, paired=paired).p == 1.0
    assert equivalence(a + 0.0099, a, 0.01, SCORE, paired=paired).p < 0.001


def test_the_same_rule_for_an_estimate() -> None:
    assert not inside(1.05, 1.05, True) and not inside(1 / 1.05, 1.05, True)
    assert not inside(0.3 - 0.2, 0.1, False) and not inside(0.2 - 0.3, 0.1, False)
    assert inside(1.0499999, 1.05, True) and inside(0.0999999, 0.1, False)


@pytest.mark.parametrize("paired", [True, False])
def test_a_run_that_failed_is_beyond_every_margin(
    paired: bool, recwarn: pytest.WarningsRecorder
) -> None:
    a = np.full(12, 1.0)
    b = a.copy()
    b[:8] = math.inf
    assert equivalence(b, a, 1.9, paired=paired).p > 0.5
    assert equivalence(a, b, 1.9, paired=paired).p > 0.5
    assert not recwarn.list


@pytest.mark.parametrize(
    ("margin", "kind", "possible"),
    [
        (1.05, TIME, True), (1.0, TIME, False), (0.99, MEMORY, False), (2.0, TIME, False),
        (1.05, SCORE, False), (0.5, SCORE, False), (0.499, SCORE, True), (3.0, LOSS, True),
        (0.0, LOSS, False), (-1.0, SCORE, False), (math.nan, TIME, False), (math.inf, LOSS, False),
    ],
)  # fmt: skip
def test_margins_go_by_the_kind_of_metric(margin: float, kind: Kind, possible: bool) -> None:
    assert (margin_problem(margin, kind) == "") is possible
    if not possible:
        with pytest.raises(ValueError, match="is not possible"):
            equivalence([1.0] * 6, [1.0] * 6, margin, kind)
