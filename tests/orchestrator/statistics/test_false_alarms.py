"""By simulation: where there is no difference, "different" is said in at most alpha of all cases.

Each check allows three standard errors of the simulated share above alpha = 0.05: with 1500 rounds
that is 0.05 + 3 * 0.0056 = 0.067, with 300 rounds 0.088. The tests are exact, so the true share
lies at or below 0.05 and a check that fails by chance would be a one-in-a-thousand event; the seeds
are fixed, so it does not come and go.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dlbench.statistics.comparison import compare
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import SCORE, TIME, Kind, Measurements
from dlbench.statistics.verdicts import Decision
from scripts.simulate_false_alarms import DRAWS, SIZES, allowed, false_claims

ALPHA = 0.05
Noise = Callable[[np.random.Generator, int], Floats]


def even(rng: np.random.Generator, n: int) -> Floats:
    return np.exp(rng.normal(0, 0.05, size=n))


def skewed(rng: np.random.Generator, n: int) -> Floats:
    """Most runs alike, some far slower: what a busy machine gives."""
    return 1 + rng.exponential(0.1, size=n) ** 2


def tied(rng: np.random.Generator, n: int) -> Floats:
    """Accuracies on a small test set: few distinct values."""
    return rng.integers(45, 49, size=n) / 50


def family_alarms(
    noise: Noise, n: int, groups: int, rounds: int, kind: Kind, paired: bool, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    keys = tuple(range(n)) if paired else None
    wrong = 0
    for _ in range(rounds):
        # What a seed or a round has in common moves all groups alike.
        shared = noise(rng, n) if paired else np.zeros(n)
        family = {
            str(i): Measurements(tuple((shared + noise(rng, n)).tolist()), keys)
            for i in range(groups)
        }
        found = compare(family, kind, alpha=ALPHA, draws=20)
        wrong += any(verdict.different for verdict in found.verdicts)
    return wrong / rounds


@pytest.mark.parametrize("n", [3, 5, 10, 30])
@pytest.mark.parametrize(
    ("noise", "kind"), [(even, TIME), (skewed, TIME), (tied, SCORE)], ids=["even", "skewed", "tied"]
)
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
def test_two_groups(noise: Noise, kind: Kind, n: int, paired: bool) -> None:
    rounds = 1500
    share = family_alarms(noise, n, 2, rounds, kind, paired, seed=n)
    assert share <= allowed(rounds)
    if n == 3:
        assert share == 0, "so few runs cannot show anything"


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
def test_a_family_of_six_groups(n: int, paired: bool) -> None:
    rounds = 300
    share = family_alarms(skewed, n, 6, rounds, TIME, paired, seed=60 + n)
    assert share <= allowed(rounds)


def test_the_tests_are_not_merely_silent() -> None:
    # The same noise, one group slower by a factor of 1.1: nearly always seen with ten runs.
    rng = np.random.default_rng(7)
    seen = 0
    for _ in range(200):
        family = {
            "a": Measurements(tuple(even(rng, 10).tolist()), tuple(range(10))),
            "b": Measurements(tuple((1.1 * even(rng, 10)).tolist()), tuple(range(10))),
        }
        seen += compare(family, draws=20).verdicts[0].decision is Decision.BETTER
    assert seen / 200 > 0.9


def test_equivalence_is_rarely_claimed_at_the_margin_itself() -> None:
    # The true ratio is the margin: the worst case that is not equivalent.
    rng = np.random.default_rng(8)
    rounds, wrong = 1000, 0
    for _ in range(rounds):
        family = {
            "a": Measurements(tuple(even(rng, 10).tolist()), tuple(range(10))),
            "b": Measurements(tuple((1.1 * even(rng, 10)).tolist()), tuple(range(10))),
        }
        found = compare(family, margin=1.1, draws=20)
        wrong += found.verdicts[0].decision is Decision.EQUIVALENT
    assert wrong / rounds <= allowed(rounds)


@pytest.mark.parametrize("scenario", DRAWS)
@pytest.mark.parametrize(("contenders", "repeats"), [(2, 5), (3, 5), (4, 6)])
def test_few_repeats_in_hard_conditions(scenario: str, contenders: int, repeats: int) -> None:
    rounds = 250
    assert false_claims(DRAWS[scenario], contenders, repeats, rounds, 7) <= allowed(rounds)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", DRAWS)
@pytest.mark.parametrize(("contenders", "repeats"), SIZES)
def test_every_size_in_hard_conditions(scenario: str, contenders: int, repeats: int) -> None:
    rounds = 1000
    assert false_claims(DRAWS[scenario], contenders, repeats, rounds, 8) <= allowed(rounds)
