"""A trial's result: metrics from its events, resources from its samples; what trial.json holds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dlbench.campaigns.outcomes import Outcome
from dlbench.formats import Event
from dlbench.monitor.resources import TRAINING, Stretch

VERSION = 1
_SHORT_NAMES = {
    "binary-accuracy": "accuracy",
    "mean-absolute-error": "mae",
    "mean-squared-error": "mse",
}


@dataclass(frozen=True)
class TrialResult:
    """Everything that is known of one trial that has ended."""

    id: str
    index: int
    round: int
    release: str
    workload: str
    device: str
    engine: str
    setting: str
    variant: str
    seed: int
    repeat: int
    outcome: Outcome
    reason: str
    started: str
    wall_s: float
    metrics: dict[str, float | None]
    resources: dict[str, Any]
    curve: list[dict[str, Any]] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    stack: dict[str, Any] = field(default_factory=dict)
    scale: dict[str, Any] = field(default_factory=dict)
    """What must be equal for times to be compared: budget, batch, data, threads, limits."""
    certified: bool | None = None
    """Whether its model was proven equal to the reference; None: not checked."""
    certificate: str | None = None
    machine: str = ""
    lock: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.outcome is Outcome.OK

    def to_json(self) -> dict[str, Any]:
        return {"v": VERSION, **asdict(self), "outcome": self.outcome.value}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TrialResult:
        known = {key: content[key] for key in cls.__dataclass_fields__ if key in content}
        return cls(**{**known, "outcome": Outcome(content["outcome"])})


def intervals(events: Iterable[Event]) -> list[Stretch]:
    """The phases' stretches, in seconds since launch."""
    return [
        Stretch(event.fields["phase"], event.t - event.fields["seconds"], event.t)
        for event in events
        if event.kind == "phase"
    ]


def curve(events: Iterable[Event]) -> list[dict[str, Any]]:
    """One point an epoch; training time so far leaves evaluation out."""
    points, trained = [], 0.0
    for event in events:
        if event.kind == "epoch":
            trained += event.fields["train_s"]
            points.append(
                {
                    "epoch": event.fields["epoch"],
                    "train_s": round(trained, 6),
                    "loss": _finite(event.fields["loss"]),
                    **named(event.fields["metrics"]),
                }
            )
    return points


def measure(events: Sequence[Event], rows_a_step: int) -> dict[str, float | None]:
    """The metrics of a trial, complete or not."""
    seconds: dict[str, float] = {}
    for stretch in intervals(events):
        seconds[stretch.phase] = seconds.get(stretch.phase, 0.0) + stretch.end - stretch.start
    epochs = [event.fields for event in events if event.kind == "epoch"]
    steady = [ms for epoch in epochs for ms in epoch["steps_ms"][epoch["first"] :]]
    result = next((event.fields for event in events if event.kind == "result"), None)
    trained = sum(seconds.get(phase, 0.0) for phase in TRAINING)
    metrics: dict[str, float | None] = {
        **(named(epochs[-1]["metrics"]) if epochs else {}),
        "loss": _finite(epochs[-1]["loss"]) if epochs else None,
        "train_s": trained or None,
        "epochs": float(len(epochs)),
        "steps": float(sum(len(epoch["steps_ms"]) for epoch in epochs)),
        "samples": float(result["samples"]) if result else None,
        **{f"{phase.replace('-', '_')}_s": value for phase, value in seconds.items()},
    }
    metrics["train_s"] = trained or None
    metrics["steady_s"] = seconds.get("train")
    if steady:
        ordered = sorted(steady)
        median = statistics.median(ordered)
        metrics |= {
            "step_ms_median": median,
            "step_ms_mean": statistics.fmean(ordered),
            "step_ms_p05": _quantile(ordered, 0.05),
            "step_ms_p95": _quantile(ordered, 0.95),
            "step_ms_sd": statistics.stdev(ordered) if len(ordered) > 1 else None,
            "throughput": 1000.0 * rows_a_step / median if median else None,
        }
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in metrics.items()
    }


def named(metrics: dict[str, Any]) -> dict[str, float | None]:
    return {_SHORT_NAMES.get(name, name): _finite(value) for name, value in metrics.items()}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
