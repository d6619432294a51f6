"""The summary matrix: contenders by workloads, each cell its ratio to the best of the column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.report.groups import Group
from dlbench.report.material import TESTED, Material
from dlbench.report.metrics import Metric, ratio, written

_SHADES = 8
_DARKEST = 4.0
"""The ratio from which a cell is as dark as cells get."""


@dataclass(frozen=True)
class Cell:
    main: str
    under: str = ""
    shade: int | None = None
    """0: as good as the best, up to _SHADES; None: not ranked, or the best."""
    state: str = ""
    """`best`, `failed`, `uncertified`, `empty`, or nothing."""
    hint: str = ""


@dataclass(frozen=True)
class Row:
    contender: str
    framework: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Matrix:
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def matrices(material: Material) -> tuple[Matrix, ...]:
    """One for each metric, a column a place; or one for all metrics, where there is one place."""
    groups = {(group.contender, group.place): group for group in material.groups}
    if len(material.places) == 1:
        only = material.places[0]
        columns = [(only, metric) for metric in material.metrics]
        titles = tuple(metric.title for metric in material.metrics)
        note = (
            "Each cell: how many times the best, or how far from it in percentage points (pp);"
            " below it the median (of what differs in points, the mean) and the 95 % interval of"
            " that ratio or difference."
            " More colour is worse."
        )
        return (Matrix(only, note, titles, _rows(material, groups, columns)),)
    return tuple(
        Matrix(
            metric.title,
            _note(metric),
            material.places,
            _rows(material, groups, [(place, metric) for place in material.places]),
        )
        for metric in material.metrics
    )


def _rows(
    material: Material,
    groups: Mapping[tuple[str, str], Group],
    columns: Sequence[tuple[str, Metric]],
) -> tuple[Row, ...]:
    frameworks = {group.contender: group.framework for group in material.groups}
    return tuple(
        Row(
            name,
            frameworks[name],
            tuple(_cell(material, groups.get((name, place)), metric) for place, metric in columns),
        )
        for name in material.contenders
    )


def _note(metric: Metric) -> str:
    ratio = metric.kind.scale == "ratio"
    what = "as a multiple of the best" if ratio else "as a difference from the best"
    span = "ratio" if ratio else "difference"
    return (
        f"{metric.title} {what} of the column; below it the {metric.middle} and the 95 % interval"
        f" of the {span}. More colour is worse."
    )


def _cell(material: Material, group: Group | None, metric: Metric) -> Cell:
    if group is None:
        return Cell("", state="empty", hint="not run")
    if not group.complete:
        counts = Counter(result.outcome.value for result in group.results)
        words = ", ".join(f"{n} {word}" if n > 1 else word for word, n in counts.items())
        return Cell(words, "failed", state="failed", hint=group.results[-1].reason[:300])
    shown = material.shown(group, metric)
    if shown is None:
        return Cell("–", state="empty", hint=f"no {metric.title.lower()}")
    value = f"{written(shown.middle)} {metric.unit}".strip()
    lost = len(group.results) - len(group.complete)
    counted = f"n = {shown.n}" + (f", {lost} failed" if lost else "")
    if not group.certified:
        why = "not certified" if group.proof == "no" else "proof not made"
        return Cell(why, value, state="uncertified", hint="shown, never ranked")
    found = material.against_best(group, metric)
    if found is None:
        return Cell(value, "not comparable", state="uncertified", hint=counted)
    if found.verdict is None:
        return Cell(value, "best", state="best", hint=counted)
    estimate, around = found.estimate, found.interval
    if metric.kind.scale == "difference":
        shade = _of_difference(abs(estimate), metric)
        points = metric.unit == "%"
        main = f"{estimate:+z.2f} pp" if points else f"{estimate:+z.4f}"
        span = f" [{around.low:+z.2f}, {around.high:+z.2f}]" if around else ""
    else:
        # How much worse than the best, so that more is always worse.
        if not metric.kind.less_is_better:
            estimate, around = 1 / estimate, around.inverse() if around else None
        shade = _of_ratio(estimate)
        main = ratio(estimate)
        span = f" [{ratio(around.low)[1:]}, {ratio(around.high)[1:]}]" if around else ""
    hint = f"{found.verdict.sentence} ({counted})" if metric in TESTED else counted
    return Cell(main, f"{value}{span}", shade, hint=hint)


def _of_ratio(value: float) -> int:
    share = math.log(max(value, 1.0)) / math.log(_DARKEST)
    return min(_SHADES, max(0, round(share * _SHADES)))


def _of_difference(value: float, metric: Metric) -> int:
    """Ten percentage points are as dark as cells get; errors have no scale of their own."""
    return min(_SHADES, round(value / 10 * _SHADES)) if metric.unit == "%" else 1
