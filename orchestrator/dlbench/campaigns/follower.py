"""Follows a campaign that another process runs, from the files it writes: nothing else is needed.

The plan names the trials; a trial whose folder has no `trial.json` yet is running; its events and
samples are read as they grow. Nothing is locked or written, so that following disturbs nothing.
`dlbench watch` (cli/watch.py) shows what is read here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlbench.campaigns.event_file import parse_events
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.plain_files import check_folder
from dlbench.campaigns.trial_result import TrialResult
from dlbench.engines.outfolder import open_regular
from dlbench.formats import LONGEST_LINE, Event
from dlbench.monitor.samples import Sample, parse_sample
from dlbench.planning.trial import Trial

_MOST_AT_ONCE = 2 * LONGEST_LINE
_SILENT_S = 30.0
"""A campaign whose lock is free and that wrote nothing for so long has been stopped."""


@dataclass(frozen=True)
class TrialStarted:
    trial: Trial


@dataclass(frozen=True)
class TrialEnded:
    trial: Trial
    result: TrialResult


News = TrialStarted | TrialEnded | Event | Sample
"""Events and samples belong to the trial that was started last."""


class CampaignFollower:
    """Each call of `news` reads what is new; it never waits."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.trials = campaign.trials()
        self._open = {trial.id: trial for trial in self.trials}
        self._running: str | None = None
        self._events: _Tail | None = None
        self._samples: _Tail | None = None
        self._last_news = time.monotonic()

    @property
    def left(self) -> int:
        """Trials that have not ended."""
        return len(self._open)

    def news(self) -> Iterator[News]:
        """What happened since the last time, in order."""
        for piece in self._news():
            self._last_news = time.monotonic()
            yield piece

    def _news(self) -> Iterator[News]:
        for trial in list(self._open.values()):
            result = self.campaign.result(trial.id)
            if result is None:
                continue
            if trial.id == self._running:
                yield from self._grown()
                self._running = None
            del self._open[trial.id]
            yield TrialEnded(trial, result)
        # only one trial runs at a time, and trials run in the plan's order
        for trial in self._open.values():
            folder = self.campaign.trial_folder(trial.id)
            check_folder(folder)
            if folder.is_dir():
                if trial.id != self._running:
                    self._running = trial.id
                    self._events = _Tail(folder / "events.jsonl")
                    self._samples = _Tail(folder / "samples.jsonl")
                    yield TrialStarted(trial)
                break
        yield from self._grown()

    def _grown(self) -> Iterator[News]:
        if self._running is None or self._events is None or self._samples is None:
            return
        yield from parse_events(self._events.new())
        for line in self._samples.new():
            sample = parse_sample(line)
            if sample is not None:
                yield sample

    def grown(self) -> bool:
        """Whether trials were added to the plan; they are followed from now on."""
        if self._open:
            return False
        self.campaign = Campaign(self.campaign.folder)  # it reads its plan once
        trials = self.campaign.trials()
        more = trials[len(self.trials) :]
        self._open = {trial.id: trial for trial in more}
        self.trials = trials
        return bool(more)

    def ended(self) -> bool:
        """Whether nothing is left and nothing will be added."""
        return not self._open and not (self.running() and self.campaign.about().looks_left)

    def running(self) -> bool:
        """Whether a process works on it."""
        return held(self.campaign.folder / ".lock")

    def stopped(self) -> bool:
        """Whether no process works on it any more, although trials are left."""
        silent = time.monotonic() - self._last_news
        return silent > _SILENT_S and not self.running()


class _Tail:
    """The whole lines that a file has grown by, some megabytes of them at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._position = path, 0

    def new(self) -> list[bytes]:
        try:
            with open_regular(self._path) as file:
                file.seek(self._position)
                piece = file.read(_MOST_AT_ONCE)
        except OSError:
            return []
        end = piece.rfind(b"\n") + 1
        if not end and len(piece) == _MOST_AT_ONCE:  # no line is so long
            end = len(piece)
        self._position += end
        return piece[:end].split(b"\n")[:-1]


def held(lock: Path) -> bool:
    """Whether a process of this machine holds the lock. Asking the kernel does not touch it."""
    try:
        inode = lock.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return False
    return any(f":{inode} " in line and " FLOCK " in line for line in lines)
