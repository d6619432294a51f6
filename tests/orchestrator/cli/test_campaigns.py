"""`dlbench campaigns`: what is in results/, what each compares, in which state it is."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from dlbench.campaigns.campaign_list import campaign_name, fresh_folder
from dlbench.campaigns.outcomes import Outcome
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from tests.orchestrator.analysis.campaigns import Cell, write
from tests.orchestrator.command import Command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def test_none(here: Path, command: Command) -> None:
    done = command("campaigns")
    assert (done.code, "`dlbench run` makes one" in done.out) == (0, True)
    assert command("campaigns", "--json").json == []


def test_the_newest_first_with_states(here: Path, command: Command) -> None:
    for age, name in enumerate(("complete", "unfinished", "running", "damaged")):
        folder = write(here / name, [Cell("a@1", [1.0, 2.0]), Cell("b@1", [1.0, 2.0])], name=name)
        for part in ("campaign.json", "plan.jsonl", "trials"):
            os.utime(folder / part, (1e9 - age, 1e9 - age))
    next((here / "unfinished" / "trials").glob("*/trial.json")).unlink()
    (here / "damaged" / "campaign.json").write_text("{")
    os.utime(here / "damaged" / "campaign.json", (1e9 - 9, 1e9 - 9))
    (here / "not a campaign").mkdir()
    with (here / "running" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = command("campaigns", "--json").json
        text = command("campaigns").out
    assert [(Path(row["folder"]).name, row["state"]) for row in rows] == [
        ("complete", "complete"), ("unfinished", "unfinished"), ("running", "running"),
        ("damaged", "damaged"),
    ]  # fmt: skip
    assert rows[1]["ended"] == 3 and rows[1]["planned"] == 4
    assert rows[0]["contenders"] == ["a@1", "b@1"]
    assert "3 of 4" in text and "a@1, b@1" in text
    assert "is damaged" in text


def test_failed_trials_are_counted(here: Path, command: Command) -> None:
    ok, oom, cut = Outcome.OK, Outcome.OOM, Outcome.INTERRUPTED
    for name, first, second in (
        ("bad", [oom, oom], [oom, Outcome.CRASHED]),
        ("mixed", [ok, oom], [ok, ok]),
        ("cut", [cut, cut], [oom, oom]),
    ):
        cells = [Cell("a@1", [1.0, 2.0], outcomes=first), Cell("b@1", [1.0, 2.0], outcomes=second)]
        write(here / name, cells, name=name)
    rows = {Path(row["folder"]).name: row for row in command("campaigns", "--json").json}
    said = {name: (row["state"], row["ended"], row["failed"]) for name, row in rows.items()}
    assert said == {
        "bad": ("complete", 4, 4), "mixed": ("complete", 4, 1), "cut": ("unfinished", 2, 2),
    }  # fmt: skip
    text = command("campaigns").out
    for words in ("complete, all failed", "complete, 1 failed", "unfinished, 2 failed", "2 of 4"):
        assert words in text


def name_of(*releases: str, label: str | None = None, **choices: object) -> str:
    return campaign_name(draft(Choices(frameworks=releases, **choices), "process").trials, label)


def test_folders_say_what_was_compared() -> None:
    assert name_of("pytorch", "numpy") == "digits-cnn-numpy-pytorch"
    assert name_of("pytorch", "pytorch@1.0.0") == "digits-cnn-pytorch-1.0.0-pytorch-2.13.0"
    assert name_of("tensorflow", "tensorflow:fit", workloads=("digits-cnn", "mnist-cnn")) == (
        "2-workloads-tensorflow-2.21.0-tensorflow-2.21.0-fit"
    )
    assert name_of("pytorch", label="my try") == "my try"


def test_a_folders_name_has_an_end() -> None:
    from dlbench.environments.releases import load_releases

    name = name_of(*(release.name for release in load_releases()))
    assert len(name) <= 60
    assert name.endswith("-more")


def test_a_second_run_in_one_second_gets_its_own(here: Path) -> None:
    trials = draft(Choices(frameworks=("numpy",)), "process").trials
    folders = set()
    for _ in range(3):
        folder = fresh_folder(trials, "x y")
        assert folder.parent == Path("results") and folder.name.endswith(("-x-y", "-2", "-3"))
        folder.mkdir(parents=True)
        folders.add(folder)
    assert len(folders) == 3
