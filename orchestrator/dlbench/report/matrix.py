"""The summary matrix: contenders by workloads, each cell its ratio to the best of the column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import Metric
from dlbench.report.material import TESTED, Material
from dlbench.report.numbers import ratio, written

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
    """One for each metric, a column a case; or one for all metrics, where there is one case."""
    groups = {(group.name, group.case): group for group in material.groups}
    cases = tuple(case.label for case in material.cases)
    if len(cases) == 1:
        only = cases[0]
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
            cases,
            _rows(material, groups, [(case, metric) for case in cases]),
        )
        for metric in material.metrics
    )


def _rows(
    material: Material,
    groups: Mapping[tuple[str, str], Group],
    columns: Sequence[tuple[str, Metric]],
) -> tuple[Row, ...]:
    return tuple(
        Row(
            name,
            framework,
            tuple(_cell(material, groups.get((name, case)), metric) for case, metric in columns),
        )
        for name, framework in material.contenders.items()
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
        counts = Counter(str(row["outcome"]) for row in group.rows)
        words = ", ".join(f"{n} {word}" if n > 1 else word for word, n in counts.items())
        return Cell(words, "failed", state="failed", hint=str(group.rows[-1]["reason"] or "")[:300])
    value = material.estimate(group, metric)
    if value is None:
        return Cell("–", state="empty", hint=f"no {metric.title.lower()}")
    text = f"{written(value.middle)} {metric.unit}".strip()
    lost = len(group.rows) - len(group.complete)
    counted = f"n = {value.n}" + (f", {lost} failed" if lost else "")
    if not group.certified:
        why = "not certified" if group.proof == "no" else "proof not made"
        return Cell(why, text, state="uncertified", hint="shown, never ranked")
    against = material.against_best(group, metric)
    if against is None:
        return Cell(text, "not comparable", state="uncertified", hint=counted)
    if against.verdict is None:
        return Cell(text, "best", state="best", hint=counted)
    estimate, around = against.estimate, against.interval
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
    hint = f"{against.verdict.sentence} ({counted})" if metric in TESTED else counted
    return Cell(main, f"{text}{span}", shade, hint=hint)


def _of_ratio(value: float) -> int:
    share = math.log(max(value, 1.0)) / math.log(_DARKEST)
    return min(_SHADES, max(0, round(share * _SHADES)))


def _of_difference(value: float, metric: Metric) -> int:
    """Ten percentage points are as dark as cells get; errors have no scale of their own."""
    return min(_SHADES, round(value / 10 * _SHADES)) if metric.unit == "%" else 1
