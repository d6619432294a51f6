"""Looking again and again must not make a leader where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dlbench.planning.repeats import ALPHA, planned_looks
from dlbench.statistics.comparison import compare
from dlbench.statistics.looks import alpha_at_look
from dlbench.statistics.measurements import Measurements

CAMPAIGNS = 200
Draw = Callable[[np.random.Generator, int], np.ndarray]


def measured(values: np.ndarray) -> Measurements:
    return Measurements(values=tuple(values), keys=tuple(range(len(values))), certified=True)


def decided(draw: Draw, seed: int, contenders: int, at_most: int) -> tuple[str | None, int]:
    """The leader that a campaign would end with, and after how many repeats."""
    rng = np.random.default_rng(seed)
    times = {f"c{k}": draw(rng, at_most) for k in range(contenders)}
    looks = planned_looks(contenders, None, "decided", at_most)
    for number, repeats in enumerate(looks, 1):
        groups = {name: measured(values[:repeats]) for name, values in times.items()}
        level = alpha_at_look(ALPHA, number, len(looks))
        found = compare(groups, alpha=level, draws=20).leader
        if found:
            return found, repeats
    return None, at_most


NOISE: dict[str, Draw] = {
    "normal": lambda rng, n: np.exp(rng.normal(0, 0.1, n)),
    "heavy tails": lambda rng, n: np.exp(0.05 * rng.standard_t(2, n)),
}


@pytest.mark.parametrize("noise", NOISE)
def test_equal_contenders_rarely_get_a_leader(noise: str) -> None:
    found = [decided(NOISE[noise], seed, 2, 12)[0] for seed in range(CAMPAIGNS)]
    wrong = sum(name is not None for name in found)
    # 5 % of 200 are 10; more than 18 would be seen once in a hundred times at the full rate
    assert wrong <= 18


def test_a_leader_is_found_and_mostly_early() -> None:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        draw.calls += 1  # type: ignore[attr-defined]
        slower = 1.0 if draw.calls % 3 == 1 else 1.5  # type: ignore[attr-defined]
        return slower * np.exp(rng.normal(0, 0.03, n))

    draw.calls = 0  # type: ignore[attr-defined]
    ends = [decided(draw, seed, 3, 20) for seed in range(20)]
    assert {name for name, _ in ends} == {"c0"}
    assert np.median([repeats for _, repeats in ends]) < 20
