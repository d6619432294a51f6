"""A trial's result: metrics from its events, resources from its samples; what trial.json holds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dlbench.campaigns.outcomes import Outcome
from dlbench.formats import Event
from dlbench.monitor.resources import TRAINING, Resources, Stretch
from dlbench.statistics.ranks import quantile

VERSION = 1
Metrics = dict[str, float | None]
"""By name: those of the recipe (accuracy, mae, …), and times as FORMATS.md lists them."""
_SHORT_NAMES = {
    "binary-accuracy": "accuracy",
    "greedy-accuracy": "greedy_accuracy",
    "mean-absolute-error": "mae",
    "mean-squared-error": "mse",
    "average-precision": "map",
    "average-precision-11": "map_11",
    "boxes-found": "boxes_found",
}
_ERRORS = ("mae", "mse", "perplexity")
"""Metrics of a recipe of which less is better."""
_MEASURING = ("inference", "latency", "parts")
"""Phases that take as long as somebody decided: how long says nothing of a release."""
_FEWEST_FOR_P99 = 100
_MOST_SIZES = 10_000


@dataclass(frozen=True)
class Scale:
    """What must be equal for the times of two trials to be compared."""

    epochs: int | None = None
    steps: int | None = None
    batch: int | None = None
    data: str = ""
    """The digest of the data."""
    source: str = ""
    """`real`, `sample` or `synthetic`."""
    threads: int | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    setting: str = ""
    name: str = ""
    """The scale that was asked for: `smoke`, `0.01`; empty: none."""
    rows: int | None = None
    """Training rows that were used; None: all."""
    test_rows: int | None = None
    changes: list[str] = field(default_factory=list)
    """What differs from the workload's recipe: `optimizer.lr=0.1`."""
    weights: str = ""
    """The digest of the weights that it started from; empty: those of the seed."""
    weights_file: str = ""
    """The name of the file that they came from."""
    deterministic: bool = False
    """Whether the framework was asked for kernels that repeat to the last bit."""


DIGESTS = ("weights_sha256", "predictions_sha256", "losses_sha256")
"""What trials of one seed that repeat to the last bit end with alike."""


@dataclass(frozen=True)
class TrialCores:
    allotted: float | None = None
    """How many it may use; None: it was not started, or an older dlbench ran it."""
    pinned: list[int] = field(default_factory=list)
    """Which; empty: it was not pinned, and `unpinned` says why."""
    unpinned: str = ""
    machine: int | None = None
    """How many its machine has."""


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
    metrics: Metrics
    point: str = ""
    """The point of a sweep: `batch=8 threads=2`."""
    resources: Resources | None = None
    """What it used; None: it was not sampled."""
    curve: list[dict[str, Any]] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    stack: dict[str, Any] = field(default_factory=dict)
    scale: Scale = field(default_factory=Scale)
    cores: TrialCores = field(default_factory=TrialCores)
    ended_with: dict[str, str] = field(default_factory=dict)
    """Digests (`DIGESTS`) of the final weights, the predictions and all losses."""
    certified: bool | None = None
    """Whether its model was proven equal to the reference; None: not checked."""
    certificate: str | None = None
    machine: str = ""
    lock: str = ""
    notes: list[str] = field(default_factory=list)
    confounds: list[str] = field(default_factory=list)
    """What of a study's code was put back into it, by name; empty: nothing."""

    @property
    def complete(self) -> bool:
        return self.outcome is Outcome.OK

    def to_json(self) -> dict[str, Any]:
        content = {"v": VERSION, **asdict(self), "outcome": self.outcome.value}
        return {**content, "resources": content["resources"] or {}}


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
                    **named(event.fields["metrics"]),
                    "epoch": event.fields["epoch"],
                    "train_s": round(trained, 6),
                    "loss": _finite(event.fields["loss"]),
                }
            )
    return points


