"""Screening many trials at once loses none that a closer look would find."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.screening import worth_a_look
from dlbench.statistics.stability import Concern, steps_of_trial


@pytest.mark.parametrize("n", [3, 12, 30, 99, 200, 491])
def test_whatever_a_closer_look_finds_is_worth_one(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = 10 * np.exp(rng.normal(0, 0.02, (400, n)) * rng.choice([0.1, 1, 4], (400, 1)))
    kind = rng.integers(0, 7, 400)
    half = n // 2
    rows[kind == 1, half:] *= rng.uniform(1.01, 1.2, ((kind == 1).sum(), 1))
    rows[kind == 2, : n // 6] *= rng.uniform(1.01, 1.5, ((kind == 2).sum(), 1))
    rows[kind == 3] *= np.linspace(1, 1.1, n)
    rows[kind == 4] *= np.where(rng.random(((kind == 4).sum(), n)) < 0.3, 1.3, 1.0)
    rows[kind == 5, -1] *= rng.uniform(1, 60, (kind == 5).sum())
    rows[kind == 6] = 10.0
    rows[0, 0], rows[1, 0] = np.nan, 0.0
    found = worth_a_look(rows)
    findings = [steps_of_trial(row) for row in rows]
    missed = [f for f, worth in zip(findings, found, strict=True) if f and not worth]
    assert missed == []
    if n >= 99:
        seen = {finding.concern for each in findings for finding in each}
        assert {Concern.THROTTLING, Concern.WARM_UP, Concern.OUTLIERS, Concern.MODES} <= seen


def test_steady_trials_are_not_looked_at_again() -> None:
    rows = 10 * np.exp(np.random.default_rng(0).normal(0, 0.02, (1000, 490)))
    assert worth_a_look(rows).mean() < 0.05
