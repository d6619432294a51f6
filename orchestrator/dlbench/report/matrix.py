"""The summary matrix: contenders by workloads, each cell its ratio to the best of the column."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from dlbench.report.material import Group, Material
from dlbench.report.metrics import Metric, ratio, written

_SHADES = 8
_DARKEST = 4.0
"""The ratio from which a cell is as dark as cells get."""


@dataclass(frozen=True)
class Cell:
    main: str
    under: str = ""
    shade: int | None = None
    """0: the best, up to _SHADES; None: not ranked."""
    state: str = ""
    """`failed`, `uncertified`, `empty`, or nothing."""
    hint: str = ""


@dataclass(frozen=True)
class Row:
    contender: str
    framework: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Matrix:
    metric: Metric
    workloads: tuple[str, ...]
    rows: tuple[Row, ...]


def matrices(material: Material) -> tuple[Matrix, ...]:
    """One for each metric that there is."""
    by_place = {(group.contender, group.workload): group for group in material.groups}
    frameworks = {group.contender: group.framework for group in material.groups}
    return tuple(
        Matrix(
            metric,
            material.workloads,
            tuple(
                Row(
                    name,
                    frameworks[name],
                    tuple(
                        _cell(material, by_place.get((name, workload)), metric)
                        for workload in material.workloads
                    ),
                )
                for name in material.contenders
            ),
        )
        for metric in material.metrics
    )


def _cell(material: Material, group: Group | None, metric: Metric) -> Cell:
    if group is None:
        return Cell("", state="empty", hint="not run")
    if not group.complete:
        counts = Counter(result.outcome.value for result in group.results)
        words = ", ".join(f"{n} {word}" if n > 1 else word for word, n in counts.items())
        return Cell(words, "failed", state="failed", hint=group.results[-1].reason[:300])
    summary = material.summary(group, metric)
    if summary is None:
        return Cell("–", state="empty", hint=f"no {metric.title.lower()}")
    value = f"{written(summary.median)} {metric.unit}".strip()
    lost = len(group.results) - len(group.complete)
    counted = f"n = {summary.n}" + (f", {lost} failed" if lost else "")
    if group.certified is False:
        return Cell("not certified", value, state="uncertified", hint="shown, never ranked")
    place = material.against_best(group, metric)
    if place is None:
        return Cell(value, "not comparable", state="uncertified", hint=counted)
    best, verdict = place
    if verdict is None or verdict.effect is None:
        return Cell(value, "best median", 0, hint=counted)
    effect = verdict.effect
    estimate, around = effect.estimate, effect.interval
    inverted = verdict.first == best
    if metric.kind.scale == "difference":
        if inverted:
            estimate, around = -estimate, around.negative() if around else None
        shade = _of_difference(abs(estimate), metric)
        main = (
            f"{estimate:+.{2 if metric.unit == '%' else 4}f}{' pp' if metric.unit == '%' else ''}"
        )
        span = f" [{around.low:+.2f}, {around.high:+.2f}]" if around else ""
    else:
        # How much worse than the best, so that more is always worse.
        if inverted == metric.kind.less_is_better:
            estimate, around = 1 / estimate, around.inverse() if around else None
        shade = _of_ratio(estimate)
        main = ratio(estimate)
        span = f" [{ratio(around.low)[1:]}, {ratio(around.high)[1:]}]" if around else ""
    said = verdict.sentence
    return Cell(main, f"{value}{span}", shade, hint=f"{said} ({counted})")


def _of_ratio(value: float) -> int:
    share = math.log(max(value, 1.0)) / math.log(_DARKEST)
    return min(_SHADES, max(0, round(share * _SHADES)))


def _of_difference(value: float, metric: Metric) -> int:
    """Ten percentage points are as dark as cells get; errors have no scale of their own."""
    return min(_SHADES, round(value / 10 * _SHADES)) if metric.unit == "%" else 1
