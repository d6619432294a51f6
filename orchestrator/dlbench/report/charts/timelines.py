"""Resources over a trial: CPU, memory, GPU and power of the middle trial of each group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dlbench.analysis.metrics import TRAINING
from dlbench.campaigns.event_file import read_events
from dlbench.monitor.samples import read_samples
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row, thinned

_MOST_SAMPLES = 240
_NARROWEST = 1 / 400
"""The share of a trial below which a phase is too narrow to be seen."""

Stretch = tuple[str, float, float]
"""(phase, start, end)"""


def timelines(material: Material) -> Chart | None:
    rows: list[Row] = []
    phases: list[tuple[str, str, str, list[Stretch]]] = []
    for group in material.groups:
        trial = group.typical(TRAINING) or group.rows[0]
        folder = material.results.trial(trial["id"]).folder
        samples = read_samples(folder / "samples.jsonl")
        if samples is None or len(samples.samples) < 3:
            continue
        previous = samples.samples[0]
        for sample in thinned(samples.samples[1:], _MOST_SAMPLES):
            passed = sample.t - previous.t
            busy = (sample.cpu_s - previous.cpu_s) / passed if passed > 0 else None
            gpus = sample.gpus
            rows.append((group, round(sample.t, 2), None if busy is None else round(busy, 3),
                         round(sample.memory_bytes / 1e6, 1),
                         max((g.util_percent for g in gpus if g.util_percent is not None),
                             default=None),
                         _total((g.process_memory_bytes or g.memory_bytes for g in gpus), 1e6),
                         _total((g.power_w for g in gpus), 1.0)))  # fmt: skip
            previous = sample
        phases.append((group.case, group.name, trial["id"], _phases(folder)))
    note = (
        "The trial with the middle training time of each group, sampled from outside; memory is"
        " that of all its processes, and its peak may lie between two samples. Shaded: the phases."
    )
    columns = "group t busy_cores memory_in_use_mb gpu_percent gpu_memory_in_use_mb power_w"
    chart = Chart.of("timelines", "timelines", "Resources over a trial", columns, rows, note,
                     phases=phases)  # fmt: skip
    if chart is None:
        return None
    kept = {n: v for n, v in chart.columns.items() if any(x is not None for x in v)}
    return replace(chart, columns=kept)


def _phases(folder: Path) -> list[Stretch]:
    """The stretches of the phases; those too narrow to be seen are joined to their neighbour."""
    stretches = []
    for event in read_events(folder / "events.jsonl", "phase"):
        end = round(event.t, 3)
        start = round(end - event.fields["seconds"], 3)
        stretches.append((str(event.fields["phase"]), start, end))
    if not stretches:
        return []
    narrow = (stretches[-1][2] - stretches[0][1]) * _NARROWEST
    joined: list[Stretch] = []
    for phase, start, end in stretches:
        if joined and (phase == joined[-1][0] or end - start < narrow):
            joined[-1] = (joined[-1][0], joined[-1][1], end)
        else:
            joined.append((phase, start, end))
    return joined


def _total(values: Iterable[float | None], unit: float) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / unit, 1) if known else None
