"""`--path` is an option of every command that looks something up, and changes no other option."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.orchestrator.command import Command

LOOK_UP = (
    "run", "plan", "verify", "show", "doctor",
    "list releases", "list workloads", "list datasets", "list suites", "list adapters",
    "images build", "images list", "images verify", "images prune",
    "data list", "data fetch", "data verify", "data path",
)  # fmt: skip


@pytest.mark.parametrize("name", LOOK_UP)
def test_help_says_that_files_are_run_and_runs_none(
    tmp_path: Path, command: Command, name: str
) -> None:
    mark = tmp_path / "was-run"
    path = tmp_path / "mine" / "workloads" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"open({json.dumps(str(mark))}, 'w')")
    printed = command(*name.split(), "--path", tmp_path / "mine", "--help")
    assert printed.code == 0
    assert "Python files in it are run" in " ".join(printed.out.split())
    assert not mark.exists()


def test_a_file_is_run_only_when_its_kind_is_looked_up(tmp_path: Path, command: Command) -> None:
    mark = tmp_path / "was-run"
    path = tmp_path / "mine" / "workloads" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"open({json.dumps(str(mark))}, 'w')")
    assert command("list", "suites", "--path", tmp_path / "mine").code == 0
    assert not mark.exists()
    assert command("list", "workloads", "--path", tmp_path / "mine").code == 2
    assert mark.exists()


def test_other_options_stay_as_they_are(command: Command) -> None:
    text = command("run", "--help").out
    assert "--suite NAME|FILE" in text
    assert "--path DIR" in text
    assert command("list", "suites", "--path").code == 2


def test_each_call_searches_what_it_names(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mine" / "suites"
    folder.mkdir(parents=True)
    (folder / "own.toml").write_text('workloads = ["digits-cnn"]\nreleases = ["numpy"]\n')
    assert "own " in command("list", "suites", "--path", tmp_path / "mine").out
    assert "own " not in command("list", "suites").out
    plan = ("plan", "--suite", "own", "--engine", "process", "--json")
    assert command(*plan, "--path", tmp_path / "mine").code == 0
    assert command(*plan).code == 2
