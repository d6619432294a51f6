"""One trial of a campaign: everything that was kept of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.campaigns.array_file import Arrays, read_arrays
from dlbench.campaigns.event_file import read_events
from dlbench.campaigns.plain_files import read_file
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError, damaged
from dlbench.formats import Event

_LOG = 16 << 20
_MOST_WEIGHTS = 4 << 30
_MOST_PREDICTIONS = 1 << 30
"""Bytes; what a trial wrote is not trusted."""


@dataclass(frozen=True)
class TrialRecord:
    """A trial that has ended, with its files."""

    id: str
    folder: Path

    @property
    def result(self) -> TrialResult:
        """trial.json: outcome, metrics, resources, curve, stack."""
        try:
            return TrialResult.from_json(self._json("trial.json"))
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.folder / "trial.json", error) from error

    def job(self) -> dict[str, Any]:
        """The job its process read: graph, recipe, budget, data."""
        return self._json("job.json")

    def events(self) -> list[Event]:
        """What its process reported, `t` in seconds since its launch; torn lines are left out."""
        return read_events(self.folder / "events.jsonl")

    def log(self) -> str:
        """What it printed, the last 16 MiB of it."""
        return (read_file(self.folder / "log.txt") or b"")[-_LOG:].decode(errors="replace")

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

    def _arrays(self, name: str, most_bytes: int, missing: UserError) -> Arrays:
        path = self.folder / "out" / name
        if not path.exists():
            raise missing
        return read_arrays(path, most_bytes)

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(path, error) from error
        return content if isinstance(content, dict) else {}
