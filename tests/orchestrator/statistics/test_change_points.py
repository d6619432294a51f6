"""Change points along releases, and conditions that fail a build."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.errors import UserError
from dlbench.statistics.change_points import HistoryPoint, change_points
from dlbench.statistics.measurements import LOSS, SCORE, TIME, Measurements
from dlbench.statistics.thresholds import (
    Threshold,
    ThresholdCheck,
    ThresholdOutcome,
    check_thresholds,
    parse_threshold,
)


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


def test_small_changes_can_be_left_out() -> None:
    history = points([10] * 5 + [10.3] * 5, 3, spread=0.002)
    assert len(change_points(history)) == 1


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


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("step_ms > 1.05", Threshold("step_ms", ">", 1.05)),
        ("step_ms>+5%", Threshold("step_ms", ">", 1.05)),
        ("accuracy < -0.01", Threshold("accuracy", "<", -0.01)),
        (" peak.memory >= 2 ", Threshold("peak.memory", ">=", 2.0)),
        ("x <= 1e-3", Threshold("x", "<=", 0.001)),
    ],
)
def test_conditions_are_read(text: str, condition: Threshold) -> None:
    assert parse_threshold(text) == condition


@pytest.mark.parametrize("text", ["", "step_ms", "step_ms = 1", "> 1.05", "step_ms > fast"])
def test_what_is_no_condition_is_said(text: str) -> None:
    with pytest.raises(UserError, match="is not a condition") as caught:
        parse_threshold(text)
    assert "step_ms > 1.05" in caught.value.remedy


def test_percents_are_what_the_metric_makes_of_them() -> None:
    assert parse_threshold("step_ms > 5%").on(TIME).bound == 1.05
    assert parse_threshold("accuracy < -5%").on(SCORE).bound == -0.05
    for text, kind in (("accuracy < 0.99", SCORE), ("step_ms > -0.05", TIME)):
        with pytest.raises(UserError, match="means nothing"):
            parse_threshold(text).on(kind)


def runs(level: float, seed: int, n: int = 8, spread: float = 0.01) -> Measurements:
    noise = np.random.default_rng(seed).normal(0, spread, size=n)
    return Measurements(tuple((level * np.exp(noise)).tolist()), tuple(range(n)))


SLOWER = parse_threshold("step_ms > 1.05")


def test_a_regression_fails_with_a_reason() -> None:
    (found,) = check_thresholds(
        [ThresholdCheck(SLOWER, runs(10, 1), runs(12, 2), name="mxnet@1.3.0")]
    )
    assert found.failed and found.certain
    assert found.sentence.startswith("mxnet@1.3.0: step_ms > 1.05 is met: the ratio to")
    assert "the whole interval lies beyond (p = 0.0078)" in found.sentence


def test_what_is_within_the_bound_passes() -> None:
    (found,) = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1), runs(10.2, 2))])
    assert found.outcome is ThresholdOutcome.NOT_MET and not found.failed
    assert found.sentence.startswith("step_ms > 1.05 is not met: the ratio")
    (faster,) = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1), runs(5, 2))])
    assert faster.outcome is ThresholdOutcome.NOT_MET


def test_noise_beyond_the_bound_is_no_failure() -> None:
    rng = np.random.default_rng(0)
    met = 0
    beyond = 0
    for seed in rng.integers(1_000_000, size=150).tolist():
        noisy = runs(10, seed, spread=0.2), runs(10, seed + 1, spread=0.2)
        (found,) = check_thresholds([ThresholdCheck(SLOWER, *noisy)])
        beyond += found.outcome is not ThresholdOutcome.NOT_MET
        met += found.failed
        if found.outcome is ThresholdOutcome.NOT_SHOWN:
            assert "which may be chance" in found.sentence
    assert beyond / 150 > 0.2, "the estimate alone would have cried wolf"
    assert met / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_too_few_runs_cannot_decide() -> None:
    (found,) = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1, 3), runs(20, 2, 3))])
    assert found.outcome is ThresholdOutcome.TOO_FEW and not found.failed
    assert "cannot be decided" in found.sentence and "6 pairs are needed" in found.sentence


def test_many_conditions_share_alpha() -> None:
    one = ThresholdCheck(SLOWER, runs(10, 1, 7), runs(12, 2, 7))
    assert check_thresholds([one])[0].failed
    calm = [ThresholdCheck(SLOWER, runs(10, 3, 7), runs(10, 4, 7))] * 9
    assert check_thresholds([one, *calm])[0].outcome is ThresholdOutcome.TOO_FEW


def test_an_improvement_can_be_asked_for() -> None:
    asked = parse_threshold("step_ms > 0.9")
    (same,) = check_thresholds([ThresholdCheck(asked, runs(10, 1), runs(10, 2))])
    assert same.failed, "the same speed is shown to be slower than 0.9 of it"
    (better,) = check_thresholds([ThresholdCheck(asked, runs(10, 1), runs(8, 2))])
    assert better.outcome is ThresholdOutcome.NOT_MET


def test_accuracy_by_difference() -> None:
    base = Measurements((0.90, 0.91, 0.92, 0.90, 0.91, 0.92), tuple(range(6)))
    lost = Measurements((0.87, 0.88, 0.90, 0.86, 0.88, 0.89), tuple(range(6)))
    (found,) = check_thresholds(
        [ThresholdCheck(parse_threshold("accuracy < -0.01"), base, lost, SCORE)]
    )
    assert found.failed and "the difference to the baseline is -0.03" in found.sentence
    (loss,) = check_thresholds([ThresholdCheck(parse_threshold("loss > 0.01"), base, base, LOSS)])
    assert loss.outcome is ThresholdOutcome.NOT_MET


def test_what_is_not_comparable_is_not_checked() -> None:
    other = Measurements(runs(12, 2).values, runs(12, 2).keys, machine="another")
    (found,) = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1), other)])
    assert found.outcome is ThresholdOutcome.NOT_COMPARABLE and not found.failed
    said = "step_ms > 1.05 cannot be checked against the baseline: different machine."
    assert found.sentence == said
