"""The names of metrics: short ones for people, columns for tables, and how each is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dlbench.analysis.columns import TRIALS
from dlbench.errors import UserError, unknown
from dlbench.statistics.measurements import ENERGY, LOSS, MEMORY, SCORE, THROUGHPUT, TIME, Kind

ALIASES = {
    "time": "train_s",
    "step_ms": "step_ms_median",
    "memory": "peak_memory_bytes",
    "cpu": "cpu_percent_mean",
    "gpu": "gpu_util_percent_mean",
    "gpu_memory": "gpu_memory_peak_bytes",
    "energy": "gpu_energy_j",
}
"""Short names; `accuracy`, `loss`, `throughput` and every other column are named as they are."""

_WORDS = {
    "train_s": "training time (s)",
    "step_ms_median": "median step time (ms)",
    "peak_memory_bytes": "peak memory (bytes)",
    "cpu_percent_mean": "CPU use (%)",
    "throughput": "throughput (rows/s)",
    "accuracy": "accuracy",
    "gpu_energy_j": "GPU energy (J)",
}
_SOME = "Metrics are time, step_ms, throughput, accuracy, memory, cpu and more: see `--help`."
_ERRORS = ("loss", "error", "mae", "mse", "perplexity")
_NO_METRICS = frozenset(column.name for column in TRIALS if column.name != "wall_s") | {
    "epochs", "steps", "samples", "resource_source", "resource_samples",
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """A column of the trials' table that can be compared."""

    column: str
    kind: Kind

    @property
    def words(self) -> str:
        return _WORDS.get(self.column, self.column)

    @property
    def from_steps(self) -> bool:
        """Whether unsteady steps weaken it."""
        return self.column.startswith("step_ms") or self.column in (
            "throughput",
            "train_s",
            "steady_s",
        )


def find_metric(name: str, columns: Mapping[str, Any]) -> Metric:
    """`columns` is the schema of the trials' table."""
    column = ALIASES.get(name, name)
    numeric = [c for c, dtype in columns.items() if dtype.is_float() and c not in _NO_METRICS]
    if column in columns and column not in numeric:
        raise UserError(
            f"{column!r} describes a trial, it is no metric.",
            _SOME,
        )
    if column not in numeric:
        error = unknown("metric", name, [*ALIASES, *numeric])
        raise UserError(error.problem, error.remedy or _SOME)
    return Metric(column, kind_of(column))


def kind_of(column: str) -> Kind:
    """Whether less or more is better, and by ratio or difference."""
    if column == "throughput":
        return THROUGHPUT
    if column.endswith("_bytes"):
        return MEMORY
    if column.endswith(("_s", "_ms")) or column.startswith("step_ms"):
        return TIME
    if "_percent" in column or column.endswith(("_j", "_w_mean", "_seconds")):
        return ENERGY
    return LOSS if any(word in column for word in _ERRORS) else SCORE
