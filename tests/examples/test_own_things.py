"""The example of examples/README.md, run as a reader would: the commands are those of that page."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "own_things"
QUICK = ("--repeats", "1", "--steps", "20")
ENGINES = ["process", pytest.param("docker", marks=pytest.mark.docker)]


def dlbench(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "orchestrator")}
    environment.pop("DLBENCH_PATH", None)
    done = subprocess.run(
        [sys.executable, "-m", "dlbench", *map(str, arguments)],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def commands() -> dict[str, list[str]]:
    """The commands of the page, by what they do."""
    lines = (CHECKOUT / "examples" / "README.md").read_text().splitlines()
    words = [shlex.split(line)[1:] for line in lines if line.startswith("    dlbench ")]
    return {" ".join(w[:2]) if w[0] == "list" else w[0]: w for w in words}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "docker":
        request.getfixturevalue("docker_client")
    return request.param


@pytest.fixture(scope="module")
def campaign(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's campaign, in short."""
    out = tmp_path_factory.mktemp("own") / "campaign"
    dlbench(*commands()["run"], "--engine", engine, *QUICK, "--out", out)
    return out


def results(campaign: Path) -> dict[tuple[str, str, str], dict]:
    found = [json.loads(path.read_text()) for path in campaign.glob("trials/*/trial.json")]
    return {(each["workload"], each["release"], each["variant"]): each for each in found}


def test_list_shows_where_each_thing_comes_from() -> None:
    page = commands()
    for kind, name in (("workloads", "spirals-mlp"), ("releases", "numpy-layout@2.4.6")):
        lines = dlbench(*page[f"list {kind}"]).stdout.splitlines()
        (mine,) = [line for line in lines if line.startswith(f"{name} ")]
        assert "own_things" in mine
        assert any("built-in" in line for line in lines)


def test_the_release_is_proven_equal(engine: str) -> None:
    done = dlbench(*commands()["verify"], "--engine", engine)
    assert "numpy-layout@2.4.6:columns  spirals-mlp: proven equal" in done.stdout


def test_it_trains_and_is_certified(campaign: Path) -> None:
    trials = results(campaign)
    assert set(trials) == {
        (workload, release, variant)
        for workload in ("spirals-mlp", "digits-skip")
        for release, variant in (
            ("numpy@2.4.6", "numpy"),
            ("numpy-layout@2.4.6", "rows"),
            ("numpy-layout@2.4.6", "columns"),
        )
    }
    for trial in trials.values():
        assert (trial["outcome"], trial["certified"]) == ("ok", True)
    for workload in ("spirals-mlp", "digits-skip"):  # one model: one result, however it is stored
        losses = [t["metrics"]["loss"] for key, t in trials.items() if key[0] == workload]
        assert max(losses) - min(losses) < 1e-4 * max(losses)


def test_what_was_brought_is_recorded_without_its_path(campaign: Path) -> None:
    text = (campaign / "campaign.json").read_text()
    origins = json.loads(text)["origins"]
    assert {(each["kind"], each["name"]) for each in origins} == {
        ("workload", "spirals-mlp"),
        ("workload", "digits-skip"),
        ("data set", "spirals"),
        ("release", "numpy-layout@2.4.6"),
        ("adapter", "numpy_layout"),
        ("suite", "layouts"),
    }
    assert {each["origin"] for each in origins} == {"own_things"}
    assert all(len(each["digest"]) == 64 for each in origins)
    assert str(CHECKOUT) not in text


def test_it_can_be_shown_and_reported(campaign: Path, tmp_path: Path) -> None:
    page = commands()
    show = [str(campaign) if word == "results/…" else word for word in page["show"]]
    assert "numpy-layout@2.4.6" in dlbench(*show).stdout
    report = [str(campaign) if word == "results/…" else word for word in page["report"]]
    dlbench(*report, "--out", tmp_path / "report.html")
    assert "spirals-mlp" in (tmp_path / "report.html").read_text()


def test_resume_needs_the_same_things(campaign: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    shutil.copytree(campaign, unfinished)
    columns = next(t for key, t in results(campaign).items() if key[2] == "columns")
    shutil.rmtree(unfinished / "trials" / columns["id"])
    missing = dlbench("run", "--resume", unfinished, code=2).stderr
    assert "workload 'digits-skip'" in missing
    assert "came from 'own_things', which is not searched" in missing
    assert "--path" in missing

    other = tmp_path / "own_things"
    shutil.copytree(EXAMPLE, other)
    adapter = other / "adapters" / "numpy_layout.py"
    adapter.write_text(adapter.read_text() + "# changed\n")
    changed = dlbench("run", "--resume", unfinished, "--path", other, code=2).stderr
    assert "adapter 'numpy_layout' is no longer what it was" in changed

    dlbench("run", "--resume", unfinished, "--path", EXAMPLE)
    assert set(results(unfinished)) == set(results(campaign))