def phase_seconds(stretches: Iterable[Stretch]) -> dict[str, float]:
    """How long each phase took, all of its stretches together."""
    seconds: dict[str, float] = {}
    for stretch in stretches:
        seconds[stretch.phase] = seconds.get(stretch.phase, 0.0) + stretch.end - stretch.start
    return {phase: round(value, 6) for phase, value in seconds.items()}


def measure(
    events: Sequence[Event], phases: Mapping[str, float], batch: int, rows: int | None = None
) -> Metrics:
    """The metrics of a trial, complete or not; `phases` as `phase_seconds` gives them.

    `rows`: how many an epoch trains on; None: whole batches."""
    epochs = [event.fields for event in events if event.kind == "epoch"]
    steady = [ms for epoch in epochs for ms in epoch["steps_ms"][epoch["first"] :]]
    result = next((event.fields for event in events if event.kind == "result"), None)
    last = epochs[-1]["metrics"] if epochs else {}
    metrics: Metrics = {
        # those of the best epoch, where its weights were kept
        **named(result.get("metrics", last) if result else last),
        **(_at_the_end(result) if result else {}),
        **_images(events),
        **_first_epoch(epochs),
        **_peak(curve(events)),
        "best_epoch": _finite(result.get("best_epoch")) if result else None,
        "loss": _finite(epochs[-1]["loss"]) if epochs else None,
        # all of training: the phase that is called `train` holds its steady steps alone
        "train_s": sum(phases.get(phase, 0.0) for phase in TRAINING) or None,
        "steady_s": phases.get("train"),
        "epochs": float(len(epochs)),
        "steps": float(sum(_steps_of(epoch) for epoch in epochs)),
        "samples": float(result["samples"]) if result else None,
        **{
            f"{name.replace('-', '_')}_s": s
            for name, s in phases.items()
            if name not in ("train", *_MEASURING)
        },
    }
    if steady:
        ordered = sorted(steady)
        median, mean = statistics.median(ordered), statistics.fmean(ordered)
        metrics |= {
            "step_ms_median": median,
            "step_ms_mean": _mean_step(epochs, mean),
            "step_ms_p05": quantile(ordered, 0.05),
            "step_ms_p95": quantile(ordered, 0.95),
            "step_ms_sd": _deviation(ordered, mean),
            "throughput": _throughput(epochs, batch, batch if rows is None else rows),
        }
    on_host = [epoch["host_ms"] for epoch in epochs if epoch.get("host_ms") is not None]
    if on_host and metrics["steps"]:
        metrics["host_ms_mean"] = math.fsum(on_host) / metrics["steps"]
    return metrics


def _throughput(epochs: Sequence[Mapping[str, Any]], batch: int, rows: int) -> float | None:
    """Rows a second at the median of the steady steps that have a whole batch.

    Where none has, it is that of the partial ones."""
    last, planned = rows % batch, math.ceil(rows / batch)
    whole: list[float] = []
    partial: list[float] = []
    for epoch in epochs:
        times = epoch["steps_ms"][epoch["first"] :]
        all_written = (epoch.get("every") or 1) == 1
        cut = len(times) - 1 if last and all_written and _steps_of(epoch) == planned else None
        whole += times[:cut]
        partial += [] if cut is None else times[cut:]
    median = statistics.median(whole or partial)
    if median < 1e-6:  # times are kept to a millionth: a shorter one is none
        return None
    return 1000.0 * (batch if whole else last) / median


def _at_the_end(result: Mapping[str, Any]) -> Metrics:
    """What is measured once, after training."""
    found: Metrics = {
        f"train_{name}": value for name, value in named(result.get("train_metrics") or {}).items()
    }
    for name in ("model_bytes", "model_with_optimizer_bytes"):
        if result.get(name) is not None:
            found[name] = float(result[name])
    if result.get("decoded_rows"):
        found["decoded_rows"] = float(result["decoded_rows"])
    passes, latencies = sorted(result.get("inference_ms") or ()), result.get("latency_ms")
    if passes and result.get("inference_rows"):
        # milliseconds for so many rows: seconds for a thousand times as many
        found["inference_s_per_thousand"] = statistics.median(passes) / result["inference_rows"]
    if latencies:
        found["latency_ms_median"] = statistics.median(latencies)
        if len(latencies) >= _FEWEST_FOR_P99:
            found["latency_ms_p99"] = quantile(sorted(latencies), 0.99)
    return {**found, **_parts(result)}


