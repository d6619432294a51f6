"""The comparison of campaigns on one metric, case by case, and what weakens it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.across_workloads import WorkloadRanking, rank_across_workloads
from dlbench.analysis.groups import Case, cases_of
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.analysis.release_history import ReleaseHistory, release_histories
from dlbench.analysis.steadiness import Steadiness, steadiness, steady_steps
from dlbench.errors import UserError
from dlbench.statistics.comparison import Comparison, compare
from dlbench.statistics.sample_size import SampleSize, holm
from dlbench.statistics.verdicts import Verdict, judge

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

_DRAWS_OF_DESCRIPTION = 1000


@dataclass(frozen=True)
class CaseComparison:
    """One case compared: its statistics, and what is to be said next to them."""

    case: Case
    metric: Metric
    comparison: Comparison
    steadiness: Steadiness
    history: tuple[ReleaseHistory, ...] = ()
    """Frameworks of which three releases or more were measured."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What weakens the numbers, each with the group that it concerns."""
        failed = [f"{g.name}: {g.incomplete}" for g in self.case.groups if g.incomplete]
        return (*failed, *self.steadiness.sentences)

    @property
    def sentence(self) -> str:
        return f"{self.case.label}: {self.comparison.sentence}"


@dataclass(frozen=True)
class CampaignComparison:
    """Everything that can be said of these campaigns on one metric."""

    metric: Metric
    by: str
    alpha: float
    margin: float | None
    cases: tuple[CaseComparison, ...]
    across: tuple[WorkloadRanking, ...]

    @property
    def sentence(self) -> str:
        """The whole answer in words."""
        said = [case.sentence for case in self.cases]
        return "\n".join([*said, *(across.sentence for across in self.across)])

    def groups(self) -> pl.DataFrame:
        """One row a group: n, median and mean with intervals, spread, why it is set apart."""
        rows = []
        for case in self.cases:
            for name, summary in case.comparison.summaries.items():
                apart = case.comparison.set_apart.get(name, ())
                median, mean = summary.median_interval, summary.mean_interval
                rows.append(
                    {
                        "workload": case.case.workload,
                        **dict(case.case.fixed),
                        "group": name,
                        "n": summary.n,
                        "median": summary.median,
                        "median_low": median.low if median else None,
                        "median_high": median.high if median else None,
                        "mean": summary.mean,
                        "mean_low": mean.low if mean else None,
                        "mean_high": mean.high if mean else None,
                        "sd": summary.sd,
                        "iqr": summary.iqr,
                        "set_apart": ", ".join(reason.value for reason in apart) or None,
                    }
                )
        return pl.DataFrame(rows, infer_schema_length=None)

    def pairs(self) -> pl.DataFrame:
        """One row a pair of groups: effect with interval, p, the verdict and its words."""
        rows = []
        for case in self.cases:
            for verdict in case.comparison.verdicts:
                effect, test = verdict.effect, verdict.test
                around = effect.interval if effect else None
                rows.append(
                    {
                        "workload": case.case.workload,
                        **dict(case.case.fixed),
                        "first": verdict.first,
                        "second": verdict.second,
                        "verdict": verdict.decision.value,
                        "estimate": effect.estimate if effect else None,
                        "low": around.low if around else None,
                        "high": around.high if around else None,
                        "shift": effect.shift if effect else None,
                        "cliffs_delta": effect.delta if effect else None,
                        "paired": effect.paired if effect else None,
                        "p": test.p if test else None,
                        "p_holm": verdict.adjusted,
                        "sentence": verdict.sentence,
                    }
                )
        return pl.DataFrame(rows, infer_schema_length=None)


def compare_campaigns(
    results: Results,
    metric: str = "time",
    by: str = "release",
    alpha: float = 0.05,
    margin: float | None = None,
    *,
    stability: bool = True,
) -> CampaignComparison:
    """`margin` is a factor (1.05) for times and sizes, a difference (0.01) for accuracies."""
    trials = results.trials()
    chosen = find_metric(metric, trials.schema)
    _check(alpha, margin, chosen)
    every = cases_of(trials, by, (chosen.column,))
    every = [case for case in every if any(g.measured(chosen) for g in case.groups)]
    if not every:
        raise _nothing(trials, chosen)
    if by != "release":
        compared = [case for case in every if len(case.groups) > 1]
        if not compared:
            only = ", ".join(sorted({group.name for case in every for group in case.groups}))
            raise UserError(
                f"No release was measured with more than one {by} ({only}).",
                f"Compare by another field, or run another {by} too.",
            )
        every = compared
    steps = steady_steps(results.steps()) if stability and chosen.from_steps else None
    cases = tuple(
        CaseComparison(
            case,
            chosen,
            compare(
                {group.name: group.measurements(chosen) for group in case.groups},
                chosen.kind,
                metric=chosen.words,
                alpha=alpha,
                margin=margin,
            ),
            steadiness(case, chosen, steps) if stability else Steadiness(),
            release_histories(case.groups, chosen, alpha) if by == "release" else (),
        )
        for case in every
    )
    cases = _corrected(cases, alpha)
    return CampaignComparison(
        chosen, by, alpha, margin, cases, rank_across_workloads(cases, chosen, alpha)
    )


