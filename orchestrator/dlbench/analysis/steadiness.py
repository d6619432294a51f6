"""What weakens a comparison: unsteady steps, outliers, a noisy machine, unequal conditions, order.

Each finding is tied to the group whose number it affects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from dlbench.analysis.circumstances import others_percent
from dlbench.analysis.core_use import fewer_cores
from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.order_effect import OrderEffect, order_effect
from dlbench.statistics.ranks import row_medians
from dlbench.statistics.screening import worth_a_look
from dlbench.statistics.stability import (
    Concern,
    Finding,
    StepSummary,
    noisy_machine,
    steps_of_trial,
    trial_outliers,
)
from dlbench.statistics.words import number

_SCREENED = 200_000
"""Step times that are screened at once: they fit into a processor's cache."""
_LOAD = 10.0
"""Percent of the machine that other programs may take more of beside one group than another."""


@dataclass(frozen=True)
class StepTimes:
    """The steady step times of every trial, without a copy of any."""

    ms: npt.NDArray[np.float64]
    spans: dict[str, tuple[int, int]]
    short: dict[str, StepSummary]
    """Median and spread of each."""
    suspects: frozenset[str]
    """Trials that may be unsteady; the others are not."""

    def of(self, trial: str) -> npt.NDArray[np.float64]:
        start, end = self.spans.get(trial, (0, 0))
        return self.ms[start:end]


def steady_steps(steps: pl.DataFrame) -> StepTimes:
    """`steps` as `Results.steps()` gives them: a trial's stand together, in order."""
    steady = steps.filter("steady")
    runs = steady.select(pl.col("id").rle()).unnest("id")
    ends = np.cumsum(runs["len"].to_numpy().astype(np.int64)).tolist()
    spans = dict(zip(runs["value"].to_list(), pairwise([0, *ends]), strict=True))
    ms = steady["ms"].to_numpy()
    short: dict[str, StepSummary] = {}
    suspects: list[str] = []
    for names, rows in _of_one_length(ms, spans):
        spread = zip(names, *_middle_and_spread(rows), strict=True)
        short |= {name: StepSummary(middle, away, rows.shape[1]) for name, middle, away in spread}
        flags = worth_a_look(rows)
        suspects += [name for name, worth in zip(names, flags, strict=True) if worth]
    return StepTimes(ms, spans, short, frozenset(suspects))


def _of_one_length(
    ms: npt.NDArray[np.float64], spans: dict[str, tuple[int, int]]
) -> Iterator[tuple[list[str], npt.NDArray[np.float64]]]:
    """Trials with equally many steps, one row each, as many as may be done at once."""
    lengths: dict[int, list[str]] = {}
    for name, (start, end) in spans.items():
        lengths.setdefault(end - start, []).append(name)
    for length, names in lengths.items():
        most = max(1, _SCREENED // max(1, length))
        for first in range(0, len(names), most):
            some = names[first : first + most]
            yield some, np.stack([ms[spans[name][0] : spans[name][1]] for name in some])


def _middle_and_spread(rows: npt.NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Each row's median, and the median distance from it."""
    middle = row_medians(np.sort(rows, axis=1))
    away = np.sort(np.abs(rows - middle[:, None]), axis=1)
    return middle.tolist(), row_medians(away).tolist()


@dataclass(frozen=True)
class Steadiness:
    """All that weakens the numbers of one case."""

    groups: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """By the group's name."""
    between: tuple[Finding, ...] = ()
    """What concerns the comparison of groups."""
    order: OrderEffect | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        own = [f"{name}: {f.sentence}" for name, findings in self.groups.items() for f in findings]
        return (*own, *(finding.sentence for finding in self.between))


def steadiness(case: Case, metric: Metric, steps: StepTimes | None, groups: int = 1) -> Steadiness:
    """`steps` is None where the metric has nothing to do with steps. `groups`: how many are looked
    through in all, so that normal noise in one of them is not taken for more."""
    findings = {}
    for group in case.groups:
        own = [*_of_steps(group, metric, steps)] if steps is not None else []
        measured = group.measured(metric)
        if measured:
            values = [float(row[metric.column]) for row in measured]
            names = [f"seed {row['seed']}" for row in measured]
            outlying = trial_outliers(values, names, groups=groups)
            own += [outlying] if outlying else []
        if own:
            findings[group.name] = tuple(own)
    order = _order(case.groups, metric)
    between = [*_unequal(case.groups, metric), *(order.findings if order else ())]
    return Steadiness(findings, tuple(between), order)


def _of_steps(group: Group, metric: Metric, steps: StepTimes) -> list[Finding]:
    """Findings on single trials, one sentence a concern, and on all of them together."""
    by_concern: dict[Concern, list[tuple[Finding, str]]] = {}
    short = []
    trials = 0
    for row in group.measured(metric):
        times = steps.of(str(row["id"]))
        if not len(times):
            continue
        trials += 1
        short.append(steps.short[str(row["id"])])
        for finding in steps_of_trial(times) if str(row["id"]) in steps.suspects else ():
            by_concern.setdefault(finding.concern, []).append((finding, f"seed {row['seed']}"))
    findings = []
    for concern, each in by_concern.items():
        worst, where = max(each, key=lambda one: abs(one[0].size))
        said = f"{concern.value} in {len(each)} of {trials} trials; at worst ({where}): "
        findings.append(Finding(concern, f"{said}{worst.sentence}", worst.size, worst.p))
    return [*findings, *noisy_machine(short)]


def _order(groups: Sequence[Group], metric: Metric) -> OrderEffect | None:
    """Whether the time of a trial's turn shows in its value."""
    rows = [
        (float(row[metric.column]), group.name, (str(row["campaign"]), row["round"]), row["index"])
        for group in groups
        if group.certified and group.complete
        for row in group.measured(metric)
        if row["round"] is not None and row["index"] is not None
    ]
    first: dict[tuple[str, int], int] = {}
    for _, _, turn, index in rows:
        first[turn] = min(first.get(turn, index), index)
    if len(first) < 2 or len({name for _, name, _, _ in rows}) < 2:
        return None
    # Rounds of several campaigns follow one another.
    rounds = {turn: i for i, turn in enumerate(sorted(first))}
    values, names, turns, places = zip(*rows, strict=True)
    return order_effect(
        values,
        names,
        [rounds[turn] for turn in turns],
        [place - first[turn] for place, turn in zip(places, turns, strict=True)],
        metric.kind,
    )


def _unequal(groups: Sequence[Group], metric: Metric) -> list[Finding]:
    """Cores that differ; other programs beside one group only."""
    findings = [Finding(Concern.UNEQUAL, sentence, 1.0) for sentence in fewer_cores(groups)]
    loads = {}
    for group in groups:
        seen = [load for load in map(others_percent, group.measured(metric)) if load is not None]
        if seen:
            loads[group.name] = float(np.median(seen))
    if not loads:
        return findings
    low, high = min(loads, key=loads.__getitem__), max(loads, key=loads.__getitem__)
    if (more := loads[high] - loads[low]) > _LOAD:
        sentence = (
            "Unequal conditions: other programs' share of the machine (%) is"
            f" {number(loads[low])} for {low}, {number(loads[high])} for {high}."
        )
        findings.append(Finding(Concern.UNEQUAL, sentence, more / loads[high]))
    return findings
