"""How many repeats a wanted difference needs."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.comparison import compare
from dlbench.statistics.measurements import SCORE, Measurements
from dlbench.statistics.power import (
    Spread,
    repeats_needed,
    simulated_power,
    spread_of_pairs,
    spread_of_runs,
)


def test_the_planned_repeats_do_see_the_difference() -> None:
    # An independent check through the whole comparison: 400 campaigns with the planned repeats.
    # The plan promises 0.8; the share that is seen has a standard error of 0.02.
    plan = repeats_needed(Spread(0.05, 0), 1.05)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(400):
        noise = rng.normal(0, 0.05 / np.sqrt(2), size=(2, plan.repeats))
        a, b = np.exp(noise)
        keys = tuple(range(plan.repeats))
        groups = {
            "a": Measurements(tuple((1.05 * a).tolist()), keys),
            "b": Measurements(tuple(b.tolist()), keys),
        }
        seen += compare(groups, draws=20).verdicts[0].different
    assert 0.72 <= seen / 400 <= 0.92
    fewer = simulated_power(plan.repeats - 2, np.log(1.05) / 0.05, 0.05)
    assert fewer < 0.8


def test_near_the_t_test_for_normal_noise() -> None:
    # One standard deviation, alpha 0.05, power 0.8: the paired t-test needs 10, unpaired 17.
    assert 10 <= repeats_needed(Spread(1.0, 0), 1.0, SCORE).repeats <= 12
    assert 17 <= repeats_needed(Spread(1.0, 0), 1.0, SCORE, paired=False).repeats <= 19


def test_no_spread_needs_only_what_the_test_needs() -> None:
    assert repeats_needed(Spread(0.0, 4), 1.05).repeats == 6
    assert repeats_needed(Spread(0.0, 4), 1.05, comparisons=15).repeats == 10
    assert repeats_needed(Spread(0.0, 4), 1.05, paired=False).repeats == 5


def test_more_comparisons_and_smaller_differences_need_more() -> None:
    spread = Spread(0.05, 9)
    one = repeats_needed(spread, 1.05)
    assert repeats_needed(spread, 1.05, comparisons=15).repeats > one.repeats
    assert repeats_needed(spread, 1.02).repeats > one.repeats
    assert repeats_needed(spread, 1 / 1.05).repeats == one.repeats
    assert one.cautious > one.repeats
    assert repeats_needed(spread, 1.001).repeats > 5_000


def test_spread_from_what_was_measured() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(size=200)
    a, b = np.exp(shared + rng.normal(0, 0.1, size=(2, 200)))
    assert spread_of_pairs(a, b).sd == pytest.approx(0.1 * np.sqrt(2), rel=0.15)
    runs = spread_of_runs([np.exp(rng.normal(i, 0.1, size=100)) for i in range(3)])
    assert runs.sd == pytest.approx(0.1, rel=0.15) and runs.freedom == 297
    assert spread_of_runs([[0.3, 0.3, 0.3]]).sd == 0
    with pytest.raises(ValueError, match="two runs"):
        spread_of_runs([[1.0]])


def test_the_caution_holds_in_four_of_five_cases() -> None:
    rng = np.random.default_rng(2)
    bounds = [spread_of_runs([rng.normal(size=5)], SCORE).cautious for _ in range(2000)]
    # Standard error 0.009.
    assert np.mean(np.array(bounds) >= 1) == pytest.approx(0.8, abs=0.03)


def test_the_sentence() -> None:
    said = repeats_needed(Spread(0.05, 4), 1.05, comparisons=3).sentence
    assert said.startswith(
        "To see a difference of a factor of 1.05 with a chance of 80 % among 3 comparisons, "
    )
    assert "if the spread seen so far is too small by luck" in said
