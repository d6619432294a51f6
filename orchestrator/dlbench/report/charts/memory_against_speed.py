"""Peak memory against training time, one dot a group."""

from __future__ import annotations

from dlbench.analysis.metrics import PEAK_MEMORY, TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row


def memory_against_speed(material: Material) -> Chart | None:
    rows: list[Row] = []
    for group in material.groups:
        time, memory = (material.estimate(group, m) for m in (TRAINING, PEAK_MEMORY))
        if time is not None and memory is not None and group.certified:
            rows.append((group, memory.middle, memory.low, memory.high,
                         time.middle, time.low, time.high, time.n))  # fmt: skip
    note = "Towards the lower left is better: lighter and faster. Whiskers: intervals or ranges."
    columns = "group memory_mb memory_low memory_high train_s train_low train_high n"
    return Chart.of("memory", "scatter", "Peak memory against training time", columns, rows, note)
