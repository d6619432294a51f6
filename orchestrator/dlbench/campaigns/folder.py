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
from functools import cached_property, partial
from pathlib import Path

from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.plain_files import check_folder, not_plain, read_record
from dlbench.campaigns.plan_file import PlannedTrial, read_plan
from dlbench.campaigns.trial_file import read_result
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError, damaged
from dlbench.planning.trial import Trial
from dlbench.whole_files import write_json, write_whole, writing

_ELSEWHERE = "Choose another folder with --out."


class Campaign:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, about: CampaignAbout, trials: Iterable[Trial]) -> Campaign:
        """A new campaign; the folder must not hold one yet."""
        campaign = cls(folder)
        campaign.check_new()
        with writing(folder, _ELSEWHERE):
            (folder / "trials").mkdir(parents=True, exist_ok=True)
            campaign.write_plan(trials)
            campaign.write_about(about)  # last: with it the folder becomes a campaign
        return campaign

    def write_plan(self, trials: Iterable[Trial]) -> None:
        """All trials, in order of execution: a plan may grow, what is in it stays."""
        plan = "".join(json.dumps(trial.to_json()) + "\n" for trial in trials)
        write_whole(self.folder / "plan.jsonl", plan)
        self.__dict__.pop("planned", None)  # what was read before is no longer all

    def write_about(self, about: CampaignAbout) -> None:
        write_json(self.folder / "campaign.json", about.to_json())

    def check_new(self) -> None:
        """Find out that results can't be written before an hour has gone into preparing them."""
        if self.exists():
            raise UserError(
                f"{self.folder} already holds a campaign.",
                f"Finish it with --resume {self.folder}, or choose another --out.",
            )
        parents = (self.folder, *self.folder.absolute().parents)
        probe = next(path for path in parents if path.exists()) / f".dlbench-{secrets.token_hex(4)}"
        with writing(self.folder, _ELSEWHERE):
            probe.mkdir()
            probe.rmdir()

    @classmethod
    def open(cls, folder: Path) -> Campaign:
        campaign = cls(folder)
        if not campaign.exists():
            raise UserError(
                f"{folder} holds no campaign.", "Give the folder that `dlbench run` named."
            )
        for name in ("trials", "certificates", "attempts"):
            check_folder(folder / name)
        return campaign

    def exists(self) -> bool:
        return os.path.lexists(self.folder / "campaign.json")

    def about(self) -> CampaignAbout:
        """campaign.json, checked."""
        path = self.folder / "campaign.json"
        about = read_record(path, partial(CampaignAbout.from_json, file=path))
        if about is None:
            raise damaged(path, "it is missing")
        assert isinstance(about, CampaignAbout)
        return about

    @cached_property
    def planned(self) -> tuple[PlannedTrial, ...]:
        """The plan, in order of execution."""
        return read_plan(self.folder, self.about().id)

    def trials(self) -> list[Trial]:
        """What was planned of each trial, in order of execution."""
        return [planned.trial for planned in self.planned]

    def trial_folder(self, trial: str) -> Path:
        return self.folder / "trials" / trial

    def result(self, trial: str) -> TrialResult | None:
        """How the trial ended; None while it has not."""
        return read_result(self.trial_folder(trial))

    def results(self) -> list[TrialResult]:
        """All ended trials, in the plan's order."""
        results = (self.result(trial.id) for trial in self.trials())
        return [result for result in results if result is not None]

    def write_result(self, result: TrialResult) -> None:
        folder = self.trial_folder(result.id)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "trial.json", result.to_json())

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
        path = self.folder / ".lock"
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if path.is_symlink():
            raise not_plain(path, "a link")
        with writing(self.folder, _ELSEWHERE):
            file = os.open(path, flags, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            raise UserError(
                f"Another dlbench is working on {self.folder}.", "Wait for it to end."
            ) from error
        try:
            yield
        finally:
            os.close(file)
