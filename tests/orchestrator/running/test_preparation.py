"""What can be known to fail is known before anything is prepared."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.preparation import GpuImpossible, prepare_data, prepare_environments
from dlbench.running.workshop import Workshop, open_workshop


class Unbuildable(Workshop):
    """Makes nothing but NumPy's environment, and sees no GPU."""

    def environment(self, release: Release, device: str, progress: object = None) -> str:
        if release.framework != "numpy":
            raise UserError("It can't be built.", "Try later.")
        return "python"

    def check(self, release: Release, device: str) -> None:
        release.lock(device)

    def gpu_refusal(self, release: Release) -> str | None:
        return "No GPU is seen here."


class Notes(CampaignObserver):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def prepared(choices: Choices, observer: CampaignObserver | None = None):
    workshop = Unbuildable(open_workshop("process").engine, None)
    trials = draft(choices, "process").trials
    return prepare_environments(trials, workshop, observer or CampaignObserver())


def test_a_failure_is_kept_for_its_trials() -> None:
    observer = Notes()
    environments = prepared(Choices(frameworks=("numpy", "jax")), observer)
    assert environments[releases.find("numpy").name, "cpu"] == "python"
    assert isinstance(environments[releases.find("jax").name, "cpu"], UserError)
    assert len(observer.notes) == 1
    assert "can't be built" in observer.notes[0]


def test_the_only_failure_ends_the_campaign() -> None:
    with pytest.raises(UserError, match="can't be built"):
        prepared(Choices(frameworks=("jax",)))


class WithoutPython36(Unbuildable):
    """Knows beforehand that a release can't be made here."""

    def check(self, release: Release, device: str) -> None:
        if release.python == ("3.6",):
            raise UserError("No Python 3.6 was found.", "Get one.")

    def environment(self, release: Release, device: str, progress: object = None) -> str:
        return "python"


def test_a_missing_interpreter_fails_its_release_only() -> None:
    old = next(r for r in releases.load_releases() if r.python == ("3.6",)).name
    workshop, observer = WithoutPython36(open_workshop("process").engine, None), Notes()
    trials = draft(Choices(frameworks=("numpy", old)), "process").trials
    environments = prepare_environments(trials, workshop, observer)
    assert environments[releases.find("numpy").name, "cpu"] == "python"
    assert isinstance(environments[old, "cpu"], UserError)
    assert observer.notes == [f"{old} will not run. No Python 3.6 was found. Get one."]
    alone = draft(Choices(frameworks=(old,)), "process").trials
    with pytest.raises(UserError, match=r"No Python 3\.6"):
        prepare_environments(alone, workshop, observer)


def test_a_gpu_that_is_not_there() -> None:
    environments = prepared(Choices(frameworks=("pytorch",), gpu="all"))
    (refusal,) = environments.values()
    assert isinstance(refusal, GpuImpossible)


def test_each_workload_gets_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path))
    chosen = Choices(frameworks=("numpy",), data="synthetic", repeats=2)
    data = prepare_data(draft(chosen, "process").trials, CampaignObserver())
    assert {name: each.source for name, each in data.items()} == {"digits-cnn": "synthetic"}
