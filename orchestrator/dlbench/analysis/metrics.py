"""Every metric that can be compared: its names, its unit, and how it is compared and shown.

The tables, the comparisons and the report all take these from here. A metric that a workload brings
along is known by its column alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dlbench.analysis.columns import TRIALS
from dlbench.errors import UserError, unknown
from dlbench.statistics.measurements import (
    CPU_TIME,
    ENERGY,
    EPOCH,
    EXCESS,
    LOSS,
    MEMORY,
    SCORE,
    SHARE,
    SIZE,
    THROUGHPUT,
    TIME,
    USE,
    Kind,
    error_kind,
)


@dataclass(frozen=True)
class Metric:
    """A column of the trials' table that can be compared."""

    column: str
    title: str
    """For headings."""
    words: str
    """For sentences, with the unit of the column."""
    kind: Kind
    alias: str = ""
    """A short name for the command line."""
    unit: str = ""
    """The unit in which the report shows it."""
    factor: float = 1.0
    """From the unit of the column to the one that is shown."""
    in_report: bool = False
    judged: bool = True
    """False: it describes, and neither more nor less of it is better; the report names no best."""
    from_steps: bool = False
    """Whether unsteady steps weaken it."""

    @property
    def middle(self) -> str:
        """What represents many values: where means are compared, the mean."""
        return "mean" if self.kind.scale == "difference" else "median"


