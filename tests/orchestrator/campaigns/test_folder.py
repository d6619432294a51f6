"""The campaign's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    trials = draft(Choices(frameworks=("numpy",), repeats=3), "process").trials
    named = [replace(trial, id=f"trial{trial.index}") for trial in trials]
    return Campaign.create(tmp_path / "c", CampaignAbout("abc"), named)


def result(campaign: Campaign, index: int, outcome: Outcome = Outcome.OK) -> TrialResult:
    trial = campaign.trials()[index]
    return TrialResult(
        id=trial.id, index=index, round=trial.round, release=trial.release,
        workload=trial.workload, device="cpu", engine="process", setting="matched",
        variant=trial.variant, seed=trial.seed, repeat=trial.repeat, outcome=outcome, reason="",
        started="", wall_s=1.0, metrics={"accuracy": 0.5},
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
        Campaign.create(campaign.folder, CampaignAbout("abc"), [])


@pytest.mark.parametrize("name", ["campaign.json", "plan.jsonl", "trials/trial0/trial.json"])
def test_damaged_files_are_named(campaign: Campaign, name: str) -> None:
    campaign.write_result(result(campaign, 0))
    (campaign.folder / name).write_text("{")
    again = Campaign(campaign.folder)
    with pytest.raises(UserError, match=f"{name} is damaged: line 1 is not JSON"):
        again.about()
        again.results()


@pytest.mark.parametrize("name", ["campaign.json", "plan.jsonl", "trials/trial0/trial.json"])
def test_another_version_is_refused(campaign: Campaign, name: str) -> None:
    campaign.write_result(result(campaign, 0))
    path = campaign.folder / name
    path.write_text(path.read_text().replace('"v": 1', '"v": 99'))
    again = Campaign(campaign.folder)
    with pytest.raises(UserError, match=f"{path.name} has format version 99") as caught:
        again.about()
        again.results()
    assert "the dlbench that wrote it" in caught.value.remedy


def test_a_plan_without_a_version_is_of_the_first(campaign: Campaign) -> None:
    planned, path = campaign.trials(), campaign.folder / "plan.jsonl"
    path.write_text(path.read_text().replace('"v": 1, ', ""))
    assert '"v"' not in path.read_text()
    assert Campaign(campaign.folder).trials() == planned


def test_a_folder_that_is_taken_or_closed(campaign: Campaign, tmp_path: Path) -> None:
    Campaign(tmp_path / "new" / "campaign").check_new()
    assert not (tmp_path / "new").exists()
    with pytest.raises(UserError, match="already holds a campaign"):
        campaign.check_new()
    with pytest.raises(UserError, match="can't be written"):
        Campaign(Path("/proc/nowhere")).check_new()
