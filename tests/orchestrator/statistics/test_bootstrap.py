"""Bootstrap intervals cover as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.bootstrap import bootstrap_interval, resample
from dlbench.statistics.effects import effect


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
