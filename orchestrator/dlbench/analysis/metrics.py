"""Every metric that can be compared: its names, its unit, and how it is compared and shown.

The tables, the comparisons and the report all take these from here. A metric that a workload brings
along is known by its column alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
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
    in_report: bool = True
    judged: bool = True
    """False: it describes, and neither more nor less of it is better; the report names no best."""
    from_steps: bool = False
    """Whether unsteady steps weaken it."""

    @property
    def middle(self) -> str:
        """What represents many values: where means are compared, the mean."""
        return "mean" if self.kind.scale == "difference" else "median"


_SHOWN = {
    TIME: ("s", 1.0), EXCESS: ("s", 1.0), CPU_TIME: ("s", 1.0), THROUGHPUT: ("rows/s", 1.0),
    SHARE: ("%", 100.0), USE: ("%", 1.0), MEMORY: ("MB", 1e-6), SIZE: ("MB", 1e-6),
    ENERGY: ("J", 1.0),
}  # fmt: skip
"""The unit and the factor of most metrics of a kind; the others have none."""


def _metric(
    column: str, title: str, kind: Kind, alias: str = "", words: str = "", **more: Any
) -> Metric:
    """With the usual unit of its kind; its words are its title and the unit of the column."""
    unit, factor = _SHOWN.get(kind, ("", 1.0))
    made = Metric(column, title, words, kind, alias, **{"unit": unit, "factor": factor, **more})
    of_column = "bytes" if made.unit == "MB" else made.unit if made.factor == 1 else ""
    behind = f" ({of_column})" if of_column else ""
    return made if words else replace(made, words=f"{in_lower_case(title)}{behind}")


def in_lower_case(title: str) -> str:
    """A title inside of a sentence; CPU and GPU stay."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


TRAINING = _metric("train_s", "Training time", TIME, "time", from_steps=True)
SPEED = _metric("throughput", "Throughput", THROUGHPUT, from_steps=True)
STEP = _metric("step_ms_median", "Step time", TIME, "step_ms", unit="ms",
               words="median step time (ms)", from_steps=True)  # fmt: skip
FIRST_EPOCH = _metric("first_epoch_s", "First epoch", TIME, "first_epoch",
                      words="training time of the first epoch (s)")  # fmt: skip
FIRST_EPOCH_EXCESS = _metric(
    "first_epoch_excess_s", "First epoch's excess", EXCESS,
    words="time of the first epoch above that of the later ones (s)",
)  # fmt: skip
EVALUATION = _metric("evaluate_s", "Evaluation time", TIME, "evaluation")
ACCURACY = _metric("accuracy", "Accuracy", SHARE)
PRECISION = _metric("map", "Mean average precision", SHARE)
GREEDY = _metric("greedy_accuracy", "Greedy accuracy", SHARE)
_ERROR = tuple(
    _metric(column, title, error_kind(title.lower()), words=column)
    for column, title in (
        ("mae", "Mean absolute error"), ("mse", "Mean squared error"), ("perplexity", "Perplexity")
    )
)  # fmt: skip
_BY_EPOCH = (ACCURACY, PRECISION, *_ERROR)
QUALITY = (*_BY_EPOCH, GREEDY)
"""On the test split."""
ON_TRAINING_ROWS = tuple(
    replace(
        one,
        column=f"train_{one.column}",
        title=f"{one.title} on the training split",
        words=f"{one.words} on the training split" if one is PRECISION else f"training {one.words}",
    )
    for one in _BY_EPOCH
)
OF_SEEDS = frozenset(metric.column for metric in (*QUALITY, *ON_TRAINING_ROWS))
"""Columns of what a seed decides: repeats of one are not independent, as those of times are."""
PEAK_EPOCH = _metric("peak_epoch", "Epoch of the peak", EPOCH, judged=False,
                     words="epoch at which the test curve is best")  # fmt: skip
AT_PEAK = tuple(
    replace(one, column=f"test_peak_{one.column}", title=f"{one.title} at the {where}",
            words=f"{one.words} at the {where}", judged=False)
    for one in _BY_EPOCH
    for where in (f"{'best' if one.kind.less_is_better else 'peak'} of the test curve",)
)  # fmt: skip
"""Chosen by the test rows: they describe a curve and are not results."""
INFERENCE = _metric("inference_s_per_thousand", "Inference of 1000 rows", TIME, "inference")
LATENCY = _metric("latency_ms_median", "Latency of one row", TIME, "latency", unit="ms",
                  words="median latency of one row (ms)")  # fmt: skip
LATENCY_P99 = _metric("latency_ms_p99", "Latency of one row, 99 %", TIME, unit="ms")
FORWARD = _metric("forward_ms", "Forward pass of a step", TIME, "forward", unit="ms",
                  words="forward pass of a step, measured apart (ms)")  # fmt: skip
