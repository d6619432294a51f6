"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dlbench.cli import app

CHECKOUT = Path(__file__).resolve().parents[3]


def dlbench(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "orchestrator"), **variables}
    return subprocess.run(
        [sys.executable, "-m", "dlbench", *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def _commands(group: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in getattr(group, "commands", {}).items():
        if getattr(command, "commands", None):
            found += _commands(command, (*path, name))
        else:
            found.append((*path, name))
    return found


ALL_COMMANDS = _commands(typer.main.get_command(app))


@pytest.mark.parametrize("command", ALL_COMMANDS, ids=" ".join)
def test_help_has_an_example(command: tuple[str, ...]) -> None:
    done = dlbench(*command, "--help")
    assert done.returncode == 0
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert any(line.startswith("dlbench " + " ".join(command)) for line in lines), done.stdout


@pytest.mark.parametrize("group", sorted({command[:-1] for command in ALL_COMMANDS}), ids=" ".join)
def test_a_command_is_described_whole_at_80_columns(group: tuple[str, ...]) -> None:
    done = dlbench(*group, "--help", COLUMNS="80")
    assert "..." not in done.stdout.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--framework", "pytorhc"), "pytorch"),
        (("run", "sklearn"), "dlbench list releases"),
        (("run", "--suite", "missing.toml"), "can't be read"),
        (("run", "--engine", "dokcer"), "docker"),
        (("run", "--out", "/proc/nowhere", "--framework", "numpy"), "can't be written"),
        (("run", "--hz", "100", "--framework", "numpy", "--engine", "process"), "20"),
        (("run", "--resume", "/nowhere"), "holds no campaign"),
        (("show", "/nowhere"), "holds no campaign"),
        (("lst",), "list"),
        (("run", "--repeats", "many"), "--repeats"),
        (("data", "fetch", "mnits"), "mnist"),
        (("images", "build", "pytroch"), "pytorch"),
        (("verify", "--workload", "digits"), "digits-cnn"),
    ],
)
def test_wrong_use_is_two_sentences(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = dlbench(*arguments, DLBENCH_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_dead_daemon(tmp_path: Path) -> None:
    socket = f"unix://{tmp_path}/none.sock"
    done = dlbench("run", "--engine", "docker", DOCKER_HOST=socket)
    assert done.returncode == 2
    assert "none.sock" in done.stderr
    assert "Traceback" not in done.stderr
    assert "process" in dlbench("plan", DOCKER_HOST=socket).stdout


def test_no_interpreter(tmp_path: Path) -> None:
    """A machine with none of the Pythons that a release accepts, and no way to fetch one."""
    only = tmp_path / "bin"
    only.mkdir()
    done = dlbench(
        "run", "--framework", "tensorflow@1.11.0", "--engine", "process",
        PATH=str(only), PYENV_ROOT=str(tmp_path), HOME=str(tmp_path),
        DLBENCH_CACHE=str(tmp_path / "cache"), UV_PYTHON_DOWNLOADS="never", UV_OFFLINE="1",
    )  # fmt: skip
    assert done.returncode == 2
    assert "No Python 3.6" in done.stderr
    assert "uv python install" not in done.stderr, "uv has no Python 3.6"
    offered = [done.stderr.index(word) for word in ("--engine docker", "pyenv", "conda-forge")]
    assert offered == sorted(offered)
    assert "Not tried by dlbench: `conda" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (("list", "releases"), {"framework", "version", "python", "adapter", "devices"}),
        (("list", "workloads"), {"name", "task", "dataset", "parameters"}),
        (("list", "suites"), {"name"}),
        (("list", "metrics"), {"name", "unit", "better", "meaning"}),
        (("list", "devices"), {"device", "name"}),
        (("data", "list"), {"name", "ready"}),
        (("doctor",), {"topic", "state", "text", "remedy"}),
    ],
)
def test_json(arguments: tuple[str, ...], keys: set[str]) -> None:
    done = dlbench(*arguments, "--json")
    rows = json.loads(done.stdout)
    assert rows
    assert all(keys <= row.keys() for row in rows)


def test_a_run_from_start_to_show(tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    done = dlbench(
        "run", "--framework", "numpy", "--engine", "process", "--repeats", "2", "--steps", "12",
        "--out", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "numpy@" in done.stdout
    assert str(out) in done.stdout
    shown = json.loads(dlbench("show", str(out), "--json").stdout)
    keys = {
        "id", "release", "workload", "device", "engine", "setting", "variant", "seed", "outcome",
        "reason", "metrics", "resources",
    }  # fmt: skip
    assert len(shown["trials"]) == 2
    for trial in shown["trials"]:
        assert keys <= trial.keys()
        assert {"accuracy", "train_s", "step_ms_median"} <= trial["metrics"].keys()
        assert {"cpu_percent_mean", "memory_peak_bytes"} <= trial["resources"].keys()
    home = str(Path.home())
    for path in out.rglob("*.json*"):
        text = path.read_text()
        assert home not in text, f"{path.name} tells the home folder"
        assert os.environ.get("USER", "\0") not in text or os.environ["USER"] == "root"


def test_gpu_without_one_is_refused_with_the_remedy(tmp_path: Path) -> None:
    gpus = [
        r for r in json.loads(dlbench("list", "releases", "--json").stdout) if "gpu" in r["devices"]
    ]
    assert gpus, "no release has GPU packages"
    name = f"{gpus[-1]['framework']}@{gpus[-1]['version']}"
    out = tmp_path / "campaign"
    done = dlbench("run", "--framework", name, "--gpu", "all", "--repeats", "1", "--out", str(out))
    if done.returncode == 0:
        pytest.skip("this machine has a GPU that works")
    assert done.returncode == 2 and not out.exists()
    assert "Install" in done.stderr
