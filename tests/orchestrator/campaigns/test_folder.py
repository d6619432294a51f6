"""The campaign's folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError
from dlbench.planning.plan import Choices, draft


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    trials = draft(Choices(frameworks=("numpy",), repeats=3), "process").trials
    named = [replace(trial, id=f"trial{trial.index}") for trial in trials]
    return Campaign.create(tmp_path / "c", {"id": "abc"}, named)


def result(campaign: Campaign, index: int, outcome: Outcome = Outcome.OK) -> TrialResult:
    trial = campaign.trials()[index]
    return TrialResult(
        id=trial.id, index=index, round=trial.round, release=trial.release,
        workload=trial.workload, device="cpu", engine="process", setting="matched",
        variant=trial.variant, seed=trial.seed, repeat=trial.repeat, outcome=outcome, reason="",
        started="", wall_s=1.0, metrics={"accuracy": 0.5}, resources={},
    )  # fmt: skip


def test_what_is_written_is_read(campaign: Campaign) -> None:
    campaign.write_result(result(campaign, 1))
    assert campaign.result("trial1") == result(campaign, 1)
    assert [trial.id for trial in campaign.unfinished()] == ["trial0", "trial2"]


def test_interrupted_is_unfinished(campaign: Campaign) -> None:
    campaign.write_result(result(campaign, 0, Outcome.INTERRUPTED))
    campaign.write_result(result(campaign, 1, Outcome.CRASHED))
    assert [trial.id for trial in campaign.unfinished()] == ["trial0", "trial2"]


def test_attempts_are_kept(campaign: Campaign) -> None:
    for word in ("first", "second"):
        folder = campaign.trial_folder("trial0")
        folder.mkdir()
        (folder / "log.txt").write_text(word)
        campaign.set_aside("trial0")
    logs = sorted(path.read_text() for path in campaign.folder.glob("attempts/*/log.txt"))
    assert logs == ["first", "second"]
    assert not campaign.trial_folder("trial0").exists()


def test_a_torn_write_is_not_a_result(campaign: Campaign) -> None:
    folder = campaign.trial_folder("trial0")
    folder.mkdir()
    (folder / ".trial.json.new").write_text('{"v": 1, "outc')
    assert campaign.result("trial0") is None
    assert len(campaign.unfinished()) == 3


def test_two_orchestrators(campaign: Campaign) -> None:
    with (
        campaign.alone(),
        pytest.raises(UserError, match="Another dlbench"),
        Campaign(campaign.folder).alone(),
    ):
        pass


def test_never_over_another_campaign(campaign: Campaign) -> None:
    with pytest.raises(UserError, match="already holds a campaign"):
        Campaign.create(campaign.folder, {}, [])


@pytest.mark.parametrize("name", ["campaign.json", "plan.jsonl", "trials/trial0/trial.json"])
def test_damaged_files_are_named(campaign: Campaign, name: str) -> None:
    campaign.write_result(result(campaign, 0))
    (campaign.folder / name).write_text("{")
    with pytest.raises(UserError, match="damaged"):
        campaign.about()
        campaign.results()


def test_another_version(campaign: Campaign) -> None:
    (campaign.folder / "campaign.json").write_text(json.dumps({"v": 99}))
    with pytest.raises(UserError, match="another version"):
        campaign.about()
