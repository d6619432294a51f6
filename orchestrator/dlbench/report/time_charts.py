"""The charts along time: convergence, resources, step times. Thinned here, not in the browser."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlbench.monitor.samples import read_samples
from dlbench.report.material import Material
from dlbench.report.metrics import STEP, TRAINING
from dlbench.report.tables import Cell, Chart, Table

_EPOCHS = 120
_SAMPLES = 240
_LEFT_OUT = ("epoch", "train_s")


def convergence(material: Material) -> Chart | None:
    """Median curves of each group with their range, by epoch; the page can turn to time."""
    rows: list[Sequence[Cell]] = []
    metrics: dict[str, None] = {}
    for group in material.groups:
        trials = group.complete or group.results
        by_epoch: dict[int, list[dict[str, Any]]] = {}
        for result in trials:
            for point in result.curve:
                by_epoch.setdefault(int(point["epoch"]), []).append(point)
        whole = [epoch for epoch, points in by_epoch.items() if len(points) * 2 >= len(trials)]
        for epoch in _thinned(sorted(whole), _EPOCHS):
            points = by_epoch[epoch]
            seconds = statistics.median(point["train_s"] for point in points)
            for name in points[0]:
                values = sorted(p[name] for p in points if p.get(name) is not None)
                if name in _LEFT_OUT or not values:
                    continue
                metrics[name] = None
                low, high = _central(values)
                rows.append((group.place, group.contender, group.framework, name, epoch,
                             seconds, statistics.median(values), low, high))  # fmt: skip
    if not rows:
        return None
    columns = ("workload", "contender", "framework", "metric", "epoch", "train_s", "median",
               "low", "high")  # fmt: skip
    order = [name for name in ("accuracy", "mae", "mse", "loss") if name in metrics]
    note = (
        "Median over trials; the band holds the middle 90 % of them. Loss is that of training,"
        " the others are measured on the test split. Time is training time without evaluation."
    )
    return Chart("convergence", "curves", "Convergence", Table.of_rows(columns, rows), note,
                 {"metrics": [*order, *(m for m in metrics if m not in order)]})  # fmt: skip


def timelines(material: Material) -> Chart | None:
    """CPU, memory, GPU and power of the trial that stands in the middle of each group."""
    rows: list[Sequence[Cell]] = []
    stretches: list[list[Any]] = []
    for group in material.groups:
        trial = group.typical(TRAINING) or group.results[0]
        folder = group.folders[trial.id]
        samples = read_samples(folder / "samples.jsonl")
        if samples is None or len(samples.samples) < 3:
            continue
        previous = samples.samples[0]
        for sample in _thinned(samples.samples[1:], _SAMPLES):
            passed = sample.t - previous.t
            cpu = 100 * (sample.cpu_s - previous.cpu_s) / passed if passed > 0 else None
            gpus = sample.gpus
            rows.append((group.place, group.contender, group.framework, round(sample.t, 2),
                         None if cpu is None else round(cpu, 1),
                         round(sample.memory_bytes / 1e6, 1),
                         _most(g.util_percent for g in gpus),
                         _total((g.process_memory_bytes or g.memory_bytes for g in gpus), 1e6),
                         _total((g.power_w for g in gpus), 1.0)))  # fmt: skip
            previous = sample
        stretches.append([group.place, group.contender, trial.id, _phases(folder)])
    if not rows:
        return None
    columns = ("workload", "contender", "framework", "t", "cpu_percent", "memory_mb",
               "gpu_percent", "gpu_memory_mb", "power_w")  # fmt: skip
    table = Table.of_rows(columns, rows)
    kept = {n: v for n, v in table.columns.items() if any(x is not None for x in v)}
    note = (
        "The trial with the middle training time of each group, sampled from outside."
        " 100 % CPU is one core. Shaded: the phases."
    )
    return Chart("timelines", "timelines", "Resources over a trial", Table(kept), note,
                 {"phases": stretches})  # fmt: skip


def step_times(material: Material) -> Chart | None:
    """How steady steps scatter within the middle trial of each group."""
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        trial = group.typical(STEP)
        if trial is None:
            continue
        steps = sorted(_steady(group.folders[trial.id] / "events.jsonl"))
        if len(steps) < 5:
            continue
        rows.append((group.place, group.contender, group.framework, len(steps),
                     *(_quantile(steps, q) for q in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)),
                     steps[-1]))  # fmt: skip
    if not rows:
        return None
    columns = ("workload", "contender", "framework", "steps", "p01", "p05", "p25", "p50", "p75",
               "p95", "p99", "max")  # fmt: skip
    note = (
        "Steady steps of the trial with the middle step time: the box holds the middle half,"
        " the line 5 to 95 %, the dot is the 99th percentile."
    )
    return Chart("steps", "boxes", "Step times", Table.of_rows(columns, rows), note,
                 {"unit": "ms", "title": "Step time"})  # fmt: skip


def _events(path: Path, kind: str) -> list[dict[str, Any]]:
    mark = f'"event":"{kind}"'.encode()
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        if mark in line:
            try:
                content = json.loads(line)
            except ValueError:
                continue  # the last line of a trial that was cut
            if content.get("event") == kind:
                found.append(content)
    return found


def _steady(path: Path) -> list[float]:
    return [
        float(ms) for event in _events(path, "epoch") for ms in event["steps_ms"][event["first"] :]
    ]


def _phases(folder: Path) -> list[list[Any]]:
    """[phase, start, end] of each stretch; neighbours too narrow to be seen are joined."""
    found: list[list[Any]] = []
    for event in _events(folder / "events.jsonl", "phase"):
        end = round(float(event["t"]), 3)
        start = round(end - float(event["seconds"]), 3)
        found.append([event["phase"], start, end])
    if not found:
        return []
    narrow = (found[-1][2] - found[0][1]) / 400
    joined: list[list[Any]] = []
    for stretch in found:
        if joined and (stretch[0] == joined[-1][0] or stretch[2] - stretch[1] < narrow):
            joined[-1][2] = stretch[2]
        else:
            joined.append(stretch)
    return joined


def _thinned(items: Sequence[Any], most: int) -> Sequence[Any]:
    """At most so many of them, evenly, the last always among them."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(step * place)] for place in range(most)]


def _central(values: Sequence[float]) -> tuple[float, float]:
    return _quantile(values, 0.05), _quantile(values, 0.95)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _most(values: Any) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _total(values: Any, unit: float) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / unit, 1) if known else None
