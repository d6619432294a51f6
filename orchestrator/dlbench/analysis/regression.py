"""`--baseline DIR --fail-if "step_ms > 1.05"`: new runs held against earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from dlbench.analysis.groups import Group, cases_of
from dlbench.analysis.metrics import Metric, find_metric
from dlbench.errors import UserError
from dlbench.statistics.thresholds import (
    ThresholdCheck,
    ThresholdOutcome,
    ThresholdResult,
    check_conditions,
    parse_condition,
)

if TYPE_CHECKING:
    from dlbench.analysis.results import Results

_Place = tuple[str, ...]


def check_regressions(
    new: Results, baseline: Results, conditions: Sequence[str], *, alpha: float = 0.05
) -> tuple[ThresholdResult, ...]:
    """Every condition for every contender that both have.

    A release is held against the same release; where a framework has one release on either side
    and they differ, against that: the version under test has a new name each time.
    """
    checks = []
    for text in conditions:
        condition = parse_condition(text)
        metric = find_metric(condition.metric, new.trials().schema)
        condition = condition.on(metric.kind)
        for name, group, before in _partners(new.trials(), baseline.trials(), metric):
            checks.append(
                ThresholdCheck(
                    condition, before.measurements, group.measurements, metric.kind, name
                )
            )
    if not checks:
        raise UserError(
            "The baseline and the new runs have nothing in common.",
            "Run the same workloads with the same frameworks, devices and settings.",
        )
    checked = check_conditions(checks, alpha=alpha)
    if all(one.result is ThresholdOutcome.NOT_COMPARABLE for one in checked):
        raise UserError(
            f"Nothing can be checked. {checked[0].sentence}",
            "Measure the baseline again, on this machine and with the same suite.",
        )
    return checked


def _partners(
    new: pl.DataFrame, baseline: pl.DataFrame, metric: Metric
) -> list[tuple[str, Group, Group]]:
    own, earlier = _cells(new, metric), _cells(baseline, metric)
    found = []
    for place, group in own.items():
        before = earlier.get(place)
        if before is None:
            before = _only_of_framework(place, own, earlier)
        if before is None:
            continue
        release = group.release
        if before.release != release:
            release = f"{release} (baseline {before.release})"
        found.append((f"{release} on {' '.join(_words(group.trials[0]))}", group, before))
    return found


def _only_of_framework(
    place: _Place, own: dict[_Place, Group], earlier: dict[_Place, Group]
) -> Group | None:
    def alike(one: _Place) -> bool:
        same = one[0].split("@")[0] == place[0].split("@")[0]
        return same and one[1:] == place[1:]

    if sum(1 for one in own if alike(one)) != 1:
        return None
    before = [group for one, group in earlier.items() if alike(one)]
    return before[0] if len(before) == 1 else None


def _cells(trials: pl.DataFrame, metric: Metric) -> dict[_Place, Group]:
    """The largest group of every contender, by release and what else was chosen."""
    if metric.column not in trials.columns:
        return {}
    found: dict[_Place, Group] = {}
    for case in cases_of(trials, metric, "release"):
        for group in case.groups:
            row = group.trials[0]
            place = tuple(
                str(row[key])
                for key in ("release", "variant", "workload", "device", "setting", "engine")
            )
            kept = found.get(place)
            if kept is None or len(kept.trials) < len(group.trials):
                found[place] = group
    return found


def _words(row: dict[str, Any]) -> list[str]:
    said = [str(row["workload"])]
    said += [str(row["device"])] if row["device"] != "cpu" else []
    return said + ([str(row["setting"])] if row["setting"] != "matched" else [])
