"""By simulation: any wrong verdict among a study's claims comes in at most alpha of all studies.

Three standard errors above alpha = 0.05 are allowed for the number of rounds; the seeds are fixed,
so a failure does not come and go. `scripts/simulate_verdicts.py` does more of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.evidence import mean_in_band
from dlbench.studies.judging import Word, verdicts_on
from scripts.simulate_false_alarms import ALPHA, DRAWS, allowed
from scripts.simulate_verdicts import CLAIMS, STUDY, TRUTHS, simulated, wrongly_judged

ROUNDS = 120


HARDEST = [("alike", "normal noise"), ("edge", "heavy tails"), ("edge", "failures")]
OTHERS = [(truth, noise) for truth in TRUTHS for noise in DRAWS if (truth, noise) not in HARDEST]


@pytest.mark.parametrize(
    ("truth", "noise"),
    [*HARDEST, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_wrong_verdicts_stay_within_alpha(truth: str, noise: str) -> None:
    assert wrongly_judged(TRUTHS[truth], DRAWS[noise], 10, ROUNDS) <= allowed(ROUNDS)


def decided(away: float, repeats: int, rounds: int) -> dict[str, float]:
    """How often each claim gets a verdict at all where contenders lie so far apart."""
    rng = np.random.default_rng([1, repeats])
    counts = dict.fromkeys((claim.id for claim in CLAIMS), 0)
    for _ in range(rounds):
        runs = simulated(away, DRAWS["normal noise"], repeats, rng)
        verdicts, _family = verdicts_on(STUDY, runs, CLAIMS, ALPHA)
        for claim, verdict in zip(CLAIMS, verdicts, strict=True):
            counts[claim.id] += verdict.word is not Word.CANNOT_TELL
    return {name: n / rounds for name, n in counts.items()}


def test_verdicts_are_given_where_the_truth_is_clear() -> None:
    """A judge who never decides is never wrong: with 12 repeats most claims are decided."""
    shares = decided(8.0, 12, 10)
    for number in ("01", "02", "55", "56"):
        assert shares[f"elshawi2021-{number}"] >= 0.8, number


def test_a_magnitude_is_judged_wrongly_within_alpha() -> None:
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(2000):
        ours, theirs = rng.normal(0, 1, 8), rng.normal(0, 1, 5).mean()
        # the band's end is where their mean was drawn: nothing may be decided
        evidence, _, _ = mean_in_band(list(ours), theirs, theirs + 50, 5)
        wrong += evidence.p <= 0.05
    assert wrong / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
