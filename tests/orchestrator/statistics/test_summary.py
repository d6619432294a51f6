"""Descriptions of groups and the bootstrap behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dlbench.statistics.bootstrap import bootstrap_interval, resample
from dlbench.statistics.comparison import compare
from dlbench.statistics.effects import effect
from dlbench.statistics.measurements import Measurements
from dlbench.statistics.summary import Summary


def describe(values: Sequence[float]) -> Summary:
    return compare({"group": Measurements(tuple(values))}).summaries["group"]


def test_numbers_agree_with_numpy() -> None:
    x = np.random.default_rng(0).lognormal(size=31)
    found = describe(x)
    assert found.n == 31
    assert found.median == pytest.approx(np.median(x))
    assert found.mean == pytest.approx(x.mean())
    assert found.sd == pytest.approx(x.std(ddof=1))
    assert found.mad == pytest.approx(np.median(np.abs(x - np.median(x))))
    assert found.iqr == pytest.approx(np.subtract(*np.quantile(x, [0.75, 0.25])))
    assert found.median_interval is not None
    assert found.median_interval.low < found.median < found.median_interval.high


def test_a_report_can_be_made_again() -> None:
    x = np.random.default_rng(1).normal(10, 1, size=12)
    assert describe(x) == describe(x)


def test_few_values_get_no_interval_and_the_sentence_says_so() -> None:
    found = describe([1.0, 2.0])
    assert found.median_interval is None
    assert found.sentence == "Median 1.5 of 2 runs, too few for an interval."
    assert describe([3.0]).sd is None
    assert "covers at most 75 %" in describe([1.0, 2.0, 4.0]).sentence


def test_no_values_and_values_that_are_no_numbers(recwarn: pytest.WarningsRecorder) -> None:
    assert describe([]).sentence == "No values."
    found = describe([1.0, float("nan"), 2.0, float("inf"), 3.0])
    assert (found.n, found.median, found.not_numbers) == (3, 2.0, 2)
    assert "2 values left out: not a number" in found.sentence
    assert not recwarn.list


def test_equal_values_have_an_interval_of_no_width(recwarn: pytest.WarningsRecorder) -> None:
    found = describe([0.1] * 7)
    assert found.sd == 0 and found.mean == 0.1
    assert found.median_interval is not None
    assert (found.median_interval.low, found.median_interval.high) == (0.1, 0.1)
    assert found.sentence == "Median 0.1 of 7 runs, all alike."
    assert not recwarn.list


@pytest.mark.parametrize("n", [10, 30])
def test_intervals_cover_as_often_as_they_say(n: int) -> None:
    # 600 draws of skewed noise (sd 0.3 in logarithms). At a true coverage of 0.95 the share that is
    # seen has a standard error of 0.009; 0.92 allows for three of them.
    rng = np.random.default_rng(n)
    hits = np.zeros(2)
    rounds = 600
    true_mean = np.exp(0.3**2 / 2)
    for _ in range(rounds):
        drawn = resample(np.exp(rng.normal(0, 0.3, size=n)), rows=600)
        assert drawn is not None
        hits += (
            bootstrap_interval(drawn.medians, n).holds(1.0),
            bootstrap_interval(drawn.means, n).holds(true_mean),
        )
    assert (hits / rounds >= 0.92).all(), hits / rounds


def test_ratio_interval_covers() -> None:
    # As above, standard error 0.009.
    rng = np.random.default_rng(5)
    rounds, hits = 600, 0
    for _ in range(rounds):
        shared = rng.normal(0, 0.2, size=12)
        a = 1.3 * np.exp(shared + rng.normal(0, 0.05, size=12))
        b = np.exp(shared + rng.normal(0, 0.05, size=12))
        around = effect(a, b, paired=True, draws=600).interval
        assert around is not None
        hits += around.holds(1.3)
    assert hits / rounds >= 0.92


def test_pairs_narrow_the_interval() -> None:
    # Seeds that are slow everywhere: pairing takes their share out.
    rng = np.random.default_rng(6)
    shared = rng.normal(0, 0.3, size=20)
    a = np.exp(shared + rng.normal(0, 0.01, size=20))
    b = 1.1 * np.exp(shared + rng.normal(0, 0.01, size=20))
    paired, unpaired = effect(a, b, paired=True).interval, effect(a, b).interval
    assert paired is not None and unpaired is not None
    assert (paired.high - paired.low) * 3 < unpaired.high - unpaired.low
