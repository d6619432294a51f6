"""`--fail-if "step_ms > 1.05"`: new runs held against earlier ones, or against another release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.groups import Group, cases_of
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.errors import UserError, check_known
from dlbench.statistics.thresholds import (
    Threshold,
    ThresholdCheck,
    ThresholdResult,
    check_thresholds,
    parse_threshold,
)
from dlbench.statistics.words import count

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

_Cell = tuple[str, ...]
_Groups = list[Group]
_CELL = ("release", "variant", "workload", "device", "setting", "engine", "point", "kernels")
_Partners = tuple[str, Group | None, Group | None]
"""What is checked, in words; the new runs; the baseline's."""


def check_regressions(
    new: Results, baseline: Results | str, conditions: Sequence[str], *, alpha: float = 0.05
) -> tuple[ThresholdResult, ...]:
    """Every condition for every contender of either side.

    `baseline`: earlier runs, or the name of a release in the same runs. A release is held against
    the same release; where a framework has one release on either side and they differ, against
    that: the version under test has a new name each time. Within one campaign, every other
    contender is held against the named release.
    """
    checks = []
    trials = new.trials()
    for text in conditions:
        threshold = parse_threshold(text)
        if isinstance(baseline, str):
            metric = find_metric(threshold.metric, trials.schema)
            partners = list(_inside(trials, baseline, metric))
        else:
            earlier = baseline.trials()
            _check_apart(trials, earlier)
            metric = find_metric(threshold.metric, {**earlier.schema, **trials.schema})
            partners = list(_across(trials, earlier, metric))
        checks += [_check(threshold.on(metric.kind), metric, *one) for one in partners]
    if not checks:
        raise UserError(
            "The baseline and the new runs have nothing in common.",
            "Run the same workloads with the same frameworks, devices and settings.",
        )
    return check_thresholds(checks, alpha=alpha)


def _check_apart(new: pl.DataFrame, baseline: pl.DataFrame) -> None:
    """Runs on both sides can't differ from themselves: such a gate would pass whatever happened."""
    same = ["campaign", "id", "started"]
    shared = len(new.select(same).join(baseline.select(same), on=same, how="semi"))
    if shared:
        raise UserError(
            f"{shared:,} of {count(len(new), 'new run')} are runs of the baseline, too.",
            "Give a campaign of its own for each side.",
        )


def _check(
    threshold: Threshold, metric: Metric, name: str, group: Group | None, before: Group | None
) -> ThresholdCheck:
    return ThresholdCheck(
        threshold,
        before.measurements(metric) if before else None,
        group.measurements(metric) if group else None,
        metric.kind,
        name,
    )


def _across(new: pl.DataFrame, baseline: pl.DataFrame, metric: Metric) -> Iterator[_Partners]:
    """The contenders of either side; None where the other has none for it."""
    own, earlier = _cells(new, metric), _cells(baseline, metric)
    if not {cell[2:] for cell in own} & {cell[2:] for cell in earlier}:
        return
    for cell in [*own, *earlier]:
        if not _measures(cell[2], (*own.items(), *earlier.items()), metric):
            own.pop(cell, None)
            earlier.pop(cell, None)
    held: set[_Cell] = set()
    for cell, groups in own.items():
        before = cell if cell in earlier else _only_of_framework(cell, own, earlier)
        if before is None:
            yield f"{groups[0].name} on {groups[0].case}", groups[0], None
            continue
        held.add(before)
        for group in groups:
            alike = (g for g in earlier[before] if g.conditions == group.conditions)
            partner = next(alike, earlier[before][0])
            name = group.name
            if partner.release != group.release:
                name = f"{name} (baseline {partner.release})"
            yield f"{name} on {group.case}", group, partner
    for cell, groups in earlier.items():
        if cell not in held:
            yield f"{groups[0].name} on {groups[0].case}", None, groups[0]


def _measures(workload: str, cells: Sequence[tuple[_Cell, _Groups]], metric: Metric) -> bool:
    """Whether a workload has the metric, as far as any trial of it has finished."""
    groups = [group for cell, every in cells if cell[2] == workload for group in every]
    return any(group.values(metric) for group in groups) or not any(g.complete for g in groups)


def _only_of_framework(
    cell: _Cell, own: dict[_Cell, _Groups], earlier: dict[_Cell, _Groups]
) -> _Cell | None:
    def alike(one: _Cell) -> bool:
        same = one[0].split("@")[0] == cell[0].split("@")[0]
        return same and one[1:] == cell[1:]

    if sum(1 for one in own if alike(one)) != 1:
        return None
    before = [one for one in earlier if alike(one)]
    return before[0] if len(before) == 1 else None


def _cells(trials: pl.DataFrame, metric: Metric) -> dict[_Cell, _Groups]:
    """The groups of every contender, by release and what else was chosen, the largest first: more
    than one where conditions differ. One with confounds does not count as its
    release."""
    if metric.column not in trials.columns:
        trials = trials.with_columns(pl.lit(None, dtype=pl.Float64).alias(metric.column))
    cells: dict[_Cell, _Groups] = {}
    for case in cases_of(trials, "release", (metric.column,)):
        for group in case.groups:
            if not group.confounds:
                cell = tuple(str(group.rows[0][key]) for key in _CELL)
                cells.setdefault(cell, []).append(group)
    for groups in cells.values():
        groups.sort(key=lambda group: -len(group.measured(metric)))
    return cells


def _inside(trials: pl.DataFrame, release: str, metric: Metric) -> Iterator[_Partners]:
    """Every contender against a release of the same runs."""
    cases = cases_of(trials, "release", (metric.column,))
    names = {name for case in cases for g in case.groups for name in (g.name, g.release)}
    check_known("contender", release, sorted(names))
    every = [((case.label, "", case.workload), list(case.groups)) for case in cases]
    measured = [case for case in cases if _measures(case.workload, every, metric)]
    if not measured:
        raise UserError(f"No trial has a {metric.words}.", "Choose another metric.")
    for case in measured:
        before = [g for g in case.groups if release in (g.name, "" if g.confounds else g.release)]
        for group in case.groups:
            if not group.confounds and not any(group is one for one in before):
                own = [g for g in before if _conditioned(g) == _conditioned(group)] or before[:1]
                name = f"{group.name} (against {release}) on {case.label}"
                yield name, group, own[0] if own else None


def _conditioned(group: Group) -> tuple[object, ...]:
    return group.rows[0]["variant"], group.conditions
