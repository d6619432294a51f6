"""A study's own tables with what was measured beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dlbench.analysis.groups import Group
from dlbench.statistics.measurements import TIME
from dlbench.studies.claims import Published, Study
from dlbench.studies.contrasts import Side, combined, side_of
from dlbench.studies.quantities import QUANTITIES, Quantity
from dlbench.studies.runs import StudyRuns, reduced
from dlbench.studies.statements import DEVICES

SPREAD = "mae_sd_fixed_seed"
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
    columns: tuple[str, ...]
    """Workloads, with the point of a sweep, what is less than in the study, and that data are
    synthetic, where it is so: `mnist-mlp (epochs=20; 512 of 60,000 rows)`."""
    rows: tuple[tuple[str, tuple[TableCell, ...]], ...]
    """A contender and its cells; the last row says who is best."""
    note: str = ""
    """What a table of ours says; empty: one of the study's, which may have figures for it."""


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
            if name == SPREAD:
                found.append(_spreads(study, runs, device))
                continue
            told_apart = _seeds(study, name)
            made = [_table(study, runs, name, device, seeds) for seeds in told_apart]
            if not any(made) and told_apart != [""]:  # too few runs for either
                made = [_table(study, runs, name, device, "", told_apart[0])]
            found += made
    if "speedup" in wanted:
        found.append(_speed_ups(study, runs))
    return tuple(table for table in found if table is not None)


def _seeds(study: Study, quantity: str) -> list[str]:
    """Tables that tell fixed from varied seeds are two."""
    own = [one.labels.get("seeds", "") for one in study.figures if one.quantity == quantity]
    return list(dict.fromkeys(own)) or [""]


def _table(
    study: Study, runs: StudyRuns, name: str, device: str, seeds: str, beside: str = ""
) -> StudyTable | None:
    """`seeds`: only trials at fixed or at varied ones; `beside`: the published figures that stand
    beside trials of which none were chosen."""
    quantity, beside = QUANTITIES[name], beside or seeds
    workloads = [w for w in study.workloads if runs.has(w, device)]

    def cell(workload: str, who: str) -> tuple[TableCell, float | None, float | None]:
        group = _of_seeds(runs.group(workload, device, who), seeds)
        side = side_of(who, workload, device, group, quantity, who)
        figure = _figure_of_any_device(study, device, workload, who, name, beside)
        published = ""
        if figure is not None:
            elsewhere = "" if quantity.any_scale else _elsewhere(figure, device)
            published = quantity.shown(figure.value, figure.sd) + elsewhere
        made_up = quantity.needs_real_data and group is not None and group.synthetic
        middle = None if made_up else side.middle  # no quality on synthetic data is the best
        return _cell(side, published), middle, figure.value if figure else None

    cells = {(w, who): cell(w, who) for w in workloads for who in study.frameworks}
    what = _title(quantity, device)
    columns = [_column(runs, w, (device,)) for w in workloads]
    title = f"{what}, {seeds} seeds" if seeds else what
    if beside and not seeds:
        title = f"{what}; published: {beside} seeds"
    return _made(study, title, workloads, columns, cells, quantity)


def _spreads(study: Study, runs: StudyRuns, device: str) -> StudyTable | None:
    """Standard deviation of the error over the runs at one seed: 0 where they repeat each other."""
    quantity, fixed = QUANTITIES[SPREAD], "fixed"
    workloads = [w for w in study.workloads if runs.has(w, device)]

    def cell(workload: str, who: str) -> TableCell:
        group = _of_seeds(runs.group(workload, device, who), fixed)
        side = side_of(who, workload, device, group, quantity, who)
        figure = _figure_of_any_device(study, device, workload, who, "mae", fixed)
        published = ""
        if figure is not None and figure.sd is not None:
            published = quantity.shown(figure.sd) + _elsewhere(figure, device)
        measured = "" if side.sd is None else quantity.shown(side.sd)
        return TableCell(measured, side.runs if measured else 0, published, side.trials)

    cells = {(w, who): (cell(w, who), None, None) for w in workloads for who in study.frameworks}
    columns = [_column(runs, w, (device,)) for w in workloads]
    return _made(study, _title(quantity, device), workloads, columns, cells, quantity)


def _title(quantity: Quantity, device: str) -> str:
    return f"{quantity.words[0].upper()}{quantity.words[1:]} ({device.upper()})"


def _elsewhere(figure: Published, device: str) -> str:
    """That a figure comes from another device than the trials beside it."""
    return "" if figure.device in (device, "both") else f", on a {figure.device.upper()}"


def _figure_of_any_device(
    study: Study, device: str, workload: str, who: str, quantity: str, seeds: str
) -> Published | None:
    """The figure of this device; where there is none, that of another."""
    found = (_figure(study, one, workload, who, quantity, seeds) for one in (device, *DEVICES))
    return next((figure for figure in found if figure is not None), None)


def _column(runs: StudyRuns, workload: str, devices: Sequence[str]) -> str:
    """The workload, with the point of a sweep at which those ran that stand in its column, in what
    they are less than the study's, and whether their data are synthetic."""
    found = (runs.group(workload, on, who) for on in devices for who in runs.study.frameworks)
    groups = [group for group in found if group is not None]
    points = {str(group.rows[0].get("point") or "") for group in groups} - {""}
    smaller = {reduced(runs.study, group, workload) for group in groups} - {""}
    made_up = {"synthetic data"} if any(group.synthetic for group in groups) else set()
    words = (points, smaller, made_up)
    said = "; ".join(" or ".join(sorted(each)) for each in words if each)
    return f"{workload} ({said})" if said else workload


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
    return Group(group.name, group.case, group.conditions, rows, one_a_seed=seeds != "fixed")


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
        return _cell(side, "" if value is None else quantity.shown(value)), side.middle, value

    cells = {(w, who): cell(w, who) for w in workloads for who in study.frameworks}
    title = "Speed-up from CPU to GPU (training time)"
    columns = [_column(runs, w, DEVICES) for w in workloads]
    return _made(study, title, workloads, columns, cells, quantity)


def _cell(side: Side, published: str) -> TableCell:
    return TableCell(side.shown, side.runs, published, side.trials)


_Cells = Mapping[tuple[str, str], tuple[TableCell, float | None, float | None]]
"""By workload and contender, with the measured and the published value."""


def _made(
    study: Study, title: str, workloads: Sequence[str], columns: Sequence[str], cells: _Cells,
    quantity: Quantity,
) -> StudyTable | None:  # fmt: skip
    if not any(cell.measured for cell, _, _ in cells.values()):
        return None
    rows = [(who, tuple(cells[w, who][0] for w in workloads)) for who in study.frameworks]
    if quantity.kind is TIME or quantity.needs_real_data:
        rows.append((BEST, tuple(_best(study, w, cells, quantity) for w in workloads)))
    return StudyTable(title, tuple(columns), tuple(rows))


def _best(study: Study, workload: str, cells: _Cells, quantity: Quantity) -> TableCell:
    def first(which: int) -> str:
        each = {who: cells[workload, who][which] for who in study.frameworks}
        known = {who: value for who, value in each.items() if isinstance(value, float)}
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
