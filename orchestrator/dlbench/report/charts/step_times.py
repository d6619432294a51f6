"""How the steady steps scatter within the middle trial of each group."""

from __future__ import annotations

import numpy as np

from dlbench.analysis.metrics import STEP
from dlbench.campaigns.event_file import read_events
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row

_FEWEST = 5
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def step_times(material: Material) -> Chart | None:
    rows: list[Row] = []
    for group in material.groups:
        trial = group.typical(STEP)
        if trial is None:
            continue
        folder = material.results.trial(trial["id"]).folder
        epochs = [event.fields for event in read_events(folder / "events.jsonl", "epoch")]
        steps = [ms for epoch in epochs for ms in epoch["steps_ms"][epoch["first"] :]]
        if len(steps) >= _FEWEST:
            quantiles = np.quantile(steps, _QUANTILES).tolist()
            rows.append((group, len(steps), *quantiles))
    note = (
        "Steady steps of the trial with the middle step time: the box holds the middle half,"
        " the line 5 to 95 %, the dot is the 99th percentile. Of a very long trial a sample of the"
        " steps, evenly spread, was written."
    )
    columns = "group steps p01 p05 p25 p50 p75 p95 p99 max"
    return Chart.of("steps", "boxes", "Step times", columns, rows, note, unit="ms")