TRAINING = Metric(
    "train_s", "Training time", "training time (s)", TIME, "time", "s",
    in_report=True, from_steps=True,
)  # fmt: skip
SPEED = Metric(
    "throughput", "Throughput", "throughput (rows/s)", THROUGHPUT, unit="rows/s",
    in_report=True, from_steps=True,
)  # fmt: skip
STEP = Metric(
    "step_ms_median", "Step time", "median step time (ms)", TIME, "step_ms", "ms",
    in_report=True, from_steps=True,
)  # fmt: skip
FIRST_EPOCH = Metric(
    "first_epoch_s", "First epoch", "training time of the first epoch (s)", TIME, "first_epoch",
    "s", in_report=True,
)  # fmt: skip
FIRST_EPOCH_EXCESS = Metric(
    "first_epoch_excess_s", "First epoch's excess",
    "time of the first epoch above that of the later ones (s)", EXCESS, unit="s", in_report=True,
)  # fmt: skip
ACCURACY = Metric("accuracy", "Accuracy", "accuracy", SHARE, "", "%", 100.0, in_report=True)
GREEDY = Metric(
    "greedy_accuracy", "Greedy accuracy", "greedy accuracy", SHARE, "", "%", 100.0, in_report=True
)
_ERROR = {
    "mae": ("Mean absolute error", error_kind("mean absolute error")),
    "mse": ("Mean squared error", error_kind("mean squared error")),
    "perplexity": ("Perplexity", error_kind("perplexity")),
}
PRECISION = Metric(
    "map", "Mean average precision", "mean average precision", SHARE, "", "%", 100.0,
    in_report=True,
)  # fmt: skip
QUALITY = (
    ACCURACY,
    PRECISION,
    *(Metric(column, title, column, kind, in_report=True)
      for column, (title, kind) in _ERROR.items()),
    GREEDY,
)  # fmt: skip
"""On the test split."""
ON_TRAINING_ROWS = (
    Metric("train_accuracy", "Accuracy on the training split", "training accuracy", SHARE, "", "%",
           100.0, in_report=True),
    Metric("train_map", "Mean average precision on the training split",
           "mean average precision on the training split", SHARE, "", "%", 100.0, in_report=True),
    *(Metric(f"train_{column}", f"{title} on the training split", f"training {column}", kind,
             in_report=True)
      for column, (title, kind) in _ERROR.items()),
)  # fmt: skip
OF_SEEDS = frozenset(metric.column for metric in (*QUALITY, *ON_TRAINING_ROWS))
"""Columns of what a seed decides: repeats of one are not independent, as those of times are."""
PEAK_EPOCH = Metric(
    "peak_epoch", "Epoch of the peak", "epoch at which the test curve is best", EPOCH,
    in_report=True, judged=False,
)  # fmt: skip
AT_PEAK = (
    Metric("test_peak_accuracy", "Accuracy at the peak of the test curve",
           "accuracy at the peak of the test curve", SHARE, "", "%", 100.0, in_report=True,
           judged=False),
    Metric("test_peak_map", "Mean average precision at the peak of the test curve",
           "mean average precision at the peak of the test curve", SHARE, "", "%", 100.0,
           in_report=True, judged=False),
    *(Metric(f"test_peak_{column}", f"{title} at the best of the test curve",
             f"{column} at the best of the test curve", kind, in_report=True, judged=False)
      for column, (title, kind) in _ERROR.items()),
)  # fmt: skip
"""Chosen by the test rows: they describe a curve and are not results."""
INFERENCE = Metric(
    "inference_s_per_thousand", "Inference of 1000 rows", "inference of 1000 rows (s)", TIME,
    "inference", "s", in_report=True,
)  # fmt: skip
LATENCY = Metric(
    "latency_ms_median", "Latency of one row", "median latency of one row (ms)", TIME, "latency",
    "ms", in_report=True,
)  # fmt: skip
LATENCY_P99 = Metric(
    "latency_ms_p99", "Latency of one row, 99 %", "latency of one row, 99 % (ms)", TIME, unit="ms",
    in_report=True,
)  # fmt: skip
FORWARD = Metric(
    "forward_ms", "Forward pass of a step", "forward pass of a step, measured apart (ms)", TIME,
    "forward", "ms", in_report=True,
)  # fmt: skip
BACKWARD = Metric(
    "backward_ms", "Backward pass of a step", "backward pass of a step, measured apart (ms)", TIME,
    "backward", "ms", in_report=True,
)  # fmt: skip
HOST = Metric(
    "host_ms_mean", "Host node in a step", "host node's time of a step (ms)", TIME, "host", "ms",
    in_report=True, from_steps=True,
)  # fmt: skip
PADDING = Metric(
    "padding_share", "Padding of the images", "share of the pixels that is padding", USE, "", "%",
    100.0, in_report=True, judged=False,
)  # fmt: skip
ASKED_FOR = (
    *QUALITY, *ON_TRAINING_ROWS, FORWARD, BACKWARD, HOST, INFERENCE, LATENCY, LATENCY_P99,
)  # fmt: skip
"""What is there only where a workload, a recipe or a user wants it: tables show it."""
PEAK_MEMORY = Metric(
    "peak_memory_bytes", "Peak memory", "peak memory (bytes)", MEMORY, "memory", "MB", 1e-6,
    in_report=True,
)  # fmt: skip
GPU_MEMORY = Metric(
    "gpu_memory_peak_bytes", "Peak GPU memory", "peak GPU memory (bytes)", MEMORY, "gpu_memory",
    "MB", 1e-6, in_report=True,
)  # fmt: skip
GPU_ENERGY = Metric(
    "gpu_energy_j", "GPU energy", "GPU energy (J)", ENERGY, "energy", "J", in_report=True
)
CPU_ENERGY = Metric(
    "cpu_energy_j", "CPU energy", "CPU energy (J)", ENERGY, "cpu_energy", "J", in_report=True
)
CPU = Metric("cpu_seconds", "CPU time", "CPU time (s)", CPU_TIME, unit="s", in_report=True)

CPU_USE = Metric(
    "cpu_percent_mean", "CPU use", "CPU use (% of the allotted cores)", USE, "cpu", "%",
    in_report=True, judged=False,
)  # fmt: skip
GPU_USE = Metric(
    "gpu_util_percent_mean", "GPU use", "GPU use (%)", USE, "gpu", "%", in_report=True, judged=False
)
MEAN_MEMORY = Metric(
    "memory_mean_bytes", "Mean memory", "mean memory (bytes)", MEMORY, unit="MB", factor=1e-6,
    in_report=True,
)  # fmt: skip

MODEL_SIZE = Metric(
    "model_bytes", "Saved model", "size of the saved weights (bytes)", SIZE, "model_size", "MB",
    1e-6, in_report=True,
)  # fmt: skip
MODEL_SIZE_WITH_STATE = Metric(
    "model_with_optimizer_bytes", "Saved model with optimiser state",
    "size of the saved weights and optimiser state (bytes)", SIZE, unit="MB", factor=1e-6,
    in_report=True,
)  # fmt: skip

