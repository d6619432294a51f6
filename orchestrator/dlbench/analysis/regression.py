"""`--baseline DIR --fail-if "step_ms > 1.05"`: new runs held against earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from dlbench.analysis.groups import Group, cases_of
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.errors import UserError
from dlbench.statistics.thresholds import (
    ThresholdCheck,
    ThresholdOutcome,
    ThresholdResult,
    check_thresholds,
    parse_threshold,
)

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

_Cell = tuple[str, ...]


def check_regressions(
    new: Results, baseline: Results, conditions: Sequence[str], *, alpha: float = 0.05
) -> tuple[ThresholdResult, ...]:
    """Every condition for every contender that both have.

    A release is held against the same release; where a framework has one release on either side
    and they differ, against that: the version under test has a new name each time.
    """
    checks = []
    for text in conditions:
        threshold = parse_threshold(text)
        metric = find_metric(threshold.metric, new.trials().schema)
        threshold = threshold.on(metric.kind)
        for name, group, before in _partners(new.trials(), baseline.trials(), metric):
            checks.append(
                ThresholdCheck(
                    threshold,
                    before.measurements(metric),
                    group.measurements(metric),
                    metric.kind,
                    name,
                )
            )
    if not checks:
        raise UserError(
            "The baseline and the new runs have nothing in common.",
            "Run the same workloads with the same frameworks, devices and settings.",
        )
    checked = check_thresholds(checks, alpha=alpha)
    if all(one.outcome is ThresholdOutcome.NOT_COMPARABLE for one in checked):
        raise UserError(
            f"Nothing can be checked. {checked[0].sentence}",
            "Measure the baseline again, on this machine and with the same suite.",
        )
    return checked


def _partners(
    new: pl.DataFrame, baseline: pl.DataFrame, metric: Metric
) -> list[tuple[str, Group, Group]]:
    own, earlier = _cells(new, metric), _cells(baseline, metric)
    partners = []
    for cell, group in own.items():
        before = earlier.get(cell)
        if before is None:
            before = _only_of_framework(cell, own, earlier)
        if before is None:
            continue
        release = group.release
        if before.release != release:
            release = f"{release} (baseline {before.release})"
        partners.append((f"{release} on {group.case}", group, before))
    return partners


def _only_of_framework(
    cell: _Cell, own: dict[_Cell, Group], earlier: dict[_Cell, Group]
) -> Group | None:
    def alike(one: _Cell) -> bool:
        same = one[0].split("@")[0] == cell[0].split("@")[0]
        return same and one[1:] == cell[1:]

    if sum(1 for one in own if alike(one)) != 1:
        return None
    before = [group for one, group in earlier.items() if alike(one)]
    return before[0] if len(before) == 1 else None


def _cells(trials: pl.DataFrame, metric: Metric) -> dict[_Cell, Group]:
    """The largest group of every contender, by release and what else was chosen."""
    if metric.column not in trials.columns:
        return {}
    largest: dict[_Cell, Group] = {}
    for case in cases_of(trials, "release", (metric.column,)):
        for group in case.groups:
            row = group.rows[0]
            cell = tuple(
                str(row[key])
                for key in ("release", "variant", "workload", "device", "setting", "engine")
            )
            kept = largest.get(cell)
            if kept is None or len(kept.measured(metric)) < len(group.measured(metric)):
                largest[cell] = group
    return largest
