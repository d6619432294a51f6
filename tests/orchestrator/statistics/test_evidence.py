"""Evidence for statements made of statements, Holm's steps, Kendall's tau, predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.statistics.evidence import (
    CERTAIN,
    UNKNOWN,
    Evidence,
    all_of,
    any_of,
    at_least,
    holm_divisors,
    kendall,
    mean_in_band,
    most_of,
    t_quantile,
)
from dlbench.statistics.sample_size import holm

FOR, AGAINST = Evidence(0.001, 0.999), Evidence(0.999, 0.001)
chances = st.floats(0, 1)
parts = st.lists(st.builds(Evidence, chances, chances), min_size=1, max_size=8)


def test_all_is_as_weak_as_its_weakest_part_and_refuted_by_any() -> None:
    assert all_of([FOR, FOR, Evidence(0.2, 0.8)]).for_it == 0.2
    assert all_of([FOR, FOR, AGAINST]).against == pytest.approx(0.003)
    assert any_of([AGAINST, AGAINST, FOR]).for_it == pytest.approx(0.003)
    assert most_of([FOR, FOR, AGAINST]).for_it == pytest.approx(0.002)
    assert all_of([FOR, UNKNOWN]).for_it == 1.0


@given(parts, st.integers(1, 8))
def test_at_least_k_do_not_hold_is_the_opposite(these: list[Evidence], k: int) -> None:
    if k > len(these):
        with pytest.raises(ValueError, match="not possible"):
            at_least(k, these)
        return
    fail = at_least(len(these) - k + 1, [one.denied() for one in these])
    assert at_least(k, these) == fail.denied()


@given(parts)
def test_p_is_two_sided_and_a_chance(these: list[Evidence]) -> None:
    for made in (all_of(these), any_of(these), most_of(these)):
        assert 0 <= made.p <= 1 and 0 <= made.for_it <= 1 and 0 <= made.against <= 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_at_least_k_of_three_is_wrong_within_alpha(k: int) -> None:
    """k - 1 statements hold beyond doubt, the rest do not: then "at least k" is wrong."""
    rng = np.random.default_rng(k)
    wrong = 0
    for _ in range(4000):
        p = [0.0] * (k - 1) + list(rng.random(3 - k + 1))
        wrong += at_least(k, [Evidence(x, 1 - x) for x in p]).for_it <= 0.05
    assert wrong / 4000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


@given(st.lists(chances, min_size=1, max_size=12))
def test_steps_of_holm_decide_as_its_adjusted_p_values(p_values: list[float]) -> None:
    divisors = holm_divisors(p_values, 0.05)
    stepwise = [p <= 0.05 / d for p, d in zip(p_values, divisors, strict=True)]
    adjusted = [p <= 0.05 for p in holm(p_values)]
    near = any(abs(p * d - 0.05) < 1e-9 for p in p_values for d in range(1, 13))
    assert near or stepwise == adjusted


def test_tau_has_all_orders_that_are_not_refuted() -> None:
    tau = kendall([(FOR, 1), (AGAINST, -1), (Evidence(0.4, 0.6), 1)], 0.05, 4)
    assert tau is not None
    assert (tau.estimate, tau.low, tau.high) == (pytest.approx(1 / 3), -0.5, 0.5)
    assert tau.words == "Kendall's tau 0.33 [-0.50, 0.50] over 3 of 4 pairs"
    assert kendall([], 0.05, 4) is None
    whole = kendall([(FOR, 1)] * 3, 0.05, 3)
    assert whole is not None and whole.words == "Kendall's tau 1.00 [1.00, 1.00]"


def test_a_prediction_without_any_spread_is_certain() -> None:
    assert mean_in_band([2.0, 2.0], 1.0, 3.0, 5)[0] == CERTAIN
    assert mean_in_band([4.0, 4.0], 1.0, 3.0, 5)[0] == CERTAIN.denied()
    evidence, centre, error = mean_in_band([1.9, 2.1, 2.0], -10.0, 14.0, 5)
    assert evidence.for_it < 0.001 and centre == pytest.approx(2.0)
    assert error == pytest.approx(0.1 * math.sqrt(1 / 3 + 1 / 5))
    assert t_quantile(4, 0.95) == pytest.approx(2.776, abs=1e-3)
