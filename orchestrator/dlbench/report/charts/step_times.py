"""How the steady steps scatter within the middle trial of each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlbench.analysis.metrics import STEP
from dlbench.campaigns.event_file import read_events
from dlbench.report.material import Material
from dlbench.report.tables import Cell, Chart, Table

_FEWEST = 5
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_COLUMNS = (
    "case", "contender", "framework", "steps", "p01", "p05", "p25", "p50", "p75", "p95", "p99",
    "max",
)  # fmt: skip


def step_times(material: Material) -> Chart | None:
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        trial = group.typical(STEP)
        if trial is None:
            continue
        folder = material.results.trial(trial["id"]).folder
        epochs = [event.fields for event in read_events(folder / "events.jsonl", "epoch")]
        steps = [ms for epoch in epochs for ms in epoch["steps_ms"][epoch["first"] :]]
        if len(steps) >= _FEWEST:
            quantiles = np.quantile(steps, _QUANTILES).tolist()
            rows.append((group.case, group.name, group.framework, len(steps), *quantiles))
    if not rows:
        return None
    note = (
        "Steady steps of the trial with the middle step time: the box holds the middle half,"
        " the line 5 to 95 %, the dot is the 99th percentile. Of a very long trial a sample of the"
        " steps, evenly spread, was written."
    )
    return Chart("steps", "boxes", "Step times", Table.of_rows(_COLUMNS, rows), note,
                 {"unit": "ms"})  # fmt: skip
