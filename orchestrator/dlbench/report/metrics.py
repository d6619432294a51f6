"""The metrics that the report shows: where each is found, how it is compared and written."""

from __future__ import annotations

from dataclasses import dataclass

from dlbench.campaigns.trial_result import TrialResult
from dlbench.statistics.measurements import ENERGY, LOSS, MEMORY, SCORE, THROUGHPUT, TIME, Kind


@dataclass(frozen=True)
class Metric:
    key: str
    title: str
    unit: str
    kind: Kind
    factor: float = 1.0
    """From the unit on disk to the unit shown."""
    resource: bool = False
    or_larger: str = ""
    """Another resource that counts where it is larger."""

    @property
    def middle(self) -> str:
        """What stands for many values: where differences are of means, so are the values."""
        return "mean" if self.kind.scale == "difference" else "median"

    def of(self, result: TrialResult) -> float | None:
        found = _used(result) if self.resource else result.metrics
        value = _number(found.get(self.key))
        if self.or_larger:
            other = _number(found.get(self.or_larger))
            value = max((v for v in (value, other) if v is not None), default=None)
        return None if value is None else value * self.factor


def _used(result: TrialResult) -> dict[str, object]:
    return vars(result.resources) if result.resources else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


TRAINING = Metric("train_s", "Training time", "s", TIME)
SPEED = Metric("throughput", "Throughput", "rows/s", THROUGHPUT)
STEP = Metric("step_ms_median", "Step time", "ms", TIME)
ACCURACY = Metric("accuracy", "Accuracy", "%", SCORE, 100.0)
MAE = Metric("mae", "Mean absolute error", "", LOSS)
MSE = Metric("mse", "Mean squared error", "", LOSS)
PEAK_MEMORY = Metric(
    "memory_peak_bytes", "Peak memory", "MB", MEMORY, 1e-6, resource=True,
    or_larger="rss_main_peak_bytes",
)  # fmt: skip
GPU_MEMORY = Metric("gpu_memory_peak_bytes", "Peak GPU memory", "MB", MEMORY, 1e-6, resource=True)
GPU_ENERGY = Metric("gpu_energy_j", "GPU energy", "J", ENERGY, resource=True)
CPU = Metric("cpu_seconds", "CPU time", "s", TIME, resource=True)

COMPARED = (
    TRAINING, SPEED, STEP, ACCURACY, MAE, MSE, PEAK_MEMORY, GPU_MEMORY, GPU_ENERGY, CPU,
)  # fmt: skip
QUALITY = (ACCURACY, MAE, MSE)


def written(value: float | None, digits: int = 3) -> str:
    """A number with as many digits as help: 0.0123, 1.23, 123, 12,345."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = digits - 1
    while size >= 10 and decimals > 0:
        size, decimals = size / 10, decimals - 1
    while 0 < size < 1 and decimals < 6:
        size, decimals = size * 10, decimals + 1
    return f"{value:.{decimals}f}"


def ratio(value: float) -> str:
    return f"×{value:,.0f}" if value >= 100 else f"×{value:.{1 if value >= 10 else 2}f}"
