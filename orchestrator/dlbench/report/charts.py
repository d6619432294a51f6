"""The charts that compare groups by a number each: bars, ratios, scatter, phases, speed-ups."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dlbench.report.groups import Group
from dlbench.report.material import Material
from dlbench.report.metrics import PEAK_MEMORY, TRAINING, Metric
from dlbench.report.tables import Cell, Chart, Table
from dlbench.statistics.effects import effect

_MOST_IN_LEAD = 20
PHASES = (
    "import", "load", "build", "first-step", "warm-up", "train", "evaluate", "save",
)  # fmt: skip


def few_runs(material: Material) -> str:
    """What intervals of so few runs can cover, where that is less than they say."""
    least = min((len(g.complete) for g in material.groups if len(g.complete) >= 3), default=0)
    if least < 3:
        return "Groups of fewer than 3 trials get no interval."
    at_most = 1 - 2.0 ** (1 - least)
    if at_most >= 0.95:
        return ""
    return f"With {least} trials an interval covers at most {100 * at_most:.0f} %."


def lead(material: Material) -> Chart | None:
    """The one picture: each contender's training time over the best of each workload."""
    rows: list[Sequence[Cell]] = []
    by_name: dict[str, list[float]] = {}
    for group in material.groups:
        found = material.against_best(group, TRAINING)
        shown = material.shown(group, TRAINING)
        if found is None or shown is None:
            continue
        around = found.interval
        by_name.setdefault(group.contender, []).append(found.estimate)
        rows.append(
            (group.place, group.contender, group.framework, found.estimate,
             around.low if around else None, around.high if around else None,
             shown.middle, shown.n)
        )  # fmt: skip
    if not rows:
        return None
    means = {n: math.exp(statistics.fmean(map(math.log, v))) for n, v in by_name.items()}
    drawn = sorted(by_name, key=lambda n: (-len(by_name[n]), means[n]))[:_MOST_IN_LEAD]
    kept = [row for row in rows if row[1] in drawn]
    note = "Median training time over the best median of the same workload; 1 is the best."
    if len(material.places) > 1:
        note += " One dot a workload; the tick is their geometric mean."
    else:
        note += " Whiskers: 95 % bootstrap interval of the ratio."
    if len(drawn) < len(by_name):
        note += f" The first {len(drawn)} of {len(by_name)} contenders; all are in the matrix."
    columns = (
        "workload", "contender", "framework", "ratio", "low", "high", "train_s", "n",
    )  # fmt: skip
    return Chart("lead", "ratios", "Training time, relative to the best",
                 Table.of_rows(columns, kept), note)  # fmt: skip


def bars(material: Material, metric: Metric) -> Chart | None:
    """Medians (or means) with intervals, uncertified groups hollow."""
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        shown = material.shown(group, metric)
        if shown is not None:
            rows.append((group.place, group.contender, group.framework, shown.middle, shown.low,
                         shown.high, shown.n, group.proof))  # fmt: skip
    if not rows:
        return None
    table = Table.of_rows(
        ("workload", "contender", "framework", metric.middle, "low", "high", "n", "certified"), rows
    )
    word = "Less" if metric.kind.less_is_better else "More"
    middle = metric.middle.capitalize()
    note = f"{middle} over complete trials with its 95 % bootstrap interval. {word} is better."
    settings = {
        "unit": metric.unit,
        "less": metric.kind.less_is_better,
        "title": metric.title,
        # Bars begin at 0; what is compared by its difference has no such beginning.
        "dots": metric.kind.scale == "difference",
    }
    return Chart(f"bars-{metric.key}".replace("_", "-"), "bars", metric.title, table,
                 f"{note} {few_runs(material)}".strip(), settings)  # fmt: skip


def phases(material: Material) -> Chart | None:
    """Where a trial's time goes, in the median over complete trials."""
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        for phase in PHASES:
            values = [r.phases[phase] for r in group.complete if phase in r.phases]
            if values:
                rows.append((group.place, group.contender, group.framework, phase,
                             statistics.median(values)))  # fmt: skip
    if not rows:
        return None
    table = Table.of_rows(("workload", "contender", "framework", "phase", "seconds"), rows)
    note = "Median seconds in each phase. First step includes compilation."
    return Chart("phases", "stack", "Where the time goes", table, note,
                 {"unit": "s", "order": list(PHASES)})  # fmt: skip


