"""Campaigns that start from a file of weights: `dlbench run --weights`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.weights import digest
from dlbench.campaigns.folder import Campaign
from dlbench.weights import store
from dlbench.workloads import find
from tests.orchestrator.command import Command

SHORT = ("--engine", "process", "--workload", "digits-cnn", "--steps", "2")
RECORDED = ("plan.jsonl", "campaign.json")


def _file(folder: Path, seed: int, *leave_out: str) -> Path:
    """Random weights of digits-cnn, some nodes left out."""
    random = np.random.RandomState(seed)
    arrays = {
        f"{node['name']}/{name}": random.normal(0, 0.05, spec["shape"]).astype(np.float32)
        for node in find("digits-cnn").graph["nodes"]
        for name, spec in node["parameters"].items()
        if node["name"] not in leave_out
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"start{seed}.npz"
    np.savez(path, **arrays)
    return path


def _loaded(path: Path) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path) as arrays:
        for name in arrays.files:
            node, parameter = name.split("/")
            found.setdefault(node, {})[parameter] = arrays[name]
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name must not be recorded."""
    return tmp_path_factory.mktemp("of-somebody")


def test_every_repeat_starts_from_the_file(command: Command, tmp_path: Path, home: Path) -> None:
    file, out = _file(home, 1), tmp_path / "campaign"
    ran = command("run", "numpy", *SHORT, "--repeats", "2", "--weights", file, "--save",
                  "--out", out)  # fmt: skip
    assert ran.code == 0, ran.err
    weights = store.read(str(file))
    short = f"start1.npz ({weights.digest[:8]}…)"
    said = " ".join((ran.err + ran.out).split())
    assert f"Every repeat starts from the weights of {short}; batches" in said
    assert "All 8 parameters of digits-cnn come from it." in said
    assert f"started from weights {short}" in said
    first, second = Campaign(out).results()
    assert first.model["weights_sha256"] == digest(_loaded(file))
    assert second.model["weights_sha256"] == digest(_loaded(file))
    assert first.metrics["loss"] != second.metrics["loss"]  # batches follow the seed
    assert (first.model["weights_given"], first.model["weights_drawn"]) == (8, 0)
    assert (first.scale.weights, first.scale.weights_file) == (weights.digest, "start1.npz")
    assert first.metrics["model_bytes"] > 4 * 53_002
    assert first.metrics["model_with_optimizer_bytes"] > first.metrics["model_bytes"]
    for path in (*out.rglob("*.json"), *out.rglob("*.jsonl"), *out.rglob("log.txt")):
        assert home.name not in path.read_text(), path
    assert json.loads((out / "campaign.json").read_text())["choices"]["weights"] == "start1.npz"

    # what the trial saved is such a file, too: one of any release starts another
    saved = next(out.glob("trials/*/out/weights.npz"))
    other = tmp_path / "other"
    ran = command("run", "numpy", *SHORT, "--repeats", "1", "--weights", saved, "--out", other)
    assert ran.code == 0, ran.err
    third = Campaign(other).results()[0]
    assert third.model["weights_sha256"] == digest(_loaded(saved))
    assert third.id not in (first.id, second.id)

    # and trials with other weights are not compared as if they had the same
    compared = " ".join(command("compare", out, other).out.split())
    assert "There is nothing to test: no two groups are comparable." in compared
    assert f"weights {weights.digest[:16]})" in compared
    shown = command("show", out, "--verbose").out
    assert "saved model" in shown
    assert "saved model with optimiser state" in " ".join(shown.split())


def test_a_backbone_and_what_is_drawn(command: Command, tmp_path: Path, home: Path) -> None:
    file, out = _file(home, 2, "logits"), tmp_path / "campaign"
    ran = command("run", "numpy", *SHORT, "--repeats", "2", "--weights", file, "--setting",
                  "native", "--out", out)  # fmt: skip
    assert ran.code == 0, ran.err
    said = " ".join((ran.err + ran.out).split())
    assert "6 of 8 parameters of digits-cnn come from it; 2 are the framework's own:" in said
    assert "logits/kernel and logits/bias" in said
    assert "2 parameters drawn" in said
    for result in Campaign(out).results():
        assert result.model["weights_drawn"] == 2
        assert set(result.model["drawn"]) == {"logits/kernel", "logits/bias"}


def test_a_campaign_goes_on_with_its_own_weights_alone(
    command: Command, tmp_path: Path, home: Path
) -> None:
    file, out = _file(home, 3), tmp_path / "campaign"
    ran = command("run", "numpy", *SHORT, "--repeats", "1", "--weights", file, "--out", out)
    assert ran.code == 0, ran.err
    kept = store.path_of(store.read(str(file)).digest)
    kept.unlink()
    refused = command("run", "--resume", out, "--repeats", "2")
    assert refused.code == 2
    assert "start3.npz" in refused.err and "no longer in dlbench's cache" in " ".join(
        refused.err.split()
    )
    another = _file(home, 4)
    refused = command("run", "--resume", out, "--repeats", "2", "--weights", another)
    assert refused.code == 2
    assert "does not hold the weights" in " ".join(refused.err.split())
    ran = command("run", "--resume", out, "--repeats", "2", "--weights", file)
    assert ran.code == 0, ran.err
    first, second = Campaign(out).results()
    assert first.model["weights_sha256"] == second.model["weights_sha256"]
    kept.chmod(0o644)
    kept.write_bytes(kept.read_bytes() + b"x")  # and one that was changed is not used
    refused = command("run", "--resume", out, "--repeats", "3")
    assert refused.code == 2
    assert "were changed there" in " ".join(refused.err.split())
    kept.unlink()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more/kernel": np.zeros(3, np.float32)}, "digits-cnn has no node 'more'"),
        ({"logits/bias": np.zeros(11, np.float32)}, "node 'logits' of digits-cnn wants [10]"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_before_anything_runs(
    change: dict[str, np.ndarray], words: str, command: Command, tmp_path: Path, home: Path
) -> None:
    with np.load(_file(home, 5)) as arrays:
        np.savez(tmp_path / "w.npz", **{**dict(arrays), **change})
    ran = command("run", "numpy", *SHORT, "--weights", tmp_path / "w.npz", "--out", tmp_path / "c")
    assert ran.code == 2
    assert words in " ".join(ran.err.split())
    assert not (tmp_path / "c").exists()
    assert command("run", "numpy", *SHORT, "--weights", tmp_path / "nothing.npz").code == 2
