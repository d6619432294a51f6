"""Campaigns compared: each case's groups, what weakens them, and the sum over workloads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.groups import Case, Group, cases_of
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.analysis.release_history import Line, lines
from dlbench.analysis.steadiness import Steadiness, steadiness, steady_steps
from dlbench.errors import UserError
from dlbench.statistics.comparison import Comparison, compare
from dlbench.statistics.friedman import Friedman, friedman
from dlbench.statistics.sample_size import SampleSize, holm
from dlbench.statistics.verdicts import Verdict, judge

if TYPE_CHECKING:
    from dlbench.analysis.results import Results


@dataclass(frozen=True)
class CaseComparison:
    """One case compared: its statistics, and what is to be said next to them."""

    case: Case
    comparison: Comparison
    steadiness: Steadiness
    history: tuple[Line, ...] = ()
    """Frameworks of which three releases or more were measured."""

    @property
    def label(self) -> str:
        return self.case.label

    @property
    def warnings(self) -> tuple[str, ...]:
        """What weakens the numbers, each with the group that it concerns."""
        failed = [f"{g.name}: {g.incomplete}" for g in self.case.groups if g.incomplete]
        return (*failed, *self.steadiness.sentences)

    @property
    def sentence(self) -> str:
        return f"{self.label}: {self.comparison.sentence}"


@dataclass(frozen=True)
class Across:
    """The groups ranked across workloads."""

    fixed: tuple[tuple[str, str], ...]
    friedman: Friedman

    @property
    def sentence(self) -> str:
        where = ", ".join(value for _, value in self.fixed)
        return f"{where}: {self.friedman.sentence}" if where else self.friedman.sentence


@dataclass(frozen=True)
class CampaignComparison:
    """Everything that can be said of these campaigns on one metric."""

    metric: Metric
    by: str
    alpha: float
    margin: float | None
    cases: tuple[CaseComparison, ...]
    across: tuple[Across, ...]

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
    found = find_metric(metric, trials.schema)
    _check(alpha, margin, found)
    every = cases_of(trials, found, by)
    every = [case for case in every if any(g.measurements.values for g in case.groups)]
    if not every:
        raise _nothing(trials, found)
    if by != "release":
        alone = every
        every = [case for case in every if len(case.groups) > 1]
        if not every:
            only = ", ".join(sorted({group.name for s in alone for group in s.groups}))
            raise UserError(
                f"No release was measured with more than one {by} ({only}).",
                f"Compare by another field, or run another {by} too.",
            )
    steps = steady_steps(results.steps()) if stability and found.from_steps else None
    cases = tuple(
        CaseComparison(
            case,
            compare(
                {group.name: group.measurements for group in case.groups},
                found.kind,
                metric=found.words,
                alpha=alpha,
                margin=margin,
            ),
            steadiness(case, found, steps) if stability else Steadiness(),
            lines(case.groups, found, alpha) if by == "release" else (),
        )
        for case in every
    )
    cases = _corrected(cases, alpha)
    return CampaignComparison(found, by, alpha, margin, cases, _across(cases, found, alpha))


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
            id(verdict): _again(verdict, adjusted[i], near[i], len(tested), alpha)
            for i, verdict in enumerate(tested)
        }
        for case in together:
            verdicts = tuple(judged.get(id(v), v) for v in case.comparison.verdicts)
            again = replace(case.comparison, verdicts=verdicts)
            done[id(case)] = replace(case, comparison=again)
    return tuple(done.get(id(case), case) for case in cases)


def _again(verdict: Verdict, adjusted: float, near: float, tests: int, alpha: float) -> Verdict:
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


def _across(cases: Sequence[CaseComparison], metric: Metric, alpha: float) -> tuple[Across, ...]:
    """Friedman's test over the workloads that share everything else."""
    tables: dict[tuple[tuple[str, str], ...], dict[str, dict[str, float]]] = {}
    for case in cases:
        for machine, groups in _by_machine(case).items():
            key = (*case.case.fixed, *((("machine", machine),) if machine else ()))
            row = tables.setdefault(key, {}).setdefault(case.case.workload, {})
            for group in groups:
                summary = case.comparison.summaries[group.name]
                ratio = metric.kind.scale == "ratio"
                row[_plain(group)] = summary.median if ratio else summary.mean
    found = []
    for key, table in tables.items():
        ranked = [row for row in table.values() if len(row) > 1]
        if len(ranked) > 1:
            result = friedman(table, metric.kind, alpha=alpha)
            # Too few workloads are worth a sentence for releases, not for each release's devices.
            worth = result.enough or "release" not in dict(key)
            if worth and not math.isnan(result.mean_ranks[0]):
                found.append(Across(key, result))
    return tuple(found)


def _by_machine(case: CaseComparison) -> dict[str, list[Group]]:
    """The groups that may be ranked; machines are only told apart where there are several."""
    ranked = [g for g in case.case.groups if g.name in case.comparison.ranking]
    machines = {g.conditions.machine for g in ranked}
    found: dict[str, list[Group]] = {}
    for group in ranked:
        found.setdefault(group.conditions.machine if len(machines) > 1 else "", []).append(group)
    return found


def _plain(group: Group) -> str:
    """Without the conditions that its name may carry."""
    return group.name.split(" (")[0]
