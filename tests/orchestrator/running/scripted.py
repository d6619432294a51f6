"""Whole campaigns without a process: a script says how long each trial trains and how it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dlbench.campaigns.outcomes import Outcome
from dlbench.engines.base import Request
from dlbench.formats import Event
from dlbench.planning.trial import Trial
from dlbench.running import campaign_run
from dlbench.running.certificates import Certificate
from dlbench.running.execute import Execution

Seconds = Callable[[Trial], float]


def script(monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> list[Trial]:
    """From now on trials end at once, as if they had trained so long; the list gets each of them.

    A trial of no seconds is interrupted."""
    ran: list[Trial] = []
    planned: dict[str, Trial] = {}
    identify = campaign_run.identified

    def identified(trials, data):
        named = identify(trials, data)
        planned.update({trial.id: trial for trial in named})
        return named

    def execute(_engine: object, request: Request, _folder: Path, **_: object) -> Execution:
        trial = planned[request.trial]
        ran.append(trial)
        took = seconds(trial)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        if not took:
            return Execution(Outcome.INTERRUPTED, "Interrupted by the user.", now, 0.0, ())
        return Execution(Outcome.OK, "", now, took + 1, _events(took))

    def certify(_workshop, _environment, release, workload, *, device, variant, **_):
        names = release.name, workload.name, variant, device
        key = re.sub(r"\W", "-", "-".join(names))
        return Certificate(key, *names, "process", True, ())

    def environments(trials, _workshop, _observer):
        return {(trial.release, trial.device): "python" for trial in trials}

    monkeypatch.setattr(campaign_run, "identified", identified)
    monkeypatch.setattr(campaign_run, "execute", execute)
    monkeypatch.setattr(campaign_run, "certify", certify)
    monkeypatch.setattr(campaign_run, "prepare_environments", environments)
    monkeypatch.setattr("dlbench.planning.notices.busy_share", lambda: 0.0)
    return ran


def _events(took: float) -> tuple[Event, ...]:
    epoch = {
        "epoch": 1, "loss": 0.5, "first_losses": [0.5], "steps_ms": [1000 * took], "data_ms": [0.0],
        "metrics": {"accuracy": 0.9}, "train_s": took, "first": 0,
    }  # fmt: skip
    result = {"metrics": {"accuracy": 0.9}, "loss": 0.5, "epochs": 1, "steps": 1, "samples": 32}
    return (
        Event(took, "phase", {"phase": "train", "seconds": took}),
        Event(took, "epoch", epoch),
        Event(took, "result", result),
    )
