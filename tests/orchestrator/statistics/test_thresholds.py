"""Conditions that fail a build."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.errors import UserError
from dlbench.statistics.measurements import LOSS, SCORE, TIME, Measurements
from dlbench.statistics.thresholds import (
    Threshold,
    ThresholdCheck,
    ThresholdOutcome,
    check_thresholds,
    parse_threshold,
    worst_exit_code,
)


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
    assert found.sentence.endswith("the whole interval lies beyond.")
    assert found.details == "signed ranks, 8 runs of each: p = 0.0078"


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
    assert (
        "cannot be decided" in found.sentence
        and "3 runs of each, 5 of each are needed" in found.sentence
    )


def test_all_that_a_condition_is_checked_on_shares_alpha() -> None:
    one = ThresholdCheck(SLOWER, runs(10, 1, 6), runs(12, 2, 6))
    assert check_thresholds([one])[0].failed
    calm = [ThresholdCheck(SLOWER, runs(10, 3, 6), runs(10, 4, 6))] * 29
    shared = check_thresholds([one, *calm])
    assert shared[0].outcome is ThresholdOutcome.TOO_FEW
    assert worst_exit_code(shared) == 3


def test_another_condition_takes_nothing_from_the_first() -> None:
    slow = ThresholdCheck(SLOWER, runs(10, 1, 6), runs(12, 2, 6))
    others = [
        ThresholdCheck(parse_threshold(f"other > 1.{i}"), runs(10, 1, 6), runs(10, 4, 6))
        for i in range(1, 9)
    ]
    assert worst_exit_code(check_thresholds([slow])) == 1
    assert worst_exit_code(check_thresholds([slow, *others])) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.2, 3.45])
def test_too_few_runs_never_pass(n: int, factor: float) -> None:
    found = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1, n), runs(10 * factor, 2, n))])
    assert worst_exit_code(found) == 3


def test_what_is_missing_or_broken_never_passes() -> None:
    sound = runs(10, 1)
    nan = float("nan")
    crashed = Measurements((nan,) * 8, finished=(False,) * 8, complete=False)
    uncertified = Measurements(sound.values, sound.keys, certified=False)
    for new, before, code, why in (
        (None, sound, 4, "the new runs do not have it"),
        (sound, None, 4, "the baseline does not have it"),
        (crashed, sound, 5, "the new runs: no run finished"),
        (sound, crashed, 5, "the baseline: no run finished"),
        (uncertified, sound, 5, "the new runs: uncertified"),
    ):
        found = check_thresholds([ThresholdCheck(SLOWER, before, new)])
        assert worst_exit_code(found) == code
        assert found[0].sentence == f"step_ms > 1.05 cannot be checked: {why}."


def test_the_worst_of_several_counts() -> None:
    met = ThresholdCheck(SLOWER, runs(10, 1), runs(12, 2))
    passed = ThresholdCheck(SLOWER, runs(10, 1), runs(10, 2))
    missing = ThresholdCheck(SLOWER, runs(10, 1), None)
    broken = ThresholdCheck(SLOWER, runs(10, 1), Measurements((), complete=False))
    assert worst_exit_code(check_thresholds([passed])) == 0
    assert worst_exit_code(check_thresholds([passed, missing])) == 4
    assert worst_exit_code(check_thresholds([passed, missing, broken])) == 5
    assert worst_exit_code(check_thresholds([broken, missing, met, passed])) == 1
    assert worst_exit_code([]) != 0, "nothing was checked"


@pytest.mark.parametrize("failed", [1, 5, 10])
def test_new_failures_never_pass(failed: int) -> None:
    values = runs(10, 2, 20).values
    new = Measurements(
        tuple(float("nan") if i < failed else x for i, x in enumerate(values)),
        tuple(range(20)),
        tuple(i >= failed for i in range(20)),
    )
    found = check_thresholds([ThresholdCheck(SLOWER, runs(10, 1, 20), new)])
    assert worst_exit_code(found) in (1, 3)
    assert f"(failed: the new runs: {failed} run" in found[0].sentence


def test_exactly_on_the_bound_is_decided_by_the_sign_and_not_by_rounding() -> None:
    # 1.05 times these numbers, divided by them again, is now above and now below 1.05.
    for base in (0.1, 0.7, 1.1, 3.3, 1e-9, 12345.678):
        before = Measurements((base,) * 8, tuple(range(8)))
        new = Measurements((base * 1.05,) * 8, tuple(range(8)))
        for sign, outcome in ((">", ThresholdOutcome.NOT_MET), (">=", ThresholdOutcome.MET)):
            condition = parse_threshold(f"step_ms {sign} 1.05")
            (found,) = check_thresholds([ThresholdCheck(condition, before, new)])
            assert found.outcome is outcome


@pytest.mark.parametrize("text", ["time > 105%", "time > 100%", "time < -100 %", "time > 1e400"])
def test_numbers_that_cannot_be_meant_are_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_threshold(text)
    assert "1.05" in caught.value.remedy


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
    assert found.outcome.exit_code == 3
    said = "cannot be checked: not comparable with the baseline: different machine."
    assert found.sentence == f"step_ms > 1.05 {said}"


def test_training_that_ends_in_no_number_never_passes() -> None:
    nan = float("nan")
    before = Measurements((0.9,) * 20, tuple(range(20)))
    new = Measurements((0.95,) * 12 + (nan,) * 8, tuple(range(20)))
    condition = parse_threshold("accuracy < -0.01")
    (found,) = check_thresholds([ThresholdCheck(condition, before, new, SCORE)])
    assert found.outcome.exit_code in (1, 3)
