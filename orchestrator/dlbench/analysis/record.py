"""One trial of a campaign: everything that was kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlbench.campaigns.array_file import Arrays, read_arrays
from dlbench.campaigns.event_file import read_events
from dlbench.campaigns.log_file import read_log
from dlbench.campaigns.plain_files import RESULT, read_record
from dlbench.campaigns.trial_file import read_result
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError, damaged
from dlbench.formats import Event
from dlbench.shapes import anything, table_of

if TYPE_CHECKING:
    from dlbench.analysis.confusion import Counts

_MOST_WEIGHTS = 4 << 30
_MOST_PREDICTIONS = 1 << 30
"""Bytes; what a trial wrote is not trusted."""


@dataclass(frozen=True)
class TrialRecord:
    id: str
    folder: Path

    @property
    def result(self) -> TrialResult:
        """trial.json: outcome, metrics, resources, curve, stack."""
        result = read_result(self.folder)
        if result is None:
            raise damaged(self.folder / RESULT, "it is missing")
        return result

    def job(self) -> dict[str, Any]:
        """The job its process read: graph, recipe, budget, data."""
        path = self.folder / "job.json"
        job: dict[str, Any] | None = read_record(path, table_of(anything))
        if job is None:
            raise damaged(path, "it is missing")
        return job

    def events(self) -> list[Event]:
        """What its process reported, `t` in seconds since its launch; torn lines are left out."""
        return read_events(self.folder / "events.jsonl")

    def log(self) -> str:
        """What it printed, the last 16 MiB of it."""
        return read_log(self.folder / "log.txt")

    def weights(self) -> Arrays:
        """The trained weights by name, in the canonical layout."""
        missing = UserError(
            f"Trial {self.id} kept no weights.", "Run the campaign with `dlbench run --save`."
        )
        return self._arrays("weights.npz", _MOST_WEIGHTS, missing)

    def predictions(self) -> Arrays:
        """The raw outputs on the test split."""
        missing = UserError(f"Trial {self.id} kept no predictions.", "It ended before it had any.")
        return self._arrays("predictions.npz", _MOST_PREDICTIONS, missing)

    def confusion(self) -> Counts:
        """How often each class (a row) was taken for each (a column), on the test split."""
        from dlbench.analysis.confusion import counts_of, labels_of

        labels = labels_of(self)
        counts = counts_of(self, labels) if labels else None
        if counts is None:
            raise UserError(
                f"Trial {self.id} has no confusion matrix.",
                f"Its labels are not in the data cache: `dlbench data fetch {labels.data}`."
                if labels and labels.values is None
                else "It takes predictions of one class a row, scored by accuracy.",
            )
        return counts

    def _arrays(self, name: str, most_bytes: int, missing: UserError) -> Arrays:
        path = self.folder / "out" / name
        if not path.exists():
            raise missing
        return read_arrays(path, most_bytes)
