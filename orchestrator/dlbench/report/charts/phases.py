"""Where the time of a trial goes: the median of each phase over complete trials."""

from __future__ import annotations

from dlbench.report.material import PHASES, Material
from dlbench.report.tables import Chart


def phases(material: Material) -> Chart | None:
    rows = [
        (group, phase, seconds)
        for group in material.groups
        for phase, column in PHASES.items()
        if (seconds := group.median(column)) is not None
    ]
    note = "Median seconds in each phase. First step includes compilation."
    return Chart.of("phases", "stack", "Where the time goes", "group phase seconds", rows, note,
                    unit="s", order=list(PHASES))  # fmt: skip
