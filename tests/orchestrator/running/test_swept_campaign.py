"""A sweep as a campaign: what each point's job holds, how it is resumed, what its results say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dlbench
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial
from dlbench.report.records import command_of
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import resume, start
from dlbench.running.jobs import identified, job_of
from dlbench.running.preparation import prepare_data
from dlbench.running.workshop import Workshop, open_workshop
from tests.orchestrator.running.scripted import script

SWEEP = Choices(frameworks=("numpy",), sweep=("batch=8,16", "threads=1,2"), scale="0.1", repeats=2)


@pytest.fixture
def workshop() -> Workshop:
    return open_workshop("process")


def seconds(trial: Trial) -> float:
    return 1.0 + trial.seed / 100


def test_every_point_has_its_own_job_and_identity(tmp_path: Path) -> None:
    trials = draft(SWEEP, "process").trials
    data = prepare_data(trials, CampaignObserver())
    named = identified(trials, data)
    assert len({trial.id for trial in named}) == len(named) == 8
    for trial in named:
        job = job_of(trial, data[trial.workload])
        assert f"batch={job['recipe']['batch']} threads={job['threads']}" == trial.point
        assert job["data"]["rows"] == {"train": 144, "test": 36}
    whole = draft(Choices(frameworks=("numpy",), repeats=1), "process").trials
    assert job_of(whole[0], data["digits-cnn"])["data"]["rows"] is None
    proof = job_of(named[0], data["digits-cnn"], "verify")
    assert proof["data"]["rows"] is None, "a proof needs all rows of its small data"


def test_a_swept_campaign_is_resumed_and_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    ran = script(monkeypatch, lambda trial: 0.0 if len(ran) == 4 else seconds(trial))
    start(SWEEP, workshop, tmp_path / "c", CampaignObserver())
    monkeypatch.undo()
    ran = script(monkeypatch, seconds)
    finished = resume(tmp_path / "c", workshop, CampaignObserver(), Choices(frameworks=("jax",)))
    assert len(finished.campaign.trials()) == 16
    assert all(result.complete for result in finished.results)
    trials = dlbench.open(tmp_path / "c").trials()
    assert set(trials["point"]) == {f"batch={b} threads={t}" for b in (8, 16) for t in (1, 2)}
    assert set(trials["changes"]) == {"batch=8", "batch=16"}
    assert set(trials["scale"]) == {"0.1"}
    assert set(trials["train_rows"]) == {144}
    about = json.loads((tmp_path / "c" / "campaign.json").read_text())
    assert about["choices"]["sweep"] == ["batch=8,16", "threads=1,2"]
    assert about["choices"]["scale"] == "0.1"


def test_the_command_of_a_trial_runs_just_this_trial() -> None:
    trial = draft(SWEEP, "process").trials[0]
    words = command_of(trial).split()[2:]
    found = {flag: words[i + 1] for i, flag in enumerate(words) if flag.startswith("--")}
    assert found["--sweep"] == trial.changes[0]
    assert (found["--scale"], found["--threads"]) == ("0.1", str(trial.threads))
    again = draft(
        Choices(frameworks=(found["--framework"],), sweep=(found["--sweep"],), repeats=1,
                threads=found["--threads"], scale=found["--scale"], epochs=8), "process"
    ).trials  # fmt: skip
    assert [(t.changes, t.threads, t.share) for t in again] == [
        (trial.changes, trial.threads, trial.share)
    ]
