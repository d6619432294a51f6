"""Campaigns of several machines in one folder."""

from __future__ import annotations

from pathlib import Path

import dlbench
from dlbench.campaigns.folder import Campaign
from dlbench.sharing.archive import write_archive
from tests.orchestrator.analysis.campaigns import TWO, Cell, around, write
from tests.orchestrator.command import Command


def test_machines_are_merged_and_kept_apart(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", TWO)
    two = write(tmp_path / "two", TWO, machine="ccccccccdddddddd", name="two")
    write_archive(two, tmp_path / "two.dlbench")
    said = command("merge", one, tmp_path / "two.dlbench", "-o", tmp_path / "both", "--json")
    assert said.json["trials"] == 40
    assert said.json["machines"] == 2
    results = dlbench.open(tmp_path / "both")
    assert results.trials().height == 40
    assert results.machines().keys() == {"aaaaaaaabbbbbbbb", "ccccccccdddddddd"}
    assert results.trials()["campaign"].n_unique() == 2
    assert results.steps().height == 2 * dlbench.open(one).steps().height
    merged = Campaign.open(tmp_path / "both")
    assert len(merged.results()) == 40
    assert merged.unfinished() == []
    groups = results.compare("time").groups()["group"].to_list()
    assert "a@1 (machine aaaaaa)" in groups and "a@1 (machine cccccc)" in groups
    again = command("merge", tmp_path / "both", one, "-o", tmp_path / "again", "--json")
    assert again.json["trials"] == 40
    assert again.json["twice"] == 20


def test_the_same_trial_with_other_results_is_a_conflict(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", TWO)
    two = write(tmp_path / "two", [Cell("a@1", around(1.01))], name="two")
    said = command("merge", one, two, "-o", tmp_path / "both")
    assert said.code == 2
    trial = dlbench.open(two).trials()["id"][0]
    assert trial in said.err
    assert not (tmp_path / "both").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_unfinished_trials_stay_behind(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", TWO[:1])
    two = write(tmp_path / "two", TWO[1:], name="two")
    next((one / "trials").glob("*/trial.json")).unlink()
    said = command("merge", one, two, "-o", tmp_path / "both")
    assert "1 had not ended and were left out." in said.out
    assert dlbench.open(tmp_path / "both").trials().height == 19
