"""A campaign's folder: append-only, crash-safe, readable by people. FORMATS.md describes it.

A file is written whole under another name and then renamed, so that whoever looks sees the old or
the new, never half. A trial without `trial.json` is unfinished, whatever else its folder holds.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.plan_file import read_plan
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError
from dlbench.planning.plan import Trial


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    making = path.with_name(f".{path.name}.new")
    with making.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    making.replace(path)


class Campaign:
    """One campaign on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, about: CampaignAbout, trials: Iterable[Trial]) -> Campaign:
        """A new campaign; the folder must not hold one yet."""
        campaign = cls(folder)
        campaign.check_new()
        try:
            (folder / "trials").mkdir(parents=True, exist_ok=True)
            campaign.write_plan(trials)
            campaign.write_about(about)  # last: with it the folder becomes a campaign
        except OSError as error:
            raise campaign._unwritable(error) from error
        return campaign

    def write_plan(self, trials: Iterable[Trial]) -> None:
        """All trials, in order of execution: a plan may grow, what is in it stays."""
        plan = "".join(json.dumps(trial.to_json()) + "\n" for trial in trials)
        write_whole(self.folder / "plan.jsonl", plan)

    def write_about(self, about: CampaignAbout) -> None:
        write_whole(self.folder / "campaign.json", json.dumps(about.to_json(), indent=1))

    def check_new(self) -> None:
        """Find out that results can't be written before an hour has gone into preparing them."""
        if self.exists():
            raise UserError(
                f"{self.folder} already holds a campaign.",
                f"Finish it with --resume {self.folder}, or choose another --out.",
            )
        parents = (self.folder, *self.folder.absolute().parents)
        probe = next(path for path in parents if path.exists()) / f".dlbench-{secrets.token_hex(4)}"
        try:
            probe.mkdir()
            probe.rmdir()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"{self.folder} can't be written ({error.strerror}).",
            "Choose another folder with --out.",
        )

    @classmethod
    def open(cls, folder: Path) -> Campaign:
        campaign = cls(folder)
        if not campaign.exists():
            raise UserError(
                f"{folder} holds no campaign.", "Give the folder that `dlbench run` named."
            )
        return campaign

    def exists(self) -> bool:
        return (self.folder / "campaign.json").is_file()

    def about(self) -> CampaignAbout:
        """campaign.json, checked."""
        path = self.folder / "campaign.json"
        try:
            return CampaignAbout.from_json(self._json(path), path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(path, error) from error

    def trials(self) -> list[Trial]:
        """The plan, in order of execution."""
        return [planned.trial for planned in read_plan(self.folder)]

    def trial_folder(self, trial: str) -> Path:
        return self.folder / "trials" / trial

    def result(self, trial: str) -> TrialResult | None:
        """How the trial ended; None while it has not."""
        path = self.trial_folder(trial) / "trial.json"
        if not path.is_file():
            return None
        try:
            return TrialResult.from_json(self._json(path), path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(path, error) from error

    def results(self) -> list[TrialResult]:
        """All ended trials, in the plan's order."""
        results = (self.result(trial.id) for trial in self.trials())
        return [result for result in results if result is not None]

    def write_result(self, result: TrialResult) -> None:
        folder = self.trial_folder(result.id)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "trial.json", json.dumps(result.to_json(), indent=1))

    def unfinished(self) -> list[Trial]:
        """What is still to be done: no result yet, or interrupted."""
        ended = {
            result.id for result in self.results() if result.outcome is not Outcome.INTERRUPTED
        }
        return [trial for trial in self.trials() if trial.id not in ended]

    def set_aside(self, trial: str) -> None:
        """Keep what an unfinished attempt left, out of the way of the next."""
        folder = self.trial_folder(trial)
        if not folder.exists():
            return
        attempts = self.folder / "attempts"
        attempts.mkdir(exist_ok=True)
        number = 1
        while (attempts / f"{trial}-{number}").exists():
            number += 1
        folder.rename(attempts / f"{trial}-{number}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the campaign: two orchestrators must not work on one."""
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UserError(
                    f"Another dlbench is working on {self.folder}.", "Wait for it to end."
                ) from error
            yield

    def _json(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self._damaged(path, error) from error
        if not isinstance(content, dict):
            raise self._damaged(path, "not an object")
        return content

    @staticmethod
    def _damaged(path: Path, why: object) -> UserError:
        return UserError(f"{path} is damaged ({why}).", "Restore it from a copy.")
