"""The comparisons as the page holds them: on each metric the groups' values, the pairs' verdicts.

All are made by `dlbench.analysis`, as `dlbench compare` makes them. The page looks them up and
turns them round; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import Metric
from dlbench.report import beside_numbers
from dlbench.report.material import Material
from dlbench.report.tables import Cell, columns_of, packed
from dlbench.statistics.answers import equal
from dlbench.statistics.verdicts import Decision
from dlbench.statistics.words import listing

_MOST_BASELINES = 12
"""Where not every pair can be held."""
_GROUP = ("middle", "low", "high", "range", "n", "best", "level")
_PAIR = ("case", "first", "second", "decision", "estimate", "low", "high", "range", "lost")


@dataclass(frozen=True)
class Comparisons:
    """What the page needs to compare everybody with a baseline of the reader's choice."""

    groups: list[dict[str, Any]]
    """In the order of `Material.groups`."""
    metrics: list[dict[str, Any]]
    baselines: list[int]
    """The contenders that can be chosen, by their positions."""
    note: str
    """What was left out; empty where nothing was."""


def comparisons(material: Material) -> Comparisons:
    position = {name: number for number, name in enumerate(material.contenders)}
    baselines = list(position) if material.all_pairs else _leaders(material)
    note = ""
    if not material.all_pairs:
        note = (
            f"Of {len(position)} contenders, {listing(baselines) or 'none'} can be chosen as the"
            " baseline, and only training time and quality are tested: all pairs on all metrics"
            " would make this file too large."
        )
    return Comparisons(
        _groups(material, position),
        [_metric(material, metric, position, frozenset(baselines)) for metric in material.metrics],
        [position[name] for name in baselines],
        note,
    )


def _leaders(material: Material) -> list[str]:
    """The best of each case on what is always tested, then the newest of each framework.

    None where the analysis itself compares everybody with the best alone, for want of room.
    """
    found: dict[str, None] = {}
    for metric in material.tested:
        for case in material.cases:
            comparison = material.comparison(case.label, metric)
            if comparison is not None and comparison.unlisted:
                return []
            found |= dict.fromkeys(comparison.ranking[:1] if comparison else ())
    newest = {framework: name for name, framework in material.contenders.items()}
    return list(found | dict.fromkeys(newest.values()))[:_MOST_BASELINES]


def _groups(material: Material, position: dict[str, int]) -> list[dict[str, Any]]:
    number = {case.label: i for i, case in enumerate(material.cases)}
    return [
        {
            "case": number[group.case],
            "contender": position[group.name],
            "failed": beside_numbers.lost(group),
            "trials": len(group.rows),
            "complete": len(group.complete),
            "outcomes": "" if group.complete else group.incomplete,
            "proof": group.proof,
            "marks": beside_numbers.marks(material, group),
        }
        for group in material.groups
    ]


def _metric(
    material: Material, metric: Metric, position: dict[str, int], baselines: frozenset[str]
) -> dict[str, Any]:
    kind = metric.kind
    groups: list[Sequence[Cell]] = []
    for group in material.groups:
        value, best = material.estimate(group, metric), material.best(group, metric)
        groups.append(
            (
                value.middle, value.low, value.high, int(value.is_range), value.n,
                position[best] if best else None, int(_level(material, metric, group, best)),
            )
            if value
            else (None,) * len(_GROUP)
        )  # fmt: skip
    return {
        "id": metric.column,
        "title": metric.title,
        "unit": metric.unit,
        "ratio": kind.scale == "ratio",
        "less": kind.less_is_better,
        "better": kind.better,
        "worse": kind.worse,
        "middle": metric.middle,
        "tested": metric in material.tested,
        "weakened": metric.from_steps,
        "groups": packed(columns_of(_GROUP, groups)),
        "pairs": packed(columns_of(_PAIR, _pairs(material, metric, position, baselines))),
    }


def _level(material: Material, metric: Metric, group: Group, best: str | None) -> bool:
    """Whether another than the best has the very same middle."""
    comparison = material.comparison(group.case, metric)
    if not comparison or best in (None, group.name):
        return False
    return equal(comparison, str(best), group.name)


def _pairs(
    material: Material, metric: Metric, position: dict[str, int], baselines: frozenset[str]
) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = []
    for number, case in enumerate(material.cases):
        groups = {group.name: group for group in case.groups}
        comparison = material.comparison(case.label, metric)
        if comparison is None:
            continue
        for verdict in comparison.verdicts:
            if verdict.decision is Decision.NOT_COMPARABLE:
                continue
            pair = {verdict.first, verdict.second}
            if not (pair & baselines or comparison.ranking[0] in pair):
                continue
            seen = material.relation(groups[verdict.first], verdict.second, metric)
            assert seen is not None
            first, second = position[verdict.first], position[verdict.second]
            rows.append(
                (number, first, second, seen.decision.value, seen.estimate, seen.low, seen.high,
                 int(seen.is_range), int(seen.by_failures))
            )  # fmt: skip
    return rows