BACKWARD = _metric("backward_ms", "Backward pass of a step", TIME, "backward", unit="ms",
                   words="backward pass of a step, measured apart (ms)")  # fmt: skip
HOST = _metric("host_ms_mean", "Host node in a step", TIME, "host", unit="ms",
               words="host node's time of a step (ms)", from_steps=True)  # fmt: skip
PADDING = _metric("padding_share", "Padding of the images", USE, factor=100.0, judged=False,
                  words="share of the pixels that is padding")  # fmt: skip
ASKED_FOR = (
    *QUALITY, *ON_TRAINING_ROWS, FORWARD, BACKWARD, HOST, INFERENCE, LATENCY, LATENCY_P99,
)  # fmt: skip
"""What is there only where a workload, a recipe or a user wants it: tables show it."""
PEAK_MEMORY = _metric("peak_memory_bytes", "Peak memory", MEMORY, "memory")
MEAN_MEMORY = _metric("memory_mean_bytes", "Mean memory", MEMORY)
GPU_MEMORY = _metric("gpu_memory_peak_bytes", "Peak GPU memory", MEMORY, "gpu_memory")
GPU_ENERGY = _metric("gpu_energy_j", "GPU energy", ENERGY, "energy")
CPU_ENERGY = _metric("cpu_energy_j", "CPU energy", ENERGY, "cpu_energy")
CPU = _metric("cpu_seconds", "CPU time", CPU_TIME)
CPU_USE = _metric("cpu_percent_mean", "CPU use", USE, "cpu", judged=False,
                  words="CPU use (% of the allotted cores)")  # fmt: skip
GPU_USE = _metric("gpu_util_percent_mean", "GPU use", USE, "gpu", judged=False)
MODEL_SIZE = _metric("model_bytes", "Saved model", SIZE, "model_size",
                     words="size of the saved weights (bytes)")  # fmt: skip
MODEL_SIZE_WITH_STATE = _metric(
    "model_with_optimizer_bytes", "Saved model with optimiser state", SIZE,
    words="size of the saved weights and optimiser state (bytes)",
)  # fmt: skip
_elsewhere = partial(_metric, in_report=False)
"""Compared on demand, and not shown by the report."""

KNOWN = (
    TRAINING, SPEED, STEP, FORWARD, BACKWARD, HOST, PADDING, *QUALITY, PEAK_MEMORY, MEAN_MEMORY,
    GPU_MEMORY, GPU_ENERGY, CPU_ENERGY, CPU, CPU_USE, GPU_USE, MODEL_SIZE, MODEL_SIZE_WITH_STATE,
    EVALUATION, FIRST_EPOCH, FIRST_EPOCH_EXCESS, INFERENCE, LATENCY, LATENCY_P99, *ON_TRAINING_ROWS,
    PEAK_EPOCH, *AT_PEAK,
    _elsewhere("loss", "Training loss", error_kind("training loss"),
               words="training loss of the last epoch"),
    _elsewhere("best_epoch", "Epoch of the result", EPOCH, judged=False),
    _elsewhere("cpu_percent_of_one_core", "CPU use in cores", USE, judged=False,
               words="CPU use (% of one core)"),
    _elsewhere("system_cpu_percent_mean", "CPU use of the machine", USE, judged=False,
               words="CPU use of the whole machine (%)"),
    _elsewhere("anon_peak_bytes", "Peak memory without file cache", MEMORY),
    _elsewhere("rss_main_peak_bytes", "Peak memory of the main process", MEMORY),
    _elsewhere("rss_main_mean_bytes", "Mean memory of the main process", MEMORY),
    _elsewhere("wall_s", "Time of the whole trial", TIME),
    _elsewhere("gpu_energy_j_per_thousand", "GPU energy for 1000 rows", ENERGY),
    _elsewhere("cpu_energy_j_per_thousand", "CPU energy for 1000 rows", ENERGY),
    _elsewhere("map_11", "Mean average precision (11 points)", SCORE, unit="%", factor=100.0),
    _elsewhere("boxes_found", "Boxes found", SCORE, unit="%", factor=100.0,
               words="share of boxes found"),
    _elsewhere("image_sizes", "Sizes of the images", USE, unit="", judged=False),
    _elsewhere("steady_s", "Steady training time", TIME, from_steps=True),
)  # fmt: skip
"""In the order in which the report shows them. All other columns are known by their name alone."""

_BY_COLUMN = {metric.column: metric for metric in KNOWN}
_BY_ALIAS = {metric.alias: metric for metric in KNOWN if metric.alias}
_SOME = "`dlbench list metrics` shows them all: time, step_ms, throughput, accuracy, memory, …"
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
