"""Looking again and again must not cost the promised error rate."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.looks import MOST_LOOKS, alpha_at_look, planned_looks
from dlbench.statistics.rank_tests import rank_sum, signed_rank
from dlbench.statistics.sample_size import fewest_repeats, least_p, room_for_noise


def test_the_shares_of_planned_looks_add_up_to_alpha() -> None:
    assert sum(alpha_at_look(0.05, look, 4) for look in (1, 2, 3, 4)) == pytest.approx(0.05)
    assert alpha_at_look(0.05, 1, 1) == 0.05


def test_the_shares_of_unplanned_looks_never_exceed_alpha() -> None:
    shares = [alpha_at_look(0.05, look) for look in range(1, 10_000)]
    assert 0.0499 < sum(shares) < 0.05


@pytest.mark.parametrize(("look", "looks"), [(0, 3), (4, 3), (0, None), (-1, None)])
def test_a_look_that_was_not_planned_is_refused(look: int, looks: int | None) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        alpha_at_look(0.05, look, looks)


@pytest.mark.parametrize("comparisons", [1, 3, 6, 45])
@pytest.mark.parametrize("at_most", [1, 4, 7, 10, 20, 100])
def test_looks_are_planned_where_they_can_show_something(comparisons: int, at_most: int) -> None:
    planned = planned_looks(comparisons, at_most)
    assert planned[-1] == at_most and list(planned) == sorted(set(planned))
    assert len(planned) <= MOST_LOOKS
    if len(planned) > 1:
        assert planned[0] >= fewest_repeats(0.05 / len(planned), comparisons)


def false_claims(campaigns: int, contenders: int, at_most: int, seed: int) -> tuple[float, float]:
    """How often equal contenders are told apart: with shares of alpha, and with all of it."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(contenders) for j in range(i)]
    planned = planned_looks(len(pairs), at_most)
    shared = whole = 0
    for _ in range(campaigns):
        # Heavy tails, and a load that the contenders of a round share.
        runs = rng.standard_t(2, size=(contenders, at_most)) + rng.normal(size=at_most)
        levels = [_least_p(runs[:, :n], pairs) for n in planned]
        share = alpha_at_look(0.05, 1, len(planned))
        shared += any(level <= share for level in levels)
        whole += any(level <= 0.05 for level in levels)
    return shared / campaigns, whole / campaigns


def _least_p(runs: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    """Holm's first step: the first claim of a family."""
    n = runs.shape[1]
    if least_p(n) * len(pairs) <= 0.05:
        return len(pairs) * min(signed_rank(runs[i] - runs[j]).p for i, j in pairs)
    return len(pairs) * min(rank_sum(runs[i], runs[j]).p * room_for_noise(n, n) for i, j in pairs)


def test_false_claims_stay_within_alpha_over_all_looks() -> None:
    shared, whole = false_claims(300, 3, 20, 1)
    assert shared <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert whole >= shared


@pytest.mark.slow
def test_false_claims_over_all_looks_in_many_campaigns() -> None:
    shared, whole = false_claims(4000, 3, 40, 2)
    assert shared <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 4000)
    assert whole > 0.06, "looking with all of alpha each time breaks the promise"