def _parts(result: Mapping[str, Any]) -> Metrics:
    """Of a step, what goes forward, and what comes back: the rest of the second of each pair."""
    forward, both = result.get("forward_ms") or (), result.get("backward_ms") or ()
    if not forward or len(forward) != len(both):
        return {}
    back = statistics.median(whole - part for part, whole in zip(forward, both, strict=True))
    return {
        "forward_ms": statistics.median(forward),
        # noise alone can make it less than nothing
        **({"backward_ms": back} if back > 0 else {}),
    }


def _images(events: Iterable[Event]) -> Metrics:
    """In how many sizes a detector's images come, and the share of their pixels that is padding."""
    models = (event.fields["path"] for event in events if event.kind == "model")
    path: dict[str, Any] = next(models, {})
    sizes, padding = _finite(path.get("image sizes")), _finite(path.get("padding"))
    found: Metrics = {}
    if sizes is not None and 1 <= sizes <= _MOST_SIZES:
        found["image_sizes"] = sizes
    if padding is not None and 0 <= padding <= 1:
        found["padding_share"] = padding
    return found


def _first_epoch(epochs: Sequence[Mapping[str, Any]]) -> Metrics:
    """Its training time, and how much longer it took than later ones with as many steps."""
    if not epochs:
        return {}
    first = epochs[0]["train_s"]
    later = [e["train_s"] for e in epochs[1:] if _steps_of(e) == _steps_of(epochs[0])]
    excess: Metrics = {"first_epoch_excess_s": first - statistics.median(later)} if later else {}
    return {"first_epoch_s": first, **excess}


def _peak(points: Sequence[Mapping[str, Any]]) -> Metrics:
    """Where the curve of the recipe's first metric is best, and its value there.

    It describes a curve: whoever chose a model by it would choose by the test split.
    """
    if len(points) < 2:
        return {}
    name = next(iter(points[0]))
    known = [(point[name], point["epoch"]) for point in points if point.get(name) is not None]
    if name in ("epoch", "train_s", "loss") or not known:
        return {}
    sign = 1 if name in _ERRORS else -1
    best, epoch = min(known, key=lambda one: sign * one[0])
    return {"peak_epoch": float(epoch), f"test_peak_{name}": best}


def _steps_of(epoch: Mapping[str, Any]) -> int:
    """How many steps an epoch had; of a long trial not all of their times are in `steps_ms`."""
    steps: int | None = epoch.get("steps")
    return len(epoch["steps_ms"]) if steps is None else steps


def _mean_step(epochs: Sequence[Mapping[str, Any]], written: float) -> float:
    """The mean of all steady steps; `written`: the mean of those whose times were written."""
    if all((epoch.get("every") or 1) == 1 for epoch in epochs):
        return written
    steady: int = sum(_steps_of(epoch) - epoch["first"] for epoch in epochs)
    first_ms: float = sum(sum(epoch["steps_ms"][: epoch["first"]]) for epoch in epochs)
    all_s: float = sum(epoch["steps_s"] for epoch in epochs)
    return (1000.0 * all_s - first_ms) / steady


def named(metrics: Mapping[str, Any]) -> Metrics:
    """The metrics of an epoch under their short names."""
    return {_SHORT_NAMES.get(name, name): _finite(value) for name, value in metrics.items()}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _deviation(values: Sequence[float], mean: float) -> float | None:
    """The standard deviation; `statistics.stdev` takes minutes for a million values."""
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
