"""What a number of runs can show, and Holm's correction."""

from __future__ import annotations

import pytest

from dlbench.statistics.sample_size import (
    SampleSize,
    choose_test,
    fewest_repeats,
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
    # Below five runs one noisy group would be told from a quiet one too often.
    assert least_p_unpaired(4, 40) == 1
    assert least_p_unpaired(5, 5) == pytest.approx(2 * 2 / 252)
    assert least_p_unpaired(6, 6) == pytest.approx(2 / 924)
    assert least_p_unpaired(0, 4) == 1
    assert runs_needed(0.05) == 5
    assert runs_needed(0.05, 15) == 6


@pytest.mark.parametrize(("contenders", "repeats"), [(2, 5), (3, 5), (4, 6), (10, 7), (1000, 14)])
def test_so_few_repeats_can_show_a_difference(contenders: int, repeats: int) -> None:
    comparisons = contenders * (contenders - 1) // 2
    assert fewest_repeats(0.05, comparisons) == repeats


def test_the_test_is_chosen_from_counts() -> None:
    assert choose_test(6, (6, 6), 1, 0.05).paired
    by_rank = choose_test(10, (10, 12), 45, 0.05)
    assert by_rank.runs == (10, 12) and by_rank.enough
    few = choose_test(3, (3, 3), 1, 0.05)
    assert few.paired and not few.enough and few.needed == 5
    alone = choose_test(0, (9, 9), 1, 0.05)
    assert alone.runs == (9, 9)


def test_the_sentences_say_so() -> None:
    few = SampleSize((4,), 1, 0.05)
    assert few.sentence == "4 runs of each cannot show any difference: 5 of each are needed."
    assert few.test == ""
    assert few.details == "The least p that 4 runs of each can reach is 0.125; needed: 0.05."
    enough = SampleSize((10,), 15, 0.05)
    assert enough.sentence == "10 runs of each can show a difference."
    assert enough.test == (
        "Runs of the same round and seed are compared with each other (signed ranks)."
    )
    assert enough.details.endswith("needed: 0.05/15 = 0.00333.")
    unpaired = choose_test(10, (10, 12), 45, 0.05)
    assert unpaired.sentence == "10 and 12 runs can show a difference."
    assert unpaired.test == (
        "All runs are ranked together, without pairs (Mann and Whitney): 10 pairs could not show"
        " a difference in 45 comparisons at once."
    )
    assert choose_test(0, (9, 9), 1, 0.05).test.endswith(
        "too few have a partner in the same round of the same campaign."
    )


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 and never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    assert holm([0.7, 0.8]) == (1.0, 1.0)
