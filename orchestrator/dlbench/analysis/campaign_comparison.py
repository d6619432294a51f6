"""The comparison of campaigns on one metric, case by case, and what weakens it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.across_workloads import WorkloadRanking, rank_across_workloads
from dlbench.analysis.circumstances import cautions_of, circumstances
from dlbench.analysis.error_rate import check_alpha
from dlbench.analysis.groups import Case, cases_of
from dlbench.analysis.margin_choice import check_margin
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.analysis.release_history import ReleaseHistory, release_histories
from dlbench.analysis.sessions import session_notes, within_session_difference
from dlbench.analysis.steadiness import Steadiness, steadiness, steady_steps
from dlbench.errors import UserError
from dlbench.statistics.comparison import Comparison, comparable_pairs, compare
from dlbench.statistics.intervals import Interval
from dlbench.statistics.verdicts import judge
from dlbench.statistics.words import count

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
        groups = self.case.groups
        said = [*cautions_of(groups)]
        said += [f"{g.name}: {g.incomplete}" for g in groups if g.incomplete]
        said += [
            f"{g.name}: {g.without(self.metric)} of {count(len(g.complete), 'finished run')}"
            f" {'has' if g.without(self.metric) == 1 else 'have'} no {self.metric.column}:"
            " left out."
            for g in groups
            if g.without(self.metric)
        ]
        said += [
            f"{name}: {count(summary.not_numbers, 'value')} not a finite number:"
            f" {'counted as failed' if self.metric.kind.scale == 'difference' else 'left out'}."
            for name, summary in self.comparison.summaries.items()
            if summary.not_numbers
        ]
        if self.case.copies:
            said.append(
                f"{count(self.case.copies, 'trial is a copy', 'trials are copies')} of others, with"
                " the same start and the same numbers: each run counts once."
            )
        said += session_notes(self.case, self.metric, self.comparison.tested)
        return (*said, *self.steadiness.sentences)

    @property
    def circumstances(self) -> tuple[str, ...]:
        """What the numbers hold for: data, scale, threads."""
        return circumstances(self.case.groups)

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

    @cached_property
    def by_label(self) -> dict[str, CaseComparison]:
        return {case.case.label: case for case in self.cases}

    @property
    def questions(self) -> int:
        """How many families of tests there are, each with an alpha of its own: the pairs of each
        workload, the histories of each workload, each ranking across workloads."""
        pairs = {_family(case.case) for case in self.cases if case.comparison.tested}
        return len(pairs) + sum(1 for case in self.cases if case.history) + len(self.across)

    @property
    def sentence(self) -> str:
        """The whole answer in words."""
        said = [case.sentence for case in self.cases]
        return "\n".join([*said, *(across.sentence for across in self.across)])

    def groups(self) -> pl.DataFrame:
        """One row a group: n, median and mean with intervals, spread, why it is set apart."""
        rows = [
            {
                "workload": case.case.workload,
                **dict(case.case.fixed),
                "group": name,
                "n": summary.n,
                "failed": case.comparison.failures.get(name, (0, 0))[0],
                "median": summary.median,
                **_ends("median_", summary.median_interval),
                "mean": summary.mean,
                **_ends("mean_", summary.mean_interval),
                "sd": summary.sd,
                "iqr": summary.iqr,
                "set_apart": ", ".join(r.value for r in case.comparison.set_apart.get(name, ()))
                or None,
            }
            for case in self.cases
            for name, summary in case.comparison.summaries.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def pairs(self) -> pl.DataFrame:
        """One row a pair of groups: effect with interval, p, the verdict and its words."""
        rows = []
        for case in self.cases:
            for verdict in case.comparison.verdicts:
                effect, test = verdict.effect, verdict.test
                rows.append(
                    {
                        "workload": case.case.workload,
                        **dict(case.case.fixed),
                        "first": verdict.first,
                        "second": verdict.second,
                        "verdict": verdict.decision.value,
                        "estimate": effect.estimate if effect else None,
                        **_ends("", effect.interval if effect else None),
                        "shift": effect.shift if effect else None,
                        "cliffs_delta": effect.delta if effect else None,
                        "paired": effect.paired if effect else None,
                        "p": test.p if test else None,
                        "p_holm": verdict.adjusted,
                        "sentence": verdict.sentence,
                    }
                )
        return pl.DataFrame(rows, infer_schema_length=None)


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}low": low, f"{name}high": high}


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
    check_alpha(alpha)
    if margin is not None:
        check_margin(margin, chosen)
    every = cases_of(trials, by, (chosen.column,))
    # A case in which no run finished stays: that is its answer.
    every = [
        case for case in every
        if any(g.measured(chosen) for g in case.groups) or not any(g.complete for g in case.groups)
    ]  # fmt: skip
    if not any(group.measured(chosen) for case in every for group in case.groups):
        raise _nothing(trials, chosen)
    if by != "release":
        only = ", ".join(sorted({group.name for case in every for group in case.groups}))
        every = [case for case in every if len(case.groups) > 1]
        if not every:
            raise UserError(
                f"No release was measured with more than one {by} ({only}).",
                f"Compare by another field, or run another {by} too.",
            )
    steps = steady_steps(results.steps()) if stability and chosen.from_steps else None
    measured = [{group.name: group.measurements(chosen) for group in case.groups} for case in every]
    families: Counter[tuple[object, ...]] = Counter()
    for case, groups in zip(every, measured, strict=True):
        families[_family(case)] += comparable_pairs(groups, chosen.kind)
    judged = [
        compare(groups, chosen.kind, metric=chosen.words, alpha=alpha, margin=margin,
                family=families[_family(case)])
        for case, groups in zip(every, measured, strict=True)
    ]  # fmt: skip
    judged = _corrected(list(map(_family, every)), judged, families)
    watched = sum(len(case.groups) for case in every)
    cases = []
    for case, first in zip(every, judged, strict=True):
        comparison = within_session_difference(first, case, chosen)
        steady = steadiness(case, chosen, steps, watched) if stability else Steadiness()
        history: tuple[ReleaseHistory, ...] = ()
        if by == "release":
            verdicts = comparison.verdicts
            history = release_histories(case.groups, chosen, alpha, margin, verdicts)
        cases.append(CaseComparison(case, chosen, comparison, steady, history))
    across = rank_across_workloads(cases, chosen, alpha)
    return CampaignComparison(chosen, by, alpha, margin, tuple(cases), across)


def describe_case(case: Case, metric: Metric) -> Comparison:
    """Each group against the one with the best middle, where all ran under the same conditions.

    Sizes and intervals only: as many tests as there are metrics would make every answer weaker.
    """
    groups = {group.name: group.measurements(metric) for group in case.groups}
    middle = statistics.fmean if metric.kind.scale == "difference" else statistics.median
    finite = {g.name: [v for v in g.values(metric) if math.isfinite(v)] for g in case.groups}
    ranked = {
        name: middle(values) for name, values in finite.items() if values and groups[name].certified
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


def _family(case: Case) -> tuple[object, ...]:
    """Comparisons that are asked together: all on one workload.

    Compared by device, variant or engine, each release is a case of its own; they are asked
    together, so they are one family of tests.
    """
    fixed = tuple(pair for pair in case.fixed if pair[0] not in ("release", "variant"))
    return case.workload, fixed


def _corrected(
    keys: Sequence[tuple[object, ...]],
    comparisons: Sequence[Comparison],
    families: Mapping[tuple[object, ...], int],
) -> list[Comparison]:
    """Holm's correction over all comparisons of a family, where it has several cases."""
    members: dict[tuple[object, ...], list[int]] = {}
    for i, key in enumerate(keys):
        members.setdefault(key, []).append(i)
    done = list(comparisons)
    for key, together in members.items():
        tested = [v for i in together for v in comparisons[i].tested]
        if len(together) < 2 or len(tested) < 2:
            continue
        judged = dict(zip(map(id, tested), judge(tested, families[key]), strict=True))
        for i in together:
            verdicts = tuple(judged.get(id(v), v) for v in comparisons[i].verdicts)
            done[i] = replace(comparisons[i], verdicts=verdicts)
    return done