def describe_case(case: Case, metric: Metric) -> Comparison:
    """Each group against the one with the best middle, where all ran under the same conditions.

    Sizes and intervals only: as many tests as there are metrics would make every answer weaker.
    """
    groups = {group.name: group.measurements(metric) for group in case.groups}
    middle = statistics.fmean if metric.kind.scale == "difference" else statistics.median
    ranked = {
        name: middle(group.values)
        for name, group in groups.items()
        if group.values and group.certified and group.complete
    }
    alike = len({group.conditions for group in case.groups}) == 1
    best = None
    if ranked and alike:
        choose = min if metric.kind.less_is_better else max
        best = choose(ranked, key=lambda name: ranked[name])
    return compare(
        groups, metric.kind, metric=metric.words, baseline=best, draws=_DRAWS_OF_DESCRIPTION
    )


def _nothing(trials: pl.DataFrame, metric: Metric) -> UserError:
    if not len(trials):
        return UserError("No trial has ended yet.", "`dlbench watch DIR` follows a campaign.")
    return UserError(
        f"No trial has a {metric.words}.",
        "Choose another metric, or see with `dlbench show DIR` why all have failed.",
    )


def _check(alpha: float, margin: float | None, metric: Metric) -> None:
    if not 0 < alpha < 1:
        raise UserError(f"An alpha of {alpha:g} is not possible.", "Give one between 0 and 1.")
    if margin is None:
        return
    if not math.isfinite(margin):
        raise UserError(f"A margin of {margin:g} is not possible.", "Give a number, such as 1.05.")
    if metric.kind.scale == "ratio" and margin <= 1:
        raise UserError(
            f"A margin of {margin:g} is not possible: {metric.column} is compared by a factor.",
            "Give a factor above 1, such as 1.05.",
        )
    if margin <= 0:
        raise UserError(f"A margin of {margin:g} is not possible.", "Give a positive difference.")


def _corrected(cases: Sequence[CaseComparison], alpha: float) -> tuple[CaseComparison, ...]:
    """Holm's correction over all comparisons on a workload.

    Compared by device, variant or engine, each release is a case of its own; asked together,
    they are one family of tests all the same.
    """
    members: dict[tuple[object, ...], list[CaseComparison]] = {}
    for case in cases:
        fixed = tuple(pair for pair in case.case.fixed if pair[0] not in ("release", "variant"))
        members.setdefault((case.case.workload, fixed), []).append(case)
    done: dict[int, CaseComparison] = {}
    for together in members.values():
        tested = [v for case in together for v in case.comparison.tested]
        if len(together) < 2 or len(tested) < 2:
            continue
        adjusted = holm([v.test.p if v.test else 1.0 for v in tested])
        near = holm([v.equivalence.p if v.equivalence else 1.0 for v in tested])
        judged = {
            id(verdict): _judged_again(verdict, adjusted[i], near[i], len(tested), alpha)
            for i, verdict in enumerate(tested)
        }
        for case in together:
            verdicts = tuple(judged.get(id(v), v) for v in case.comparison.verdicts)
            again = replace(case.comparison, verdicts=verdicts)
            done[id(case)] = replace(case, comparison=again)
    return tuple(done.get(id(case), case) for case in cases)


def _judged_again(
    verdict: Verdict, adjusted: float, near: float, tests: int, alpha: float
) -> Verdict:
    effect, test, size = verdict.effect, verdict.test, verdict.size
    assert effect is not None and test is not None and size is not None
    return judge(
        (verdict.first, verdict.second),
        effect,
        test,
        adjusted,
        SampleSize(size.runs, tests, alpha),
        verdict.equivalence,
        near if verdict.equivalence else None,
        verdict.left_out,
    )
