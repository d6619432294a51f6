"""The one picture: the training time of each contender over the best of each case."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dlbench.analysis.metrics import TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Cell, Chart, Table

_MOST = 20
_COLUMNS = (
    "case", "contender", "framework", "ratio", "low", "high", "interval",
    "train_s", "n",
)  # fmt: skip


def lead(material: Material) -> Chart | None:
    rows: list[Sequence[Cell]] = []
    by_name: dict[str, list[float]] = {}
    for group in material.groups:
        best, time = material.best(group, TRAINING), material.estimate(group, TRAINING)
        if best is None or time is None:
            continue
        against = material.relation(group, best, TRAINING)
        ratio, low, high, named = 1.0, None, None, ""
        if against is not None and against.estimate is not None:
            ratio, low, high = against.estimate, against.low, against.high
            named = against.interval.name if against.interval else ""
        by_name.setdefault(group.name, []).append(ratio)
        rows.append(
            (group.case, group.name, group.framework, ratio, low, high, named,
             time.middle, time.n)
        )  # fmt: skip
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
        note += f" The first {len(drawn)} of {len(by_name)} contenders; all are in the matrix."
    table = Table.of_rows(_COLUMNS, [row for row in rows if row[1] in drawn])
    return Chart("lead", "ratios", "Training time, relative to the best", table, note)
