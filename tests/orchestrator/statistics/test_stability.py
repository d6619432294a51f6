"""Unsteady measurements are found and said; steady ones are left in peace."""

from __future__ import annotations

import numpy as np
import pytest

from dlbench.statistics.stability import (
    Concern,
    StepSummary,
    noisy_machine,
    outlying_trials,
    steps_of_trial,
    theil_sen,
    trial_outliers,
)


def steps(n: int = 500, seed: int = 0, spread: float = 0.03) -> np.ndarray:
    return 10 * np.exp(np.random.default_rng(seed).normal(0, spread, size=n))


def concerns(values: np.ndarray) -> list[Concern]:
    return [finding.concern for finding in steps_of_trial(values)]


def test_warm_up_that_had_not_ended() -> None:
    values = steps()
    values[:60] *= 1.2
    (finding,) = steps_of_trial(values)
    assert finding.concern is Concern.WARM_UP
    assert finding.size == pytest.approx(0.2, abs=0.03)
    assert finding.sentence.startswith("The first 60 of 500 steady steps are 20")
    assert finding.sentence.endswith("slower than the rest: the warm-up had not ended.")


def test_throttling_and_where_it_began() -> None:
    values = steps()
    values[360:] *= 1.2
    (finding,) = steps_of_trial(values)
    assert finding.concern is Concern.THROTTLING
    began = int(finding.sentence.split()[3])
    assert abs(began - 360) <= 20
    assert "steps take" in finding.sentence and "throttling" in finding.sentence


@pytest.mark.parametrize(("end", "way"), [(1.2, "longer"), (0.8, "shorter")])
def test_slow_drift(end: float, way: str) -> None:
    (finding,) = steps_of_trial(steps() * np.linspace(1, end, 500))
    assert finding.concern is Concern.DRIFT
    assert finding.size == pytest.approx(end - 1, abs=0.04)
    assert way in finding.sentence


def test_outliers_that_cost_time() -> None:
    values = steps()
    values[::50] *= 4
    (finding,) = steps_of_trial(values)
    assert finding.concern is Concern.OUTLIERS
    assert finding.sentence.startswith("10 steps of 500 stick out, up to 4")
    values = steps()
    values[100] *= 40
    assert "1 step of 500 sticks out, up to 4" in steps_of_trial(values)[0].sentence
    values = steps()
    values[100] *= 4
    # One slow step in 500 costs less than one per cent: not worth a word.
    assert concerns(values) == []


def test_two_levels() -> None:
    values = steps()
    values[np.random.default_rng(1).random(500) < 0.3] *= 1.5
    (finding,) = steps_of_trial(values)
    assert finding.concern is Concern.MODES
    assert finding.size == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: 10 * np.exp(rng.normal(0, 0.05, size=300)),
        lambda rng: 10 + rng.exponential(1, size=300),
        lambda rng: 10 + 2 * rng.random(300),
        lambda rng: 10 * np.exp(0.03 * rng.standard_t(3, size=300)),
        lambda rng: 10 * np.exp(rng.normal(0, 0.1, size=40)),
    ],
    ids=["even", "skewed", "uniform", "heavy tails", "few"],
)
def test_steady_trials_are_left_in_peace(noise: object) -> None:
    rng = np.random.default_rng(3)
    warned = sum(bool(steps_of_trial(noise(rng))) for _ in range(300))  # type: ignore[operator]
    # At most 1 % by design, plus three standard errors of 300 rounds.
    assert warned / 300 <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / 300)


def test_equal_steps_few_steps_and_no_steps(recwarn: pytest.WarningsRecorder) -> None:
    assert steps_of_trial(np.full(200, 5.0)) == ()
    assert steps_of_trial([1.0, 2.0]) == ()
    assert steps_of_trial([]) == ()
    assert steps_of_trial([float("nan")] * 30) == ()
    assert not recwarn.list


def test_theil_sen_ignores_a_wild_point() -> None:
    line = 3.0 * np.arange(11)
    line[4] = 1000
    assert theil_sen(line) == pytest.approx(3)


def test_trials_that_stick_out_are_named() -> None:
    values = [10.0, 10.1, 9.9, 10.05, 9.95, 20.0]
    finding = trial_outliers(values, [f"t{i}" for i in range(6)])
    assert finding is not None
    assert finding.sentence == "t5 (20) sticks out from the median of 10.03."
    assert trial_outliers(values[:5], [f"t{i}" for i in range(5)]) is None
    # Deterministic results with one exception.
    odd = trial_outliers([0.9] * 9 + [0.8], [f"t{i}" for i in range(10)])
    assert odd is not None and odd.sentence.startswith("t9 (0.8)")
    assert trial_outliers([0.9] * 10, [f"t{i}" for i in range(10)]) is None


def test_a_noisy_machine_is_told_from_noisy_steps() -> None:
    rng = np.random.default_rng(4)
    calm = [StepSummary(10 * np.exp(rng.normal(0, 0.002)), 0.2, 400) for _ in range(8)]
    assert noisy_machine(calm) == ()
    restless = [StepSummary(10 * np.exp(rng.normal(0, 0.15)), 0.2, 400) for _ in range(8)]
    (finding,) = noisy_machine(restless)
    assert finding.concern is Concern.NOISY_MACHINE
    assert "something other than the workload changed between trials" in finding.sentence
    jittery = [StepSummary(10 * np.exp(rng.normal(0, 0.01)), 3.0, 400) for _ in range(8)]
    assert [f.concern for f in noisy_machine(jittery)] == [Concern.NOISY_STEPS]
    assert noisy_machine(restless[:2]) == ()


@pytest.mark.parametrize("n", [5, 7, 10, 30])
def test_normal_noise_does_not_stick_out(n: int) -> None:
    rng = np.random.default_rng(n)
    campaigns = 300
    fired = 0
    for _ in range(campaigns):
        groups = np.exp(rng.normal(0, 0.03, (8, n)))
        fired += any(outlying_trials(own, groups=8) for own in groups)
    assert fired / campaigns <= 0.05


def test_several_trials_far_off_are_all_named() -> None:
    values = np.exp(np.random.default_rng(1).normal(0, 0.01, 15))
    values[[3, 8]] *= 2.0
    assert outlying_trials(values, groups=20) == (3, 8)
    found = trial_outliers(values, [f"seed {i}" for i in range(15)], groups=20)
    assert found is not None and found.sentence.startswith("seed 3 (")
    assert "and seed 8 (" in found.sentence and "stick out from the median of 1" in found.sentence
    # What has no number has no place in it.
    values[5] = np.nan
    assert outlying_trials(values) == (3, 8)
    assert outlying_trials([1.0, 1.0, 1.0, 1.0, 1.0, 1.2]) == (5,)
    assert outlying_trials([1.0] * 9) == ()
    assert outlying_trials([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3]) == (), "rounding is no difference"
