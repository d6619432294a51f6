"""One trial of a campaign: everything that was kept of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.analysis.arrays import Arrays, read_arrays
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError
from dlbench.formats import BadEvent, Event, parse_event

_LOG = 16 << 20


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
            path = self.folder / "trial.json"
            raise UserError(f"{path} is damaged ({error}).", "Restore it from a copy.") from error

    def job(self) -> dict[str, Any]:
        """The job its process read: graph, recipe, budget, data."""
        return self._json("job.json")

    def events(self) -> list[Event]:
        """What its process reported, `t` in seconds since its launch; torn lines are left out."""
        found = []
        for line in self._bytes("events.jsonl").split(b"\n"):
            if line.strip():
                try:
                    found.append(parse_event(line))
                except BadEvent:
                    continue
        return found

    def log(self) -> str:
        """What it printed, the last 16 MiB of it."""
        return self._bytes("log.txt")[-_LOG:].decode(errors="replace")

    def weights(self) -> Arrays:
        """The trained weights by name, in the canonical layout."""
        path = self.folder / "out" / "weights.npz"
        if not path.exists():
            raise UserError(
                f"Trial {self.id} kept no weights.", "Run the campaign with `dlbench run --save`."
            )
        return read_arrays(path)

    def predictions(self) -> Arrays:
        """The raw outputs on the test split."""
        path = self.folder / "out" / "predictions.npz"
        if not path.exists():
            raise UserError(f"Trial {self.id} kept no predictions.", "It ended before it had any.")
        return read_arrays(path)

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return b""

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{path} is damaged ({error}).", "Restore it from a copy.") from error
        return content if isinstance(content, dict) else {}
