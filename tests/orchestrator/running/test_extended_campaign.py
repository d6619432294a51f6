"""More of a campaign: repeats, releases, workloads; and rounds until the leader is known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dlbench
from dlbench.campaigns.folder import Campaign
from dlbench.errors import UserError
from dlbench.planning.choices import Choices
from dlbench.planning.trial import Trial
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import resume, start
from dlbench.running.workshop import Workshop, open_workshop
from tests.orchestrator.command import Command
from tests.orchestrator.running.scripted import script

TWO = ("numpy", "jax")


@pytest.fixture
def workshop() -> Workshop:
    return open_workshop("process")


class Seen(CampaignObserver):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.looks: list[tuple[int, bool]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def looked(self, repeats: int, known: bool) -> None:
        self.looks.append((repeats, known))


def apart(trial: Trial) -> float:
    """JAX is twice as fast, and no two runs are alike."""
    return (1.0 if trial.framework == "jax" else 2.0) + trial.seed / 100


def alike(trial: Trial) -> float:
    return 1.0 + random.Random(trial.id).random()


@pytest.fixture(autouse=True)
def _framework(monkeypatch: pytest.MonkeyPatch) -> None:
    name = property(lambda trial: trial.release.partition("@")[0])
    monkeypatch.setattr(Trial, "framework", name, raising=False)


def test_repeats_are_added_and_nothing_is_done_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    ran = script(monkeypatch, apart)
    start(Choices(frameworks=TWO, repeats=3), workshop, tmp_path / "c", CampaignObserver())
    seen = Seen()
    finished = resume(tmp_path / "c", workshop, seen, Choices(repeats=5))
    assert len(ran) == 10
    assert len({trial.id for trial in ran}) == 10
    trials = finished.campaign.trials()
    assert [trial.index for trial in trials] == list(range(10))
    assert sorted({(trial.round, trial.seed) for trial in trials}) == [
        (0, 1), (1, 2), (2, 3), (3, 4), (4, 5),
    ]  # fmt: skip
    assert any("5 runs of each of 2 contenders can show" in note for note in seen.notes)
    assert resume(tmp_path / "c", workshop, CampaignObserver()).results == finished.results
    assert len(ran) == 10, "a complete campaign was run again"


def test_releases_and_workloads_are_added_in_rounds_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    script(monkeypatch, apart)
    chosen = Choices(frameworks=TWO, repeats=2, data="synthetic", epochs=3, threads="1")
    start(chosen, workshop, tmp_path / "c", CampaignObserver())
    more = Choices(against=("chainer", "jax"), workloads=("mnist-cnn",))
    trials = resume(tmp_path / "c", workshop, CampaignObserver(), more).campaign.trials()
    first, added = trials[:4], trials[4:]
    contenders = {(trial.workload, trial.framework) for trial in added}
    assert contenders == {
        ("digits-cnn", "chainer"), ("mnist-cnn", "numpy"), ("mnist-cnn", "jax"),
        ("mnist-cnn", "chainer"),
    }  # fmt: skip
    assert {trial.round for trial in first} == {0, 1}
    assert {trial.round for trial in added} == {2, 3}, "a late trial is not of an earlier round"
    assert {trial.seed for trial in added} == {1, 2}
    same = {(t.epochs, t.data, t.threads, t.seconds, t.engine) for t in trials}
    assert len(same) == 1, "what is added runs under other conditions"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (Choices(repeats=2), "3 are planned already"),
        (Choices(seed=7), "--repeats"),
        (Choices(repeats=5, seed=3), "Give a --seed above 3"),
        (Choices(at_most=9), "--until"),
        (Choices(repeats=10**12), "more than the 100,000 trials"),
        (Choices(repeats=5, seed=-9), "--seed -9 is not possible"),
        (Choices(repeats=5, seed=2**31 - 1), "is not possible"),
        (Choices(frameworks=("nmpy",)), "Did you mean 'numpy'"),
        (Choices(workloads=("proof-two-branch",)), "dlbench verify"),
    ],
)
def test_what_can_not_be_added_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop, more: Choices, words: str
) -> None:
    script(monkeypatch, apart)
    start(Choices(frameworks=TWO, repeats=3), workshop, tmp_path / "c", CampaignObserver())
    with pytest.raises(UserError) as caught:
        resume(tmp_path / "c", workshop, CampaignObserver(), more)
    assert words in str(caught.value)
    assert len(Campaign(tmp_path / "c").trials()) == 6


def test_seeds_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    script(monkeypatch, apart)
    start(Choices(frameworks=TWO, repeats=2), workshop, tmp_path / "c", CampaignObserver())
    more = Choices(repeats=4, seed=100)
    trials = resume(tmp_path / "c", workshop, CampaignObserver(), more).campaign.trials()
    assert sorted({trial.seed for trial in trials}) == [1, 2, 100, 101]
    trials = resume(
        tmp_path / "c", workshop, CampaignObserver(), Choices(repeats=5)
    ).campaign.trials()
    assert sorted({trial.seed for trial in trials}) == [1, 2, 100, 101, 102]


def test_it_goes_on_until_the_leader_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    ran, seen = script(monkeypatch, apart), Seen()
    chosen = Choices(frameworks=TWO, until="decided", at_most=20)
    finished = start(chosen, workshop, tmp_path / "c", seen)
    about = finished.campaign.about()
    assert seen.looks == [(about.looks[0], True)], "a clear difference takes one look"
    assert len(ran) == 2 * about.looks[0]
    assert about.looked == (True,)
    assert any(f"{len(about.looks)} looks" in note for note in seen.notes)
    resume(tmp_path / "c", workshop, seen)
    assert len(ran) == 2 * about.looks[0], "it was decided already"
    with pytest.raises(UserError, match="error rate"):
        resume(tmp_path / "c", workshop, seen, Choices(repeats=40))


def test_it_ends_at_the_most_where_there_is_no_leader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    ran, seen = script(monkeypatch, alike), Seen()
    chosen = Choices(frameworks=TWO, until="decided", at_most=9)
    finished = start(chosen, workshop, tmp_path / "c", seen)
    assert [repeats for repeats, _ in seen.looks] == list(finished.campaign.about().looks)
    assert not any(known for _, known in seen.looks)
    assert len(ran) == 2 * 9


def test_an_interrupted_one_goes_on_looking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    limit = {"trials": 15}

    def seconds(trial: Trial) -> float:
        limit["trials"] -= 1
        return alike(trial) if limit["trials"] >= 0 else 0.0

    script(monkeypatch, seconds)
    chosen = Choices(frameworks=TWO, until="decided", at_most=9)
    finished = start(chosen, workshop, tmp_path / "c", CampaignObserver())
    assert finished.interrupted
    looked = finished.campaign.about().looked
    limit["trials"] = 100
    finished = resume(tmp_path / "c", workshop, CampaignObserver())
    about = finished.campaign.about()
    assert len(looked) < len(about.looked) == len(about.looks)
    assert len(finished.results) == 18


def test_another_machine_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop: Workshop
) -> None:
    script(monkeypatch, apart)
    start(Choices(frameworks=TWO, repeats=1), workshop, tmp_path / "c", CampaignObserver())
    path = tmp_path / "c" / "campaign.json"
    here = Campaign(tmp_path / "c").about().machine["digest"]
    path.write_text(path.read_text().replace(here, "0" * len(here)))
    with pytest.raises(UserError, match="another machine"):
        resume(tmp_path / "c", workshop, CampaignObserver(), Choices(repeats=2))


def test_ignored_options_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: Command
) -> None:
    script(monkeypatch, apart)
    out = tmp_path / "c"
    assert command("run", *TWO, "--engine", "process", "--repeats", "1", "--out", out).code == 0
    done = command("run", "--resume", out, "--epochs", "3", "--suite", "quick", "--repeats", "2")
    assert done.code == 2
    assert "--suite and --epochs can't be changed" in done.err
    assert command("run", "--resume", out, "--out", tmp_path / "d").code == 2
    assert len(Campaign(out).trials()) == 2
    planned = command("plan", "--resume", out, "--repeats", "3", "--json")
    assert planned.code == 0, planned.err
    assert [trial["repeat"] for trial in planned.json["trials"]] == [1, 1, 2, 2]
    assert len(Campaign(out).trials()) == 2, "plan has changed the campaign"


def test_too_few_runs_end_with_the_next_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: Command
) -> None:
    script(monkeypatch, apart)
    out = tmp_path / "c"
    done = command("run", *TWO, "--engine", "process", "--repeats", "3", "--out", out)
    assert done.code == 0, done.err
    assert "3 runs of each can't show a difference between 2 contenders" in done.err
    assert "was the quickest on digits-cnn so far" in done.out
    assert "prove nothing" in done.out
    assert f"dlbench run --resume {out} --repeats 5" in done.out
    again = command("run", "--resume", out, "--repeats", "5")
    assert again.code == 0, again.err
    assert "is the fastest on digits-cnn" in again.out
    assert "prove nothing" not in again.out
    assert f"dlbench report {out} --open" in again.out


def test_a_campaign_from_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = script(monkeypatch, apart)
    monkeypatch.chdir(tmp_path)
    results = dlbench.run("jax", frameworks="numpy", repeats=2, engine="process", label="first try")
    (folder,) = Path("results").iterdir()
    assert folder.name.endswith("-first-try")
    assert len(results.trials()) == len(ran) == 4
    assert len(dlbench.run(resume=folder, repeats=3).trials()) == 6
    with pytest.raises(UserError, match="Did you mean 'repeats'"):
        dlbench.run("jax", repeat=2)
    with pytest.raises(UserError, match="--epochs can't be changed"):
        dlbench.run(resume=folder, epochs=2)
