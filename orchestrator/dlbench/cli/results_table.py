"""What a campaign's results say, as rows of a table and sentences: after a run, and with `show`.

Groups and comparisons are those of `dlbench compare` and of the report, so that none of them says
what another denies.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlbench.analysis.circumstances import circumstances
from dlbench.analysis.confusion import counts_of, labels_of
from dlbench.analysis.confusion import sentence as confusion
from dlbench.analysis.metrics import (
    ACCURACY,
    ASKED_FOR,
    INFERENCE,
    QUALITY,
    STEP,
    TRAINING,
    Metric,
    in_lower_case,
)
from dlbench.analysis.reproducibility import sentences
from dlbench.campaigns.outcomes import Outcome
from dlbench.statistics.verdicts import Decision
from dlbench.statistics.words import count, listing, number, some

if TYPE_CHECKING:
    from dlbench.analysis.groups import Case, Group
    from dlbench.report.material import Material
    from dlbench.statistics.comparison import Comparison

Row = dict[str, Any]
Values = list[float | None]
_STEP = "step (5-95 %)"
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class CaseTable:
    """A workload on one device in one setting: its contenders, and under which conditions."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    droppable: tuple[str, ...]
    """The columns that matter least, first the one that goes first."""
    more: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
    """Columns and rows of what else was measured; with `everything`, of all there is."""
    sentences: tuple[str, ...]
    """One answer a metric that was tested."""
    details: tuple[str, ...]
    """For `--verbose`."""


def case_tables(material: Material, *, everything: bool = False) -> Iterator[CaseTable]:
    """A table for each case; `everything`: with all that was measured."""
    for case in material.cases:
        times = material.comparison(case.label, TRAINING)
        ranking = times.ranking if times else ()
        groups = _ordered(case, ranking)
        columns, rows = _columns(groups, ranking)
        answers = list(_answers(material, case))
        yield CaseTable(
            f"{case.label} ({', '.join(circumstances(case.groups))})",
            columns,
            rows,
            (_STEP, "mean memory", "GPU use", "CPU use", "x best", "peak memory", "whole trial"),
            _more(groups, material.drawn if everything else ASKED_FOR),
            (
                *_whole_trials(case, ranking),
                *(f"{title}: {made.answer}" for title, made in answers if _says_more(made)),
                *sentences(case.groups),
            ),
            (
                *(line for _, compared in answers for line in _details(compared)),
                *(_confusions(material, case) if everything else ()),
            ),
        )


def _answers(material: Material, case: Case) -> Iterator[tuple[str, Comparison]]:
    for metric in (TRAINING, *QUALITY):
        comparison = material.comparison(case.label, metric)
        if comparison is not None and len(comparison.summaries) > 1:
            yield metric.title, comparison


def _says_more(comparison: Comparison) -> bool:
    """Where there are too few runs throughout, the headline has said so."""
    return {verdict.decision for verdict in comparison.verdicts} != {Decision.TOO_FEW}


def _whole_trials(case: Case, ranking: Sequence[str]) -> Iterator[str]:
    """Who trains fastest may still take longest: import and compilation must be seen."""
    whole = {g.name: t for g in case.groups if g.name in ranking and (t := g.median("wall_s"))}
    least = min(whole.values(), default=0.0)
    quickest = [name for name, time in whole.items() if time == least]
    if len(whole) > 1 and ranking[0] not in quickest:
        first, best = _seconds([least, whole.get(ranking[0])])
        if first == best:
            return
        timed = any(group.known(INFERENCE.column) for group in case.groups)
        more = ", evaluation and the timing of predictions" if timed else " and evaluation"
        yield (
            f"Whole trials, with import, compilation{more}, were quickest in"
            f" {listing(some(quickest))}: {first}, against {best} in {ranking[0]}."
            " This was not tested."
        )


def _details(comparison: Comparison) -> Iterator[str]:
    """The numbers behind the answer: which test, what it can reach, p-values."""
    yield f"{comparison.sample_size_sentence} {comparison.test_sentence}".rstrip()
    yield from (f"  {size.details}" for size in comparison.sizes)
    for verdict in comparison.tested:
        yield f"  {verdict.first}, {verdict.second}: {verdict.details}"


def _confusions(material: Material, case: Case) -> Iterator[str]:
    """Which classes each contender takes for others, in the trial with the middle accuracy."""
    for group in case.groups:
        trial = group.typical(ACCURACY)
        record = material.results.trial(trial["id"]) if trial else None
        labels = labels_of(record) if record else None
        counts = counts_of(record, labels) if record and labels else None
        if counts is not None and trial:
            yield f"{group.name}, seed {trial['seed']}: {confusion(counts)}"


def _ordered(case: Case, ranking: Sequence[str]) -> list[Group]:
    """The quickest first; what is not certified or not complete has no rank and comes last."""
    rank = {name: place for place, name in enumerate(ranking)}
    return sorted(case.groups, key=lambda g: (rank.get(g.name, len(rank)), g.name))