KNOWN = (
    TRAINING, SPEED, STEP, FORWARD, BACKWARD, HOST, PADDING, *QUALITY, PEAK_MEMORY, MEAN_MEMORY,
    GPU_MEMORY, GPU_ENERGY, CPU_ENERGY, CPU, CPU_USE, GPU_USE, MODEL_SIZE,
    MODEL_SIZE_WITH_STATE, FIRST_EPOCH,
    FIRST_EPOCH_EXCESS, INFERENCE, LATENCY, LATENCY_P99, *ON_TRAINING_ROWS, PEAK_EPOCH, *AT_PEAK,
    Metric("loss", "Training loss", "training loss of the last epoch", error_kind("training loss")),
    Metric("best_epoch", "Epoch of the result", "epoch of the result", EPOCH, judged=False),
    Metric("cpu_percent_of_one_core", "CPU use in cores", "CPU use (% of one core)", USE, unit="%",
           judged=False),
    Metric("system_cpu_percent_mean", "CPU use of the machine", "CPU use of the whole machine (%)",
           USE, unit="%", judged=False),
    Metric("anon_peak_bytes", "Peak memory without file cache",
           "peak memory without file cache (bytes)", MEMORY, unit="MB", factor=1e-6),
    Metric("rss_main_peak_bytes", "Peak memory of the main process",
           "peak memory of the main process (bytes)", MEMORY, unit="MB", factor=1e-6),
    Metric("rss_main_mean_bytes", "Mean memory of the main process",
           "mean memory of the main process (bytes)", MEMORY, unit="MB", factor=1e-6),
    Metric("wall_s", "Time of the whole trial", "time of the whole trial (s)", TIME, unit="s"),
    Metric("gpu_energy_j_per_thousand", "GPU energy for 1000 rows",
           "GPU energy for 1000 rows (J)", ENERGY, unit="J"),
    Metric("cpu_energy_j_per_thousand", "CPU energy for 1000 rows",
           "CPU energy for 1000 rows (J)", ENERGY, unit="J"),
    Metric("map_11", "Mean average precision (11 points)", "mean average precision (11 points)",
           SCORE, "", "%", 100.0),
    Metric("boxes_found", "Boxes found", "share of boxes found", SCORE, "", "%", 100.0),
    Metric("image_sizes", "Sizes of the images", "sizes of the images", USE, judged=False),
    Metric("steady_s", "Steady training time", "steady training time (s)", TIME, unit="s",
           from_steps=True),
)  # fmt: skip
"""In the order in which the report shows them. All other columns are known by their name alone."""

_BY_COLUMN = {metric.column: metric for metric in KNOWN}
_BY_ALIAS = {metric.alias: metric for metric in KNOWN if metric.alias}
_SOME = "Metrics are time, step_ms, throughput, accuracy, memory, cpu and more: see `--help`."
_ERRORS = ("loss", "error", "mae", "mse", "perplexity")
_DESCRIPTIONS = frozenset(column.name for column in TRIALS if column.name != "wall_s") | {
    "epochs", "steps", "samples", "decoded_rows", "resource_source", "resource_samples",
}  # fmt: skip


def find_metric(name: str, columns: Mapping[str, Any]) -> Metric:
    """The metric of this alias or column; `columns` is the schema of the trials' table."""
    column = _BY_ALIAS[name].column if name in _BY_ALIAS else name
    numeric = [c for c, dtype in columns.items() if dtype.is_float() and c not in _DESCRIPTIONS]
    if column in columns and column not in numeric:
        raise UserError(f"{column!r} describes a trial and can't be compared.", _SOME)
    if column not in numeric:
        error = unknown("metric", name, [*_BY_ALIAS, *numeric])
        raise UserError(error.problem, error.remedy or _SOME)
    if column in _BY_COLUMN:
        return _BY_COLUMN[column]
    steps = column.startswith("step_ms")
    return Metric(column, column, column, _kind_of(column), from_steps=steps)


def _kind_of(column: str) -> Kind:
    """Whether less or more is better, and by ratio or difference."""
    if column.endswith("_bytes"):
        return MEMORY
    if column.endswith("cpu_seconds"):
        return CPU_TIME
    if column.endswith(("_s", "_ms")) or column.startswith("step_ms"):
        return TIME
    if column.endswith("_j"):
        return ENERGY
    if "_percent" in column or column.endswith(("_w_mean", "_seconds")):
        return USE
    return LOSS if any(word in column for word in _ERRORS) else SCORE
