"""The summary tables as they stand in the file: contenders by cases, each against the best.

The page's script makes the same tables anew for the baseline, the cases and the contenders that a
reader chooses; these are for readers without it, and for Markdown and LaTeX never.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import Metric
from dlbench.report import beside_numbers
from dlbench.report.material import Material, Relation
from dlbench.report.numbers import span, written
from dlbench.statistics.answers import equal
from dlbench.statistics.verdicts import Decision
from dlbench.statistics.words import together

_SHADES = 8
_DARKEST = 4.0
"""The ratio from which a cell is as dark as cells get."""
_WIDEST = 5
"""Columns of one table: so many fit on a page of paper."""


@dataclass(frozen=True)
class Cell:
    main: str
    details: tuple[str, ...] = ()
    """An interval stands beside what it is of: of a ratio here, or of a value, never mixed."""
    lost: str = ""
    """Trials that did not complete."""
    marks: tuple[str, ...] = ()
    """What weakens it: outliers, throttling, …"""
    state: str = ""
    """`best`, `ahead`, `alone`, `worse3`, `failed`, `apart`, `empty`, or nothing."""
    group: int | None = None
    """Which of `Material.groups` it is of."""


@dataclass(frozen=True)
class Row:
    contender: str
    framework: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Column:
    title: str
    under: str = ""


@dataclass(frozen=True)
class Matrix:
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def matrices(material: Material) -> tuple[Matrix, ...]:
    """One for each metric, a column a case; or one for all metrics, where there is one case."""
    around = [beside_numbers.of_case(material, case) for case in material.cases]
    cases = [case.label for case in material.cases]
    if len(cases) == 1:
        columns = [(Column(metric.title), cases[0], metric) for metric in material.metrics]
        title = f"{cases[0]} ({around[0]})" if around[0] else cases[0]
        return (_matrix(material, title, "", columns),)
    return tuple(
        _matrix(
            material,
            metric.title,
            f" Below it the {metric.middle} itself.",
            [(Column(case, own), case, metric) for case, own in zip(cases, around, strict=True)],
        )
        for metric in material.metrics
    )


def parts(matrix: Matrix) -> list[Matrix]:
    """Tables of few columns each, as equal as can be: none is wider than a page."""
    number = max(1, math.ceil(len(matrix.columns) / _WIDEST))
    size = math.ceil(len(matrix.columns) / number) or 1
    slices = [slice(i, i + size) for i in range(0, max(1, len(matrix.columns)), size)]
    return [
        replace(
            matrix,
            columns=matrix.columns[own],
            rows=tuple(replace(row, cells=row.cells[own]) for row in matrix.rows),
        )
        for own in slices
    ]


def _matrix(
    material: Material, title: str, more: str, columns: Sequence[tuple[Column, str, Metric]]
) -> Matrix:
    groups = {(g.name, g.case): (number, g) for number, g in enumerate(material.groups)}
    rows = []
    for name, framework in material.contenders.items():
        cells = (_cell(material, groups, (name, case), metric) for _, case, metric in columns)
        rows.append(Row(name, framework, tuple(cells)))
    note = (
        f"Each cell compares with the best of its column.{more} [ ]: a 95 % interval; ( ): the"
        " range of single runs, where these are too few for one."
    )
    return Matrix(title, note, tuple(column for column, _, _ in columns), tuple(rows))


def _cell(
    material: Material,
    groups: Mapping[tuple[str, str], tuple[int, Group]],
    key: tuple[str, str],
    metric: Metric,
) -> Cell:
    if key not in groups:
        return Cell("not run", state="empty")
    number, group = groups[key]
    if not group.complete:
        return Cell("failed", (group.incomplete,), state="failed", group=number)
    value = material.estimate(group, metric)
    if value is None:
        return Cell("–", (f"no {metric.title.lower()}",), state="empty", group=number)
    middle = f"{written(value.middle)} {metric.unit}".rstrip()
    details: tuple[str, ...] = (middle,)
    best = material.best(group, metric)
    relation = material.relation(group, best, metric) if best else None
    if not group.certified:
        main, state = group.unranked, "apart"
    elif best == group.name:
        word, state = _standing(material, group, metric)
        main, details = middle, (value.span, word)
    elif relation is None:
        main, state = "not comparable", "apart"
    else:
        main, interval = said(relation, metric, tested=metric in material.tested)
        details, state = (interval, middle), _state(relation, metric)
    return Cell(
        main,
        details,
        beside_numbers.lost(group),
        beside_numbers.marks(material, group) if metric.from_steps else (),
        state,
        number,
    )


def _standing(material: Material, group: Group, metric: Metric) -> tuple[str, str]:
    """Of the first of a column, in words and as a state: shown to be better than any other, ahead
    of others, or without any to be compared with."""
    comparison = material.comparison(group.case, metric)
    against = comparison.against_others(group.name) if comparison else []
    if not comparison or not against:
        return "no rival", "alone"
    if any(verdict.won_by(group.name) for verdict in against):
        return "best", "best"
    level = any(equal(comparison, group.name, verdict.other(group.name)) for verdict in against)
    return "equal best so far" if level else "best so far", "ahead"


def said(relation: Relation, metric: Metric, *, tested: bool) -> tuple[str, str]:
    """`1.22× slower` and `[1.21, 1.24]`; `undecided` and `1.03× [0.97, 1.10]`.

    Where failed runs decided, the size is that of the others, and is said to be.
    """
    estimate, around = relation.estimate, relation.around
    decided = relation.decision in (Decision.BETTER, Decision.WORSE)
    word = {
        Decision.BETTER: metric.kind.better,
        Decision.WORSE: metric.kind.worse,
        Decision.EQUIVALENT: "equivalent",
        Decision.NOT_COMPARABLE: "not comparable",
    }.get(relation.decision, "undecided" if tested else "not tested")
    if estimate is None:
        return word, ""
    decided = decided and not relation.by_failures
    ratio = metric.kind.scale == "ratio"
    if ratio and decided and estimate < 1:
        estimate = 1 / estimate
        around = around.inverse() if around else None
    if around is None:
        size, interval = f"{estimate:.2f}" if ratio else f"{estimate:+.2f}", ""
    else:
        size, first, last = together(estimate, around.low, around.high)
        if not ratio and estimate > 0:
            size = f"+{size}"
        interval = span(first, last, relation.is_range)
    size = f"{size}×" if ratio else f"{size} pp" if metric.unit == "%" else size
    if decided:
        return f"{size} {word}", interval
    shown = f"{size} {interval}".strip()
    return word, f"{shown} of those that finished" if relation.by_failures else shown


def _state(relation: Relation, metric: Metric) -> str:
    """How dark: up to _SHADES for what is shown to be worse than the best."""
    if relation.decision is not Decision.WORSE or relation.estimate is None:
        return ""
    size = abs(relation.estimate)
    if metric.kind.scale == "ratio":
        share = abs(math.log(size)) / math.log(_DARKEST)
    else:
        # Ten percentage points are as dark as cells get; errors have no scale of their own.
        share = size / 10 if metric.unit == "%" else 1 / _SHADES
    return f"worse{min(_SHADES, max(1, round(share * _SHADES)))}"
