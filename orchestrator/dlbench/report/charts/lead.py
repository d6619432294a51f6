"""The one picture: the training time of each contender over the best of each case."""

from __future__ import annotations

import statistics

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row

_MOST = 20


def lead(material: Material) -> Chart | None:
    rows: list[Row] = []
    by_name: dict[str, list[float]] = {}
    for group in material.groups:
        best, time = material.best(group, TRAINING), material.estimate(group, TRAINING)
        if best is None or time is None:
            continue
        against = material.relation(group, best, TRAINING)
        ratio = 1.0
        around: Row = (None, None, "")
        if against is not None and against.estimate is not None:
            ratio, around = against.estimate, (against.low, against.high, against.interval)
        by_name.setdefault(group.name, []).append(ratio)
        rows.append((group, ratio, *around, time.middle, time.n))
    if len(by_name) < 2:
        return None
    means = {name: statistics.geometric_mean(ratios) for name, ratios in by_name.items()}
    drawn = sorted(by_name, key=lambda name: (-len(by_name[name]), means[name]))[:_MOST]
    note = "Median training time over the best median of the same workload; 1 is the best."
    if len(material.cases) > 1:
        note += (
            " One dot a workload; the tick is their geometric mean, for those that have every"
            " workload."
        )
    else:
        note += " Whiskers: the interval of the ratio, or the range of single runs."
    if len(drawn) < len(by_name):
        note += f" The first {len(drawn)} of {len(by_name)} contenders; all are in the summary."
    shown = [row for row in rows if isinstance(row[0], Group) and row[0].name in drawn]
    title, columns = (
        "Training time, relative to the best",
        "group ratio low high interval train_s n",
    )
    return Chart.of("lead", "ratios", title, columns, shown, note)
