"""Change points along releases."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.change_points import HistoryPoint, change_points
from dlbench.statistics.measurements import SCORE


def points(
    levels: list[float], seed: int, runs: int = 5, spread: float = 0.02
) -> list[HistoryPoint]:
    rng = np.random.default_rng(seed)
    return [
        HistoryPoint(f"1.{i}", tuple((level * np.exp(rng.normal(0, spread, size=runs))).tolist()))
        for i, level in enumerate(levels)
    ]


def test_changes_are_found_and_named() -> None:
    first, second = change_points(points([10, 10, 10, 12, 12, 12, 12, 9, 9], 1))
    assert (first.name, first.before, first.until) == ("1.3", ("1.0", "1.2"), "1.6")
    assert first.effect.estimate == pytest.approx(1.2, rel=0.03)
    assert not first.better and second.better
    assert first.sentence.startswith("Since 1.3 it is slower than 1.0 to 1.2 by a factor of 1.")
    assert second.name == "1.7"
    assert "Since 1.7 it is faster than 1.3 to 1.6" in second.sentence


def test_a_single_wild_run_is_no_change() -> None:
    history = points([10] * 8, 2)
    wild = HistoryPoint("1.4", (*history[4].values[:-1], 100.0))
    assert change_points([*history[:4], wild, *history[5:]]) == ()


def test_short_histories_and_equal_values(recwarn: pytest.WarningsRecorder) -> None:
    assert change_points([]) == ()
    assert change_points(points([10], 4)) == ()
    same = [HistoryPoint(str(i), (0.9,) * 5) for i in range(6)]
    assert change_points(same, SCORE) == ()
    empty = [*points([10, 10, 10, 12, 12, 12], 5), HistoryPoint("none", (float("nan"),))]
    assert [c.name for c in change_points(empty)] == ["1.3"]
    assert not recwarn.list


@pytest.mark.parametrize("runs", [1, 5])
def test_no_change_is_rarely_taken_for_one(runs: int) -> None:
    rng = np.random.default_rng(6)
    rounds = 200
    wrong = 0
    for _ in range(rounds):
        history = [
            HistoryPoint(str(i), tuple(rng.exponential(size=runs).tolist())) for i in range(10)
        ]
        wrong += bool(change_points(history))
    assert wrong / rounds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / rounds)


def test_several_histories_share_one_alpha() -> None:
    rng = np.random.default_rng(8)
    rounds, frameworks = 120, 5
    wrong = 0
    for _ in range(rounds):
        wrong += any(
            change_points(
                [HistoryPoint(str(i), tuple(rng.exponential(size=5).tolist())) for i in range(6)],
                together=frameworks,
            )
            for _ in range(frameworks)
        )
    assert wrong / rounds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / rounds)


def test_a_real_change_brings_no_false_ones() -> None:
    rng = np.random.default_rng(9)
    rounds, found, wrong = 150, 0, 0
    for _ in range(rounds):
        levels = [1.0] * 4 + [3.0] * 4 + [9.0] * 4
        history = [
            HistoryPoint(str(i), tuple((level * np.exp(rng.normal(0, 0.2, size=5))).tolist()))
            for i, level in enumerate(levels)
        ]
        named = {change.name for change in change_points(history)}
        found += named >= {"4", "8"}
        wrong += bool(named - {"4", "8"})
    assert found == rounds
    assert wrong / rounds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / rounds)


def test_the_limit_for_many_runs_agrees_with_shuffling() -> None:
    rng = np.random.default_rng(7)
    rounds = 100
    wrong = 0
    for _ in range(rounds):
        history = [HistoryPoint(str(i), tuple((1 + rng.random(210)).tolist())) for i in range(10)]
        wrong += bool(change_points(history))
    assert 0 < wrong / rounds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / rounds)


def test_a_small_change_is_found_where_runs_scatter_less() -> None:
    history = points([10] * 5 + [10.3] * 5, 3, spread=0.002)
    assert len(change_points(history)) == 1


def test_changes_within_the_margin_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    history = [
        HistoryPoint(f"1.{i}", tuple((level * np.exp(rng.normal(0, 0.002, 8))).tolist()))
        for i, level in enumerate((1.0, 1.0, 1.015, 1.015, 1.2))
    ]
    assert [change.name for change in change_points(history)] == ["1.2", "1.4"]
    assert [change.name for change in change_points(history, margin=1.05)] == ["1.4"]
    assert "p " not in change_points(history)[0].sentence
    assert change_points(history)[0].details.startswith("ranks of ")