def memory_against_speed(material: Material) -> Chart | None:
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        time, memory = (material.shown(group, m) for m in (TRAINING, PEAK_MEMORY))
        if time is None or memory is None or not group.certified:
            continue
        rows.append((group.place, group.contender, group.framework, memory.middle, memory.low,
                     memory.high, time.middle, time.low, time.high, time.n))  # fmt: skip
    if not rows:
        return None
    columns = ("workload", "contender", "framework", "memory_mb", "memory_low", "memory_high",
               "train_s", "train_low", "train_high", "n")  # fmt: skip
    note = "Towards the lower left is better: lighter and faster. Whiskers: 95 % intervals."
    return Chart("memory", "scatter", "Peak memory against training time",
                 Table.of_rows(columns, rows), note)  # fmt: skip


def speed_ups(material: Material) -> Chart | None:
    """CPU time over GPU time of the same release, variant and setting."""

    def key(group: Group) -> tuple[str, ...]:
        first = group.results[0]
        return group.workload, first.release, first.variant, first.setting, first.machine

    on_cpu = {key(g): g for g in material.groups if g.device == "cpu" and g.values(TRAINING)}
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        cpu = on_cpu.get(key(group))
        if group.device != "gpu" or cpu is None or not group.values(TRAINING):
            continue
        if not (group.certified and cpu.certified):
            continue
        found = effect(cpu.values(TRAINING), group.values(TRAINING))
        around = found.interval
        low, high = (around.low, around.high) if around else (None, None)
        rows += [
            (place, cpu.contender, group.framework, found.estimate, low, high,
             min(found.runs), "yes")
            for place in (cpu.place, group.place)
        ]  # fmt: skip
    if not rows:
        return None
    table = Table.of_rows(
        ("workload", "contender", "framework", "median", "low", "high", "n", "certified"), rows
    )
    note = "Median training time on the CPU over that on the GPU; above 1 the GPU is faster."
    return Chart("speed-ups", "bars", "GPU against CPU", table, note,
                 {"unit": "×", "less": False, "title": "Speed-up"})  # fmt: skip


def history(material: Material) -> tuple[Chart | None, list[str]]:
    """Training time over the releases of each framework, and where its level changed."""
    lines: dict[tuple[str, ...], list[Group]] = {}
    for group in material.groups:
        first = group.results[0]
        if group.certified and group.values(TRAINING):
            usual = group.contender.replace(group.release, group.framework)
            key = (group.place, group.framework, usual, first.machine)
            lines.setdefault(key, []).append(group)
    rows: list[Sequence[Cell]] = []
    for (place, framework, line, _), groups in lines.items():
        if len(groups) < 2:
            continue
        for group in groups:
            shown = material.shown(group, TRAINING)
            if shown is not None:
                rows.append((place, line, framework, group.release.partition("@")[2],
                             shown.middle, shown.low, shown.high, shown.n))  # fmt: skip
    if not rows:
        return None, []
    columns = (
        "workload", "line", "framework", "release", "median", "low", "high", "n",
    )  # fmt: skip
    note = "Median training time of each release, oldest first, with its 95 % interval."
    return Chart("history", "history", "Over the releases", Table.of_rows(columns, rows), note,
                 {"unit": "s", "title": TRAINING.title}), _changes(material)  # fmt: skip


def ranks(material: Material) -> tuple[tuple[Chart, ...], list[str]]:
    """Critical-difference diagrams: mean ranks across workloads, where Friedman's test applies."""
    drawn, said = [], []
    several = len({group.device for group in material.groups}) > 1
    frameworks = {group.contender: group.framework for group in material.groups}
    for number, across in enumerate(material.across(TRAINING), 1):
        test = across.friedman
        if not test.enough or len(test.groups) < 2:
            continue
        table = Table(
            {
                "contender": test.groups,
                "framework": [frameworks.get(name, name) for name in test.groups],
                "mean_rank": test.mean_ranks,
            }
        )
        where = ", ".join(
            value
            for key, value in across.fixed
            if (key == "device" and several) or (key == "setting" and value != "matched")
        )
        said.append(f"{where}: {test.sentence}" if where else test.sentence)
        note = (
            f"Mean rank by training time across {test.workloads} workloads; 1 is the fastest."
            " Contenders that a bar joins are not shown to differ: their ranks are nearer than"
            f" the critical difference of {test.critical_difference:.2f}."
        )
        places = {name: place for place, name in enumerate(test.groups)}
        joined = [[places[clique[0]], places[clique[-1]]] for clique in test.cliques]
        title = f"Ranks across workloads ({where})" if where else "Ranks across workloads"
        drawn.append(Chart(f"ranks-{number}", "ranks", title, table, note, {"joined": joined}))
    return tuple(drawn), said


def _changes(material: Material) -> list[str]:
    """Where the level of a framework's training time changed along its releases."""
    said = []
    for place in material.places:
        case = material.case(place, TRAINING)
        for line in case.history if case else ():
            said += [f"{place}: {line.framework}. {change.sentence}" for change in line.changes]
    return said
