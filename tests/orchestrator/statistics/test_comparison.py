"""What is said of groups: each outcome, its exact words, and what keeps groups apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from dlbench.statistics.comparison import Comparison, compare
from dlbench.statistics.measurements import (
    LOSS,
    MEMORY,
    SCORE,
    THROUGHPUT,
    TIME,
    Kind,
    Measurements,
    Reason,
)
from dlbench.statistics.verdicts import Decision


def runs(middle: float, n: int, seed: int, spread: float = 0.03, **more: object) -> Measurements:
    noise = np.random.default_rng(seed).normal(0, spread, size=n)
    values = tuple((middle * np.exp(noise)).tolist())
    return Measurements(values, tuple(range(n)), **more)  # type: ignore[arg-type]


def test_faster_by_a_factor_with_its_interval() -> None:
    found = compare({"torch": runs(10, 8, 1), "mxnet": runs(14, 8, 2)})
    verdict = found.between("torch", "mxnet")
    assert verdict.decision is Decision.BETTER
    assert re.fullmatch(
        r"torch is faster than mxnet by a factor of 1\.\d\d \[1\.\d\d, 1\.\d\d\]\.",
        verdict.sentence,
    )
    assert verdict.effect is not None and verdict.effect.interval is not None
    assert verdict.effect.interval.holds(10 / 14)
    assert found.answer.startswith("torch is fastest: faster than mxnet by a factor of 1.")
    assert found.sentence.endswith(" 8 runs of each can show a difference.")
    assert verdict.details == "signed ranks, 8 runs of each: p = 0.0078"


@pytest.mark.parametrize(
    ("kind", "decision"),
    [(TIME, Decision.BETTER), (MEMORY, Decision.BETTER), (THROUGHPUT, Decision.WORSE)],
)
def test_less_is_better_or_worse_by_the_metrics_kind(kind: Kind, decision: Decision) -> None:
    found = compare({"a": runs(1, 10, 1), "b": runs(2, 10, 2)}, kind)
    assert found.between("a", "b").decision is decision
    assert found.ranking[0] == ("a" if decision is Decision.BETTER else "b")


def test_accuracies_are_compared_by_their_difference() -> None:
    a = Measurements((0.91, 0.92, 0.90, 0.91, 0.93, 0.92), tuple(range(6)))
    b = Measurements((0.88, 0.90, 0.87, 0.89, 0.90, 0.88), tuple(range(6)))
    verdict = compare({"a": a, "b": b}, SCORE).between("a", "b")
    assert verdict.decision is Decision.BETTER
    assert verdict.effect is not None
    assert verdict.effect.estimate == pytest.approx(np.mean(a.values) - np.mean(b.values))
    assert "a is better than b by 0.03 [" in verdict.sentence
    assert compare({"a": a, "b": b}, LOSS).between("a", "b").decision is Decision.WORSE


def test_four_pairs_are_too_few_and_that_is_not_no_difference() -> None:
    found = compare({"a": runs(1, 4, 1), "b": runs(3, 4, 2)})
    verdict = found.between("a", "b")
    assert verdict.decision is Decision.TOO_FEW
    assert verdict.sentence.startswith(
        "There are too few runs to tell a and b apart: 4 runs of each, 5 are needed; so far the"
    )
    assert found.sentence.endswith(
        "4 runs of each cannot show any difference: 5 of each are needed."
    )
    assert "None is shown to be fastest" in found.answer


@pytest.mark.parametrize(
    ("groups", "n", "paired"),
    [(2, 5, False), (2, 6, True), (6, 6, False), (6, 9, False), (6, 10, True), (10, 10, False)],
)
def test_the_test_is_the_one_that_can_show_something(groups: int, n: int, paired: bool) -> None:
    found = compare({str(i): runs(1.3**i, n, i) for i in range(groups)})
    assert all(v.different for v in found.verdicts)
    assert all(v.effect is not None and v.effect.paired is paired for v in found.verdicts)
    assert ("signed ranks" in found.test_sentence) is paired
    assert ("could not show a difference in" in found.test_sentence) is not paired


def test_six_groups_of_five_runs_are_too_few() -> None:
    found = compare({str(i): runs(1 + i, 5, i) for i in range(6)})
    assert all(v.decision is Decision.TOO_FEW for v in found.verdicts)
    assert found.test_sentence == ""


def test_not_shown_to_differ() -> None:
    verdict = compare({"a": runs(1, 10, 1), "b": runs(1, 10, 2)}).between("a", "b")
    assert verdict.decision is Decision.NOT_SHOWN
    assert verdict.sentence.startswith("a and b are not shown to differ: the ratio of medians of a")


def test_equivalent_only_inside_a_stated_margin() -> None:
    groups = {"a": runs(1, 12, 1, 0.005), "b": runs(1.002, 12, 2, 0.005)}
    assert compare(groups).between("a", "b").decision is Decision.NOT_SHOWN
    found = compare(groups, margin=1.05).between("a", "b")
    assert found.decision is Decision.EQUIVALENT
    assert "a and b are equivalent within a factor of 1.05" in found.sentence
    wide = {"a": runs(1, 12, 1, 0.2), "b": runs(1, 12, 2, 0.2)}
    assert compare(wide, margin=1.05).between("a", "b").decision is Decision.NOT_SHOWN


def test_a_resolved_difference_inside_the_margin_is_equivalent() -> None:
    groups = {"a": runs(1, 20, 1, 0.001), "b": runs(1.01, 20, 2, 0.001)}
    assert compare(groups).between("a", "b").different
    assert compare(groups, margin=1.05).between("a", "b").decision is Decision.EQUIVALENT


def test_deterministic_accuracies(recwarn: pytest.WarningsRecorder) -> None:
    same = Measurements((0.9,) * 8, tuple(range(8)))
    other = Measurements((0.8,) * 8, tuple(range(8)))
    found = compare({"a": same, "b": same, "c": other}, SCORE)
    assert found.between("a", "b").decision is Decision.NOT_SHOWN
    assert found.between("a", "c").decision is Decision.BETTER
    assert "a is better than c by 0.10 [0.10, 0.10]" in found.between("a", "c").sentence
    near = compare({"a": same, "b": same}, SCORE, margin=0.01)
    assert near.between("a", "b").decision is Decision.EQUIVALENT
    assert compare({"a": same, "b": same}, margin=1.05).verdicts[0].decision is Decision.EQUIVALENT
    assert not recwarn.list


def test_small_constant_differences_are_not_rounded_away() -> None:
    a = Measurements((0.9,) * 6, tuple(range(6)))
    b = Measurements((0.8996,) * 6, tuple(range(6)))
    verdict = compare({"a": a, "b": b}, SCORE).between("a", "b")
    assert verdict.sentence == "a is better than b by 0.0004 [0.0004, 0.0004]."


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_runs_each(n: int, recwarn: pytest.WarningsRecorder) -> None:
    for keys in (tuple(range(n)), None):
        groups = {name: Measurements((1.0, 1.5)[:n], keys) for name in "ab"}
        for kind in (TIME, SCORE):
            found = compare(groups, kind, margin=1.05 if kind is TIME else 0.01)
            assert found.verdicts[0].decision is Decision.TOO_FEW
            assert found.verdicts[0].sentence.startswith("There are too few runs")
    assert not recwarn.list


def test_loading_the_statistics_does_not_load_scipy() -> None:
    # It takes most of a second, which every command would pay.
    code = "import sys, dlbench.statistics; print('scipy' in sys.modules)"
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", code], env=paths, capture_output=True, check=True)
    assert said.stdout.split() == [b"False"]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("certified", False, Reason.UNCERTIFIED),
        ("complete", False, Reason.TRUNCATED),
        ("data", "other", Reason.DATA),
        ("machine", "other", Reason.MACHINE),
        ("scale", "3 epochs", Reason.SCALE),
    ],
)
def test_what_is_not_comparable_is_never_tested(field: str, value: object, reason: Reason) -> None:
    found = compare(
        {"a": runs(1, 10, 1), "b": runs(2, 10, 2), "x": runs(1, 10, 3, **{field: value})}
    )
    verdict = found.between("a", "x")
    assert verdict.decision is Decision.NOT_COMPARABLE and verdict.reasons == (reason,)
    assert verdict.sentence == f"a and x are not comparable: {reason.value}."
    # It takes no part in the correction either.
    assert len(found.tested) == 1
    assert found.between("a", "b").size is not None
    assert found.between("a", "b").size.comparisons == 1  # type: ignore[union-attr]
    assert reason.value in found.answer


def test_zero_has_no_ratio() -> None:
    found = compare({"a": Measurements((0.0, 1.0, 2.0)), "b": Measurements((1.0, 1.0, 2.0))})
    assert found.set_apart == {"a": (Reason.NOT_POSITIVE,)}


def test_groups_without_numbers() -> None:
    nan = float("nan")
    found = compare({"a": Measurements((nan, nan)), "b": runs(1, 6, 1)})
    assert found.set_apart == {"a": (Reason.EMPTY,)}
    assert found.answer == "There is nothing to compare b with. a is not ranked: no values."
    assert found.sample_size_sentence == "There is nothing to test: no two groups are comparable."


def test_runs_are_paired_by_seed_whatever_their_order() -> None:
    a = Measurements((1.0, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6))
    b = Measurements((6.6, 5.5, 4.4, 3.3, 2.2, 1.1), (6, 5, 4, 3, 2, 1))
    verdict = compare({"a": a, "b": b}).between("a", "b")
    assert verdict.effect is not None and verdict.effect.paired
    assert verdict.decision is Decision.BETTER


def test_runs_without_a_partner_are_left_out_and_said() -> None:
    a, b = runs(1, 8, 1), runs(2, 8, 2)
    gap = Measurements((*b.values[:7], float("nan")), b.keys)
    verdict = compare({"a": a, "b": gap}).between("a", "b")
    assert verdict.left_out == (1, 0)
    assert verdict.sentence.endswith("(1 run without a partner left out).")


def test_groups_with_few_common_seeds_are_not_paired() -> None:
    a = runs(1, 8, 1)
    b = Measurements(runs(2, 8, 2).values, tuple(range(6, 14)))
    verdict = compare({"a": a, "b": b}).between("a", "b")
    assert verdict.effect is not None and not verdict.effect.paired
    assert verdict.size is not None and verdict.size.runs == (8, 8)
    assert verdict.decision is Decision.BETTER


def test_a_seed_that_comes_twice_is_two_pairs() -> None:
    a = Measurements((1.0, 1.1, 1.2, 1.0, 1.1, 1.2), (1, 2, 3, 1, 2, 3))
    b = Measurements((2.0, 2.1, 2.2, 2.0, 2.1, 2.2), (1, 2, 3, 1, 2, 3))
    assert compare({"a": a, "b": b}).between("a", "b").decision is Decision.BETTER


def test_a_baseline_is_compared_with_everything_and_nothing_else() -> None:
    groups = {"old": runs(1, 8, 1), "new": runs(1.5, 8, 2), "newer": runs(2, 8, 3)}
    found = compare(groups, baseline="old")
    assert [(v.first, v.second) for v in found.verdicts] == [("new", "old"), ("newer", "old")]
    assert all(v.decision is Decision.WORSE for v in found.verdicts)


def test_the_answer_names_what_is_not_shown() -> None:
    groups = {"a": runs(1, 10, 1), "b": runs(1, 10, 2), "c": runs(2, 10, 3)}
    said = compare(groups).answer
    best = compare(groups).ranking[0]
    assert said.startswith(f"{best} is faster than c by a factor of")
    assert f"{best} is not shown to differ from" in said
    assert "fastest" not in said


def test_two_machines_get_an_answer_each() -> None:
    groups = {
        "a": runs(1, 8, 1, machine="m"),
        "b": runs(2, 8, 2, machine="m"),
        "c": runs(1, 8, 3, machine="n"),
        "d": runs(3, 8, 4, machine="n"),
    }
    said = compare(groups).answer
    assert "a is fastest: faster than b" in said
    assert "c is fastest: faster than d" in said
    assert said.endswith("These are not compared with each other: different machine.")


def test_the_same_data_give_the_same_report() -> None:
    groups = {"a": runs(1, 9, 1), "b": runs(1.2, 9, 2)}
    assert compare(groups, margin=1.05) == compare(groups, margin=1.05)


def test_a_run_that_failed_is_worse_than_any_that_finished() -> None:
    nan = float("nan")
    half = (*runs(9, 10, 1, 0.01).values, *[nan] * 10)
    fast = Measurements(half, tuple(range(20)), (True,) * 10 + (False,) * 10)
    sure = runs(10, 20, 2, 0.01)
    found = compare({"fast": fast, "sure": sure})
    assert found.ranking == ("sure", "fast"), "half of its runs failed"
    assert "fastest" not in found.answer.replace("None is shown to be fastest", "")
    assert found.answer.startswith("fast: 10 of 20 runs failed (counted as worse than any that")
    verdict = found.between("fast", "sure")
    assert verdict.effect is not None
    assert verdict.effect.estimate == pytest.approx(0.9, abs=0.01), "of the runs that finished"
    assert "among the runs that finished (failed: fast: 10 runs)" in verdict.sentence


@pytest.mark.parametrize("kind", [TIME, THROUGHPUT, SCORE, LOSS])
@pytest.mark.parametrize("keys", [tuple(range(20)), None])
def test_failing_more_often_is_worse_on_every_metric(
    kind: Kind, keys: tuple[int, ...] | None, recwarn: pytest.WarningsRecorder
) -> None:
    level = 0.9 if kind.less_is_better else 1.1  # those that finish look better
    values = tuple(x if i < 4 else float("nan") for i, x in enumerate(runs(level, 20, 1).values))
    weak = Measurements(values, keys, tuple(i < 4 for i in range(20)))
    found = compare({"weak": weak, "sure": Measurements(runs(1, 20, 2).values, keys)}, kind)
    verdict = found.verdicts[0]
    assert verdict.decision is Decision.WORSE
    assert "runs that failed count as worse than any that finished (weak: 16 runs)" in (
        verdict.sentence
    )
    assert found.ranking == ("sure", "weak")
    assert " by a factor" not in found.answer, "it lost by failing, not by its speed"
    assert not recwarn.list


def test_failures_without_a_partner_are_not_left_out() -> None:
    failed = Measurements(
        (*runs(0.9, 10, 1).values, *[float("nan")] * 10),
        tuple(range(100, 110)) + tuple(range(200, 210)),
        (True,) * 10 + (False,) * 10,
    )
    other = Measurements(runs(1, 20, 2).values, tuple(range(100, 120)))
    verdict = compare({"a": failed, "b": other}).verdicts[0]
    assert verdict.effect is not None and verdict.effect.failed == (10, 0)
    assert verdict.left_out == (0, 0)


def test_training_that_ends_in_no_number_has_failed() -> None:
    nan = float("nan")
    accuracies = (*[0.99] * 5, *[nan] * 15)
    found = compare(
        {"a": Measurements(accuracies, tuple(range(20))), "b": runs(0.9, 20, 1, 0.001)}, SCORE
    )
    assert found.failures == {"a": (15, 20)}
    assert found.verdicts[0].decision is Decision.WORSE
    # A time that is no number is a damaged reading, and is left out.
    times = compare({"a": Measurements(accuracies, tuple(range(20))), "b": runs(1, 20, 1)})
    assert times.failures == {} and times.summaries["a"].not_numbers == 15


def test_only_runs_of_one_session_are_compared_where_there_are_such() -> None:
    both = Measurements(
        (*runs(1, 8, 1).values, *runs(3, 8, 2).values),
        tuple(("x", i) for i in range(8)) + tuple(("y", i) for i in range(8)),
        sessions=("x",) * 8 + ("y",) * 8,
    )
    other = Measurements(
        runs(1.5, 8, 3).values, tuple(("x", i) for i in range(8)), sessions=("x",) * 8
    )
    verdict = compare({"both": both, "other": other}).verdicts[0]
    assert verdict.decision is Decision.BETTER, "3 was measured on another day"
    assert verdict.left_out == (8, 0) and not verdict.apart
    elsewhere = Measurements(
        runs(1.5, 8, 3).values, tuple(("z", i) for i in range(8)), sessions=("z",) * 8
    )
    apart = compare({"both": both, "other": elsewhere})
    assert apart.verdicts[0].apart
    assert "Not measured in the same campaign: part of it may come from the day" in (
        apart.verdicts[0].sentence
    )
    assert "Not all of these were measured in the same campaign" in apart.answer


def test_very_many_groups_are_compared_with_the_best() -> None:
    rng = np.random.default_rng(1)
    groups = {
        f"g{i}": Measurements(tuple((1.01**i * np.exp(rng.normal(0, 0.01, 14))).tolist()))
        for i in range(150)
    }
    found = compare(groups)
    assert len(found.verdicts) == 149
    assert found.unlisted == 150 * 149 // 2 - 149
    assert "11,175 pairs are too many to list" in found.sample_size_sentence
    last = found.between("g149", found.ranking[0])
    assert last is not None and last.different and last.size is not None
    # The best was chosen from the data: the correction counts the pairs it was chosen from.
    assert last.size.comparisons == 11_175
    assert last.test is not None and last.adjusted == pytest.approx(11_175 * last.test.p)
    assert "others" in found.answer and len(found.answer) < 1_000


def test_few_runs_have_a_range_and_no_interval() -> None:
    three = compare({"a": runs(1, 3, 1), "b": runs(1.5, 3, 2)})
    summary, verdict = three.summaries["a"], three.verdicts[0]
    assert summary.median_interval is not None and summary.median_interval.is_range
    assert (summary.median_interval.low, summary.median_interval.high) == (
        summary.low,
        summary.high,
    )
    assert "range of 3 runs" in summary.sentence and "95 %" not in summary.sentence
    assert verdict.effect is not None and verdict.effect.interval is not None
    assert "in single runs)" in verdict.sentence
    six = compare({"a": runs(1, 6, 1), "b": runs(1.5, 6, 2)})
    assert six.summaries["a"].median_interval is not None
    assert six.summaries["a"].median_interval.name == "95 % interval"


def ten_thousand_trials(families: int, groups: int, n: int) -> list[Comparison]:
    data = [{str(i): runs(10 + i, n, 100 * f + i) for i in range(groups)} for f in range(families)]
    return [compare(family, margin=1.05) for family in data]


def test_cost_grows_no_worse_than_linearly_to_ten_thousand_trials() -> None:
    ten_thousand_trials(1, 10, 20)
    start = time.process_time()
    ten_thousand_trials(5, 10, 20)
    few = time.process_time() - start
    start = time.process_time()
    ten_thousand_trials(50, 10, 20)
    many = time.process_time() - start
    # Ten times the trials; the factor above that is for a busy machine.
    assert many / few < 20
