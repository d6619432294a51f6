"""`dlbench run` and `dlbench plan`: options become choices, and are recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dlbench.campaigns.folder import Campaign
from dlbench.cli.options import command_of
from dlbench.cli.run import RunOptions, _without_paths
from dlbench.planning.choices import Choices, choice
from dlbench.sharing.merge import merge
from tests.orchestrator.command import Command

CHECKOUT = Path(__file__).resolve().parents[3]


def parsed(*arguments: str, kind: type[Choices] = RunOptions) -> Choices:
    calls: list[Choices] = []
    app = typer.Typer()
    app.command()(command_of(kind, lambda choices, _given: calls.append(choices)))
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return calls[0]


def test_what_was_written_is_known_from_what_is_the_default() -> None:
    calls: list[frozenset[str]] = []
    app = typer.Typer()
    app.command()(command_of(RunOptions, lambda _choices, given: calls.append(given)))
    for arguments in ([], ["--suite", "quick", "--repeats", "3"], ["numpy"]):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert calls == [frozenset(), frozenset({"suite", "repeats"}), frozenset({"frameworks"})]


def test_nothing_given_is_nothing_chosen() -> None:
    assert parsed() == RunOptions()


def test_every_option_reaches_its_choice() -> None:
    options = parsed(
        "--suite", "x.toml", "--framework", "a", "--framework", "b:c", "--workload", "w",
        "--device", "gpu", "--gpu", "0,1", "--engine", "docker", "--setting", "native",
        "--data", "synthetic", "--repeats", "2", "--seed", "3", "--epochs", "4", "--steps", "5",
        "--time-limit", "6m", "--cpus", "1.5", "--memory", "7g", "--threads", "8", "--hz", "9",
        "--inference", "--save", "--watch", "--out", "o", "--resume", "r", "--json", "--against",
        "d", "--until", "decided", "--at-most", "10", "--label", "mine", "--wait-until-idle", "5m",
        "--sweep", "batch=1,8", "--sweep", "threads=1,2", "--scale", "smoke", "--rows", "11",
        "--weights", "w.npz", "--as", "published", "--confound", "no-dropout",
        "--seeds", "1,12", "--deterministic",
    )  # fmt: skip
    assert options == RunOptions(
        suite="x.toml", frameworks=("a", "b:c"), workloads=("w",), devices=("gpu",), gpu="0,1",
        engine="docker", settings=("native",), data="synthetic", repeats=2, seed=3, epochs=4,
        steps=5, time_limit="6m", cpus=1.5, memory="7g", threads="8", hz=9.0, inference=True,
        save=True,
        watch=True, out=Path("o"), resume=Path("r"), json=True, against=("d",), until="decided",
        at_most=10, label="mine", wait_until_idle="5m", sweep=("batch=1,8", "threads=1,2"),
        scale="smoke", rows=11, weights="w.npz", seeds="1,12", deterministic=True,
        models=("published",), confounds=("no-dropout",),
    )  # fmt: skip
    assert all(getattr(options, f.name) != getattr(RunOptions(), f.name) for f in fields(options))


def test_a_release_can_be_named_in_two_ways() -> None:
    options = parsed("mxnet", "jax", "--framework", "numpy", "--framework", "jax", "--repeats", "2")
    assert options.frameworks == ("mxnet", "jax", "numpy")


def test_a_new_field_is_a_new_option() -> None:
    @dataclass(frozen=True)
    class Larger(Choices):
        colour: str | None = choice("--colour", "A colour.", "NAME")

    assert parsed("--colour", "red", kind=Larger) == Larger(colour="red")


def test_choices_are_recorded_and_survive_a_merge(tmp_path: Path, command: Command) -> None:
    for name, seed in (("a", "1"), ("b", "9")):
        done = command(
            "run", "numpy", "--engine", "process", "--repeats", "1", "--steps", "2",
            "--hz", "5", "--seed", seed, "--out", tmp_path / name, "--json",
        )  # fmt: skip
        assert done.code == 0, done.err
    one = Campaign(tmp_path / "a").about()
    assert one.choices == Choices(
        frameworks=("numpy",), engine="process", repeats=1, steps=2, hz=5.0, seed=1
    )
    assert one.hz == 5.0
    assert one.command[:3] == ("dlbench", "run", "numpy")
    assert str(tmp_path) not in json.dumps(one.to_json())
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    merged = Campaign(tmp_path / "c").about()
    assert merged.choices == one.choices
    assert [part.choices.seed for part in merged.merged] == [1, 9]


def test_a_campaign_goes_on_in_its_engine(tmp_path: Path, command: Command) -> None:
    options = ("--engine", "process", "--repeats", "1", "--steps", "2", "--out", tmp_path / "c")
    assert command("run", "numpy", *options, "--json").code == 0
    done = command("run", "--resume", tmp_path / "c", "--engine", "docker")
    assert done.code == 2
    assert "process engine" in done.err


def test_plan_shows_what_run_would_do(command: Command) -> None:
    planned = command("plan", "numpy", "--engine", "process", "--repeats", "3", "--json")
    assert [trial["seed"] for trial in planned.json["trials"]] == [1, 2, 3]
    assert "3 trials with the process engine" in command(
        "plan", "--framework", "numpy", "--engine", "process", "--repeats", "3"
    ).out  # fmt: skip


def test_plan_says_beforehand_what_the_repeats_can_show(command: Command) -> None:
    few = command("plan", "numpy", "jax", "--engine", "process", "--repeats", "3")
    assert "3 runs of each can't show a difference between 2 contenders" in few.out
    assert "5 are needed (--repeats 5)" in few.out
    enough = command("plan", "numpy", "jax", "--engine", "process", "--json").json
    assert len(enough["trials"]) == 10
    assert any("can show a difference" in note for note in enough["notes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cpus", "1000"), "--cpus 1000 is more than"),
        (("--memory", "400000g"), "--memory 400000g is more than"),
        (("--label", "a/b"), "can't be the name"),
        (("--until", "dawn"), "decided"),
        (("--at-most", "9"), "--until decided"),
    ],
)
def test_what_is_not_possible_here_is_said_when_it_is_planned(
    command: Command, options: tuple[str, ...], words: str
) -> None:
    done = command("plan", "numpy", "jax", "--engine", "process", *options)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 2, "said more than once"


@pytest.mark.parametrize(
    ("written", "recorded"),
    [
        ("/home/me/suite.toml", "suite.toml"),
        ("--path=/home/me/mine", "--path=mine"),
        ("--path=~/mine", "--path=mine"),
        ("~/x", "x"),
        ("--only=release=/a/b", "--only=release=/a/b"),
        ("mxnet@1.3.0", "mxnet@1.3.0"),
    ],
)
def test_no_home_folder_is_recorded(written: str, recorded: str) -> None:
    assert _without_paths([written]) == [recorded]


@pytest.mark.parametrize("command_name", ["run", "plan", "verify"])
@pytest.mark.parametrize("named", [("nmpy",), ("--framework", "nmpy")])
def test_both_ways_to_name_a_release_are_checked(
    command: Command, command_name: str, named: tuple[str, ...]
) -> None:
    done = command(command_name, *named, "--engine", "process")
    assert done.code == 2
    assert "Did you mean 'numpy'" in done.err


@pytest.mark.parametrize("named", [("numpy",), ("--framework", "numpy:numpy"), ("numpy", "numpy")])
def test_images_take_releases_in_the_same_ways(command: Command, named: tuple[str, ...]) -> None:
    for action in ("build", "verify"):
        done = command("images", action, *named, "--device", "cpu", "--engine", "process", "--json")
        assert done.code == 0, done.err
        assert [row["release"].split("@")[0] for row in done.json] == ["numpy"]


def test_help_loads_nothing_heavy() -> None:
    heavy = "polars numpy scipy docker psutil pynvml jinja2"
    code = (
        "import sys; from dlbench.cli import main; sys.argv = ['dlbench', 'run', '--help'];"
        f"main(); sys.exit(' '.join(set('{heavy}'.split()) & set(sys.modules)) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "orchestrator")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--time-limit" in done.stdout
