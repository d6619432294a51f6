"""What a number of runs can show, and Holm's correction."""

from __future__ import annotations

import pytest

from dlbench.statistics.sample_size import (
    SampleSize,
    holm,
    least_p,
    least_p_unpaired,
    pairs_needed,
    runs_needed,
)


def test_five_pairs_cannot_reach_0_05_six_can_and_15_comparisons_need_10() -> None:
    assert least_p(5) == 0.0625
    assert least_p(6) == 0.03125
    assert pairs_needed(0.05) == 6
    assert pairs_needed(0.05, 15) == 10
    assert pairs_needed(0.01) == 8


def test_unpaired_runs() -> None:
    assert least_p_unpaired(3, 3) == pytest.approx(0.1)
    assert least_p_unpaired(4, 4) == pytest.approx(2 / 70)
    assert least_p_unpaired(1, 1) == 1
    assert least_p_unpaired(0, 4) == 1
    assert runs_needed(0.05) == 4
    assert runs_needed(0.05, 15) == 6


def test_the_sentences_say_so() -> None:
    few = SampleSize((5,), 1, 0.05).sentence
    assert few == (
        "With 5 pairs the least p is 0.0625, above 0.05: "
        "no difference can be shown, 6 pairs are needed."
    )
    family = SampleSize((9,), 15, 0.05)
    assert not family.enough
    assert "10 pairs are needed" in family.sentence
    assert SampleSize((10,), 15, 0.05).enough
    assert "4 runs on either side are needed" in SampleSize((3, 3), 1, 0.05).sentence


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 and never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    assert holm([0.7, 0.8]) == (1.0, 1.0)
