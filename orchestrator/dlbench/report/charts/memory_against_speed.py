"""Peak memory against training time, one dot a group."""

from __future__ import annotations

from collections.abc import Sequence

from dlbench.analysis.metrics import PEAK_MEMORY, TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Cell, Chart, Table

_COLUMNS = (
    "case", "contender", "framework", "memory_mb", "memory_low", "memory_high", "train_s",
    "train_low", "train_high", "n",
)  # fmt: skip


def memory_against_speed(material: Material) -> Chart | None:
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        time, memory = (material.estimate(group, m) for m in (TRAINING, PEAK_MEMORY))
        if time is None or memory is None or not group.certified:
            continue
        rows.append((group.case, group.name, group.framework, memory.middle, memory.low,
                     memory.high, time.middle, time.low, time.high, time.n))  # fmt: skip
    if not rows:
        return None
    note = "Towards the lower left is better: lighter and faster. Whiskers: intervals or ranges."
    return Chart("memory", "scatter", "Peak memory against training time",
                 Table.of_rows(_COLUMNS, rows), note)  # fmt: skip
