"""What the studies measured, by the names of their tables, and the columns of trials that hold it.

The unit is that of the published figures; `factor` turns the column's into it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlbench.statistics.measurements import LOSS, MEMORY, SCORE, SHARE, SIZE, TIME, USE, Kind
from dlbench.statistics.words import number

_MIB = 1 / 2**20
_LONG = 600.0
"""Seconds from which a time is written as h:mm:ss."""


@dataclass(frozen=True)
class Quantity:
    words: str
    column: str
    """Of the trials' table; empty: it is made of several trials."""
    kind: Kind
    unit: str = ""
    factor: float = 1.0
    gpu_column: str = ""
    """Where it is another one for trials on a GPU."""
    any_device: bool = False
    """The device changes it by rounding alone: a trial on another one can tell."""
    needs_real_data: bool = False
    any_scale: bool = False
    """Neither epochs nor rows change it."""
    failures_count: bool = True
    """A run that failed is worse than any other; not so where less or more is no merit."""

    def column_on(self, device: str) -> str:
        return self.gpu_column if self.gpu_column and device == "gpu" else self.column

    def shown(self, value: float, sd: float | None = None) -> str:
        """In the unit of the published figures: `80.1 ± 0.3 %`, `7.2 ± 0.1 s`, `1:10:30`."""
        if self.kind is SHARE:
            value, sd = 100 * value, None if sd is None else 100 * sd
        if self.unit == "h:mm:ss":
            spread = "" if sd is None else f" ± {number(sd, 2)} s"
            if value >= _LONG:
                minutes, seconds = divmod(round(value), 60)
                return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}{spread}"
            return f"{number(value, 3)}{spread}" if spread else f"{number(value, 3)} s"
        spread = "" if sd is None else f" ± {number(sd, 2)}"
        if not self.unit and sd is None and value >= 1e5 and value == round(value):
            return f"{value:,.0f}"  # a number of things
        return f"{number(value, 4)}{spread} {self.unit}".rstrip()


def _quality(words: str, column: str, kind: Kind, unit: str = "") -> Quantity:
    return Quantity(words, column, kind, unit, any_device=True, needs_real_data=True)


def _use(
    words: str, column: str, kind: Kind, unit: str, factor: float = 1.0, gpu: str = ""
) -> Quantity:
    return Quantity(words, column, kind, unit, factor, gpu, failures_count=False)


QUANTITIES = {
    "accuracy": _quality("accuracy", "accuracy", SHARE, "%"),
    "mae": _quality("mean absolute error", "mae", LOSS, "eV/atom"),
    "mse": _quality("mean squared error", "mse", LOSS),
    "training_accuracy": _quality("accuracy on the training rows", "train_accuracy", SHARE, "%"),
    "training_mse": _quality("mean squared error on the training rows", "train_mse", LOSS),
    "peak_epoch": _quality("peak epoch", "peak_epoch", LOSS),
    "convergence": _quality("mean accuracy over the epochs", "curve_accuracy", SHARE, "%"),
    "epoch_correlation": Quantity(
        "correlation of epoch and accuracy (Pearson)", "epoch_correlation", LOSS, any_device=True,
        failures_count=False,
    ),
    "train_time": Quantity("training time", "train_s", TIME, "h:mm:ss"),
    "test_time": Quantity("time to predict 1000 rows", "inference_s_per_thousand", TIME, "s"),
    "inference_time": Quantity("time to predict 1000 rows", "inference_s_per_thousand", TIME, "s"),
    "first_epoch_time": Quantity("time of the first epoch", "first_epoch_s", TIME, "s"),
    "first_epoch_excess": Quantity(
        "excess time of the first epoch", "first_epoch_excess_s", LOSS, "s"
    ),
    "speedup": Quantity("speed-up from CPU to GPU", "", TIME, failures_count=False),
    "cpu_percent": _use("CPU use", "cpu_percent_mean", USE, "%"),
    "gpu_percent": _use("GPU use", "gpu_util_percent_mean", USE, "%"),
    "memory": _use("memory use", "memory_mean_bytes", MEMORY, "MiB", _MIB, "gpu_memory_peak_bytes"),
    "gpu_memory": _use("GPU memory", "gpu_memory_peak_bytes", MEMORY, "MiB", _MIB),
    "model_size": Quantity(
        "size of the saved model", "saved_bytes", SIZE, "MiB", _MIB, any_device=True,
        any_scale=True, failures_count=False,
    ),
    "parameters": Quantity(
        "number of parameters", "parameters", MEMORY, any_device=True, any_scale=True,
        failures_count=False,
    ),
    "mae_sd_fixed_seed": Quantity("spread of the error at one seed", "mae", LOSS, "eV/atom"),
    "accuracy_gap": _quality("difference of accuracies", "", SHARE, "%"),
    "mutual_information": _quality("mutual information with the difference", "", SCORE),
}  # fmt: skip
