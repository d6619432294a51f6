"""A study's own tables with what was measured beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dlbench.analysis.groups import Group
from dlbench.statistics.measurements import TIME
from dlbench.studies.claims import Published, Study
from dlbench.studies.contrasts import Side, combined, side_of
from dlbench.studies.quantities import QUANTITIES, Quantity
from dlbench.studies.runs import StudyRuns
from dlbench.studies.statements import DEVICES

BEST = "best"
"""The last row of a table: who comes first, as measured and as published; a look, not a test."""


@dataclass(frozen=True)
class TableCell:
    measured: str = ""
    """Mean and standard deviation over the runs."""
    runs: int = 0
    published: str = ""
    trials: tuple[str, ...] = ()
    """Ids of those behind it."""


@dataclass(frozen=True)
class StudyTable:
    title: str
    workloads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[TableCell, ...]], ...]
    """A contender and its cells; the last row says who is best."""


def study_tables(study: Study, runs: StudyRuns) -> tuple[StudyTable, ...]:
    """One a quantity and device, as far as anything of it was measured."""
    wanted = {figure.quantity for figure in study.figures}
    wanted |= {claim.metric for claim in study.claims}
    if any(claim.relation == "unrelated" for claim in study.claims):
        wanted.add("epoch_correlation")
    found = []
    for name, quantity in QUANTITIES.items():
        if name not in wanted or not quantity.column:
            continue
        for device in DEVICES:
            for seeds in _seeds(study, name):
                found.append(_table(study, runs, name, device, seeds))
    if "speedup" in wanted:
        found.append(_speed_ups(study, runs))
    return tuple(table for table in found if table is not None)


def _seeds(study: Study, quantity: str) -> list[str]:
    """Tables that tell fixed from varied seeds are two."""
    return list(
        dict.fromkeys(
            figure.labels.get("seeds", "")
            for figure in study.figures
            if figure.quantity == quantity
        )
    ) or [""]


def _table(study: Study, runs: StudyRuns, name: str, device: str, seeds: str) -> StudyTable | None:
    quantity = QUANTITIES[name]
    workloads = [w for w in study.workloads if runs.has(w, device)]

    def cell(workload: str, who: str) -> tuple[TableCell, float | None, float | None]:
        group = _of_seeds(runs.group(workload, device, who), seeds)
        side = side_of(who, workload, device, group, quantity, who)
        figure = _figure(study, device, workload, who, name, seeds)
        return _cell(side, quantity, figure), side.middle, figure.value if figure else None

    cells = {(w, who): cell(w, who) for w in workloads for who in study.contenders}
    what = f"{quantity.words[0].upper()}{quantity.words[1:]} ({device.upper()})"
    return _made(study, f"{what}, {seeds} seeds" if seeds else what, workloads, cells, quantity)


def _figure(
    study: Study, device: str, workload: str, who: str, quantity: str, seeds: str
) -> Published | None:
    """The one figure of a table; of points of a search there are many, and none stands for all."""
    found = [
        figure
        for figure in study.published(device, workload, who, quantity)
        if figure.labels.get("seeds", "") == seeds
    ]
    return found[0] if len(found) == 1 else None


def _of_seeds(group: Group | None, seeds: str) -> Group | None:
    """Trials of one seed that was run several times (fixed), or one of each seed (varied)."""
    if group is None or not seeds:
        return group
    by_seed: dict[object, list[Mapping[str, object]]] = {}
    for row in group.rows:
        by_seed.setdefault(row["seed"], []).append(row)
    if seeds == "fixed":
        kept: Sequence[Mapping[str, object]] = max(by_seed.values(), key=len)
        kept = kept if len(kept) > 1 else ()
    else:
        kept = [rows[0] for rows in by_seed.values()] if len(by_seed) > 1 else ()
    if not kept:
        return None
    rows = tuple(row for row in group.rows if any(row is one for one in kept))
    return Group(group.name, group.case, group.conditions, rows)


def _speed_ups(study: Study, runs: StudyRuns) -> StudyTable | None:
    """CPU time over GPU time; as published, of the two figures."""
    quantity, time = QUANTITIES["speedup"], QUANTITIES["train_time"]
    workloads = [w for w in study.workloads if all(runs.has(w, device) for device in DEVICES)]

    def cell(workload: str, who: str) -> tuple[TableCell, float | None, float | None]:
        both = [side_of(who, workload, d, runs.group(workload, d, who), time, who) for d in DEVICES]
        side = combined(who, both, "ratio", quantity)
        figures = [_figure(study, d, workload, who, "train_time", "") for d in DEVICES]
        value = None
        if figures[0] is not None and figures[1] is not None:
            value = figures[0].value / figures[1].value
        made = _cell(side, quantity, None)
        published = "" if value is None else quantity.shown(value)
        return TableCell(made.measured, made.runs, published, made.trials), side.middle, value

    cells = {(w, who): cell(w, who) for w in workloads for who in study.contenders}
    title = "Speed-up from CPU to GPU (training time)"
    return _made(study, title, workloads, cells, quantity)


def _cell(side: Side, quantity: Quantity, figure: Published | None) -> TableCell:
    middle, sd = side.middle, side.sd
    measured = ""
    if middle is not None:
        spread = None if sd is None else sd * quantity.factor
        measured = quantity.shown(middle * quantity.factor, spread)
    published = "" if figure is None else quantity.shown(figure.value, figure.sd)
    trials = tuple(str(row["id"]) for group in side.groups for row in group.rows)
    return TableCell(measured, side.runs, published, trials)


def _made(
    study: Study,
    title: str,
    workloads: Sequence[str],
    cells: Mapping[tuple[str, str], tuple[TableCell, float | None, float | None]],
    quantity: Quantity,
) -> StudyTable | None:
    if not any(cell.measured for cell, _, _ in cells.values()):
        return None
    rows = [(who, tuple(cells[w, who][0] for w in workloads)) for who in study.contenders]
    if quantity.kind is TIME or quantity.needs_real_data:
        rows.append((BEST, tuple(_best(study, w, cells, quantity) for w in workloads)))
    return StudyTable(title, tuple(workloads), tuple(rows))


def _best(
    study: Study,
    workload: str,
    cells: Mapping[tuple[str, str], tuple[TableCell, float | None, float | None]],
    quantity: Quantity,
) -> TableCell:
    def first(which: int) -> str:
        known: dict[str, float] = {}
        for who in study.contenders:
            value = cells[workload, who][which]
            if isinstance(value, float):
                known[who] = value
        if len(known) < 2:
            return ""
        less = quantity.kind.less_is_better and quantity is not QUANTITIES["speedup"]
        edge = (min if less else max)(known.values())
        winners = [who for who, value in known.items() if value == edge]
        return "all alike" if len(winners) == len(known) else " and ".join(winners)

    return TableCell(first(1), 0, first(2))


def figures_words(study: Study) -> Iterator[str]:
    """What the tables can't show: notes on the study, and what stands in for what."""
    yield f"{study.title} ({study.where}). Design: {study.design}. Machine: {study.machine}."
    yield from study.stand_ins
    yield from study.notes
