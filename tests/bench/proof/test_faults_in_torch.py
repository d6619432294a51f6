"""The faults again, in PyTorch: its own layers, losses and optimisers, called the wrong way."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dlbench.environments import releases, venvs
from dlbench.environments.releases import Release
from tests.bench.proof.faulty import Json, job_of

CHECKOUT = Path(__file__).resolve().parents[3]


FAULTS = {
    "scrambled": ("proof-two-branch", "forward", "conv2d1"),
    "ceil_pooling": ("cifar10-cnn", "shapes", "maxpool2"),
    "dropout_in_evaluation": ("digits-cnn", "evaluation", "dropout1"),
    "dropout_never_on": ("digits-cnn", "dropout", "dropout1"),
    "sum_for_mean": ("digits-cnn", "loss", "logits"),
    "softmax_twice": ("digits-cnn", "loss", "logits"),
    "broadcast": ("enthalpy-fcrn-10", "loss", "enthalpy"),
    "batchnorm_complement": ("proof-two-branch", "batchnorm", "batchnorm1/mean"),
    "doubled_decay": ("digits-cnn", "sgd-nesterov-decay-steps", "conv2d1/kernel"),
    "late_seed": ("enthalpy-fcrn-10", "seeds", "dense1"),
    "lengths_ignored": ("imdb-lstm", "forward", "lstm1"),
    "bias_forgotten_in_evaluation": ("digits-cnn", "forward", "dense1"),
    "running_mean_not_subtracted": ("proof-two-branch", "forward", "batchnorm1"),
    "first_six_rows": ("digits-cnn", "loss", "logits"),
    "first_row_never_learns": ("imdb-lstm", "gradients", "embedding1/table"),
    "adam_epsilon_tenfold": ("digits-cnn", "adam-decay-steps", None),
    "adam_decoupled_decay": ("digits-cnn", "adam-decay-steps", None),
    "stale_predictions": ("digits-cnn", "prediction", "logits"),
    "rate_drops_at_step_50": ("digits-cnn", "long-run", None),
    "same_dropout_every_epoch": ("digits-cnn", "dropout", None),
    "none": ("proof-two-branch", None, None),
}


def certified(
    program: str, requests: list[Any], folder: Path, release: Release | None = None
) -> dict[str, list[Json]]:
    """The checks that failed, by fault, as this program plants them in a release: PyTorch's."""
    release = release or releases.find("pytorch@2.13.0")
    file = folder / "requests.json"
    file.write_text(json.dumps(requests))
    python = venvs.prepare(release, "cpu").python
    done = subprocess.run(
        [python, Path(__file__).parent / program, file],
        env={
            **os.environ,
            **release.variables,
            "PYTHONPATH": str(CHECKOUT),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {fault: [each for each in checks if not each["passed"]] for fault, checks in lines}


def check_named(failed: list[Json], check: str | None, node: str | None) -> None:
    """The first check that failed is this one, at this node; None: none failed, any node."""
    if check is None:
        assert failed == []
        return
    assert failed, "nothing was found"
    assert failed[0]["name"] == check
    assert failed[0]["node"] == node or node is None
    assert failed[0]["detail"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Json]]:
    """The checks that failed, by fault."""
    requests = []
    for fault, (name, _, _) in FAULTS.items():
        job, data = job_of(
            name, framework="pytorch", version="2.13.0", adapter="torch", variant="eager", threads=1
        )
        requests.append([fault, job, str(data)])
    return certified("torch_faults.py", requests, tmp_path_factory.mktemp("torch"))


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_pytorch(found: dict[str, list[Json]], fault: str) -> None:
    check_named(found[fault], *FAULTS[fault][1:])
