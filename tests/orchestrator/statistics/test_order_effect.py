"""Whether it matters when a trial ran."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.measurements import SCORE
from dlbench.statistics.order_effect import order_effect
from dlbench.statistics.sample_size import holm
from dlbench.statistics.stability import (
    Concern,
)


def campaign(
    rng: np.random.Generator, along: float = 0.0, later: float = 0.0, rounds: int = 20
) -> tuple[list[float], list[int], list[int], list[int]]:
    values, groups, turns, places = [], [], [], []
    for turn in range(rounds):
        for place, group in enumerate(rng.permutation(5).tolist()):
            noise = rng.normal(0, 0.02) + along * place / 4 + later * turn / (rounds - 1)
            values.append((10 + 3 * group) * float(np.exp(noise)))
            groups.append(group)
            turns.append(turn)
            places.append(place)
    return values, groups, turns, places


def test_order_effects_are_found_and_measured() -> None:
    rng = np.random.default_rng(5)
    within = order_effect(*campaign(rng, along=0.05))
    assert [f.concern for f in within.findings] == [Concern.ORDER]
    assert within.within == pytest.approx(0.05, abs=0.02)
    assert "from the first to the last place in a round" in within.sentence
    across = order_effect(*campaign(rng, later=-0.08))
    assert across.across == pytest.approx(-0.08, abs=0.02)
    assert "Values fall by" in across.sentence and "first round to the last" in across.sentence


def test_no_order_effect_is_rarely_taken_for_one() -> None:
    rng = np.random.default_rng(6)
    effects = [order_effect(*campaign(rng, rounds=6)) for _ in range(300)]
    wrong = sum(min(holm([each.within_p, each.across_p])) <= 0.05 for each in effects)
    assert wrong / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_order_of_long_campaigns_and_equal_values(recwarn: pytest.WarningsRecorder) -> None:
    rng = np.random.default_rng(7)
    long = order_effect(*campaign(rng, along=0.01, rounds=1000))
    assert long.within_p < 1e-6 < long.across_p
    equal = order_effect([0.9] * 12, [0, 1, 2] * 4, sorted([0, 1, 2, 3] * 3), [0, 1, 2] * 4, SCORE)
    assert equal.findings == () and equal.sentence.startswith("No order effect is shown")
    assert order_effect([], [], [], []).findings == ()
    assert not recwarn.list