def _columns(
    groups: Sequence[Group], ranking: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """One row a contender: medians over its complete trials, means of quality."""
    quality, shown = _quality(groups)
    columns: dict[str, Sequence[str]] = {
        "release": [group.name for group in groups],
        ">runs": [_runs(group) for group in groups],
        f">{quality}": shown,
        ">training": _seconds([group.median("train_s") for group in groups]),
        ">whole trial": _seconds([group.median("wall_s") for group in groups]),
        ">x best": _ratios(groups, ranking),
        f">{_STEP}": _steps(groups),
        ">CPU use": _all(groups, "cpu_percent_mean", lambda value: f"{value:.0f} %"),
        ">GPU use": _all(groups, "gpu_util_percent_mean", lambda value: f"{value:.0f} %"),
        ">mean memory": _all(groups, "memory_mean_bytes", lambda value: f"{value / 1e6:,.0f} MB"),
        ">peak memory": _all(groups, "peak_memory_bytes", lambda value: f"{value / 1e6:,.0f} MB"),
    }
    if set(columns[">GPU use"]) == {"-"}:
        del columns[">GPU use"]
    outcomes = [group.outcomes for group in groups]
    if set(outcomes) != {str(Outcome.OK)}:
        columns["outcome"] = outcomes
    return tuple(columns), tuple(zip(*columns.values(), strict=True))


def _runs(group: Group) -> str:
    """How many are behind the numbers; of how many, where some did not complete."""
    whole, every = len(group.complete), len(group.rows)
    return str(every) if whole == every else f"{whole} of {every}"


def failures(material: Material) -> Iterator[str]:
    """The trials that did not complete, with the reason, in the order in which they ran."""
    epochs = dict(material.results.curves().group_by("id").len().iter_rows())
    failed = [
        (row["index"], row, group)
        for group in material.groups
        for row in group.rows
        if row["outcome"] != Outcome.OK
    ]
    for _, row, group in sorted(failed, key=lambda one: one[0] or 0):
        reached = f", after {count(epochs[row['id']], 'epoch')}" if row["id"] in epochs else ""
        where = f"{group.name} on {group.case}, seed {row['seed']}"
        reason = " ".join(str(row["reason"] or "").split())
        yield f"{row['outcome']}: {where}{reached}. {reason}"


def _all(groups: Sequence[Group], key: str, written: Callable[[float], str]) -> list[str]:
    medians = [group.median(key) for group in groups]
    return ["-" if value is None else written(value) for value in medians]


def _seconds(values: Values) -> list[str]:
    """All in seconds, with as many decimals as show three digits of the least."""
    positive = [value for value in values if value]
    digits = 2 - math.floor(math.log10(min(positive))) if positive else 2
    decimals = max(0, min(_MOST_DECIMALS, digits))
    return ["-" if value is None else f"{value:,.{decimals}f} s" for value in values]


def _ratios(groups: Sequence[Group], ranking: Sequence[str]) -> list[str]:
    best: dict[object, float] = {}
    cells = []
    for group in groups:
        time = group.median("train_s")
        if group.name in ranking and time:
            # Machines, data and scales are never compared with each other.
            cells.append(f"{time / best.setdefault(group.conditions, time):.2f}")
        else:
            cells.append("-")
    return cells


def _steps(groups: Sequence[Group]) -> list[str]:
    cells = []
    for group in groups:
        step = group.median("step_ms_median")
        low, high = group.median("step_ms_p05"), group.median("step_ms_p95")
        cells.append(
            "-" if step is None else f"{step:.2f} ms ({low or step:.2f}-{high or step:.2f})"
        )
    return cells


def _quality(groups: Sequence[Group]) -> tuple[str, list[str]]:
    """The heading and the means: qualities are compared by the difference of means."""
    metric = _first_quality(groups)
    if metric is None:
        return "quality", ["-"] * len(groups)
    return in_lower_case(metric.title), _values(metric, groups)


def _first_quality(groups: Sequence[Group]) -> Metric | None:
    return next((m for m in QUALITY if any(g.known(m.column) for g in groups)), None)


def _more(
    groups: Sequence[Group], wanted: Sequence[Metric]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """One row a contender, a column for each of these that is not in the first table."""
    there = (TRAINING, STEP, _first_quality(groups))
    columns: dict[str, Sequence[str]] = {"release": [group.name for group in groups]}
    for metric in wanted:
        if metric not in there and any(group.known(metric.column) for group in groups):
            columns[f">{in_lower_case(metric.title)}"] = _values(metric, groups)
    return tuple(columns), tuple(zip(*columns.values(), strict=True))


def _values(metric: Metric, groups: Sequence[Group]) -> list[str]:
    """The mean or the median of each, as `metric` is compared."""
    middle = statistics.fmean if metric.middle == "mean" else statistics.median
    known = [group.values(metric) for group in groups]
    middles = [middle(values) if values else None for values in known]
    if metric.kind.unit != "s" and metric.middle == "mean":
        return told_apart(middles, metric.factor, metric.unit)
    unit = f" {metric.unit}" if metric.unit else ""
    return ["-" if v is None else f"{number(metric.factor * v, 3)}{unit}" for v in middles]


def told_apart(values: Values, factor: float = 1.0, unit: str = "") -> list[str]:
    """With so many decimals that values that differ are written differently."""
    # Means of the same values may differ by their rounding.
    different = {float(f"{value:.12g}") for value in values if value is not None}
    for decimals in range(2, _MOST_DECIMALS + 1):
        if len({f"{factor * value:.{decimals}f}" for value in different}) == len(different):
            break
    behind = f" {unit}" if unit else ""
    return ["-" if v is None else f"{factor * v:.{decimals}f}{behind}" for v in values]
