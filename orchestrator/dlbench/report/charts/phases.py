"""Where the time of a trial goes: the median of each phase over complete trials."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dlbench.report.material import PHASES, Material
from dlbench.report.tables import Cell, Chart, Table


def phases(material: Material) -> Chart | None:
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        for phase, column in PHASES.items():
            values = [row[column] for row in group.complete if row[column] is not None]
            if values:
                rows.append(
                    (group.case, group.name, group.framework, phase, statistics.median(values))
                )
    if not rows:
        return None
    table = Table.of_rows(("case", "contender", "framework", "phase", "seconds"), rows)
    note = "Median seconds in each phase. First step includes compilation."
    return Chart("phases", "stack", "Where the time goes", table, note,
                 {"unit": "s", "order": list(PHASES)})  # fmt: skip
