"""What is said of a plan before it is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlbench.host import machine
from tests.orchestrator.command import Command


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--threads", "999"), "999 threads share"),
        (("--threads", "1"), ""),
        (("--threads", "2", "--cpus", "1"), "2 threads share 1 core:"),
    ],
)
def test_more_threads_than_cores_are_said(
    command: Command, asked: tuple[str, ...], words: str
) -> None:
    if "--cpus" in asked and machine.usable_cores() < 1:
        pytest.skip("less than one core can be used")
    printed = command("plan", "numpy", "--repeats", "1", "--engine", "process", *asked)
    said = printed.out + printed.err
    assert printed.code == 0
    assert said.startswith("1 trial with the process engine")
    assert words in said if words else "threads share" not in said


def test_a_sample_of_the_data_is_said_beforehand(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    rows = np.random.default_rng(0).integers(0, 256, (60, 32, 32, 3)).astype(np.uint8)
    labels = np.arange(60) % 10
    np.savez(tmp_path / "cifar10.npz", x_train=rows[:50], y_train=labels[:50], x_test=rows[50:],
             y_test=labels[50:])  # fmt: skip
    assert command("data", "fetch", "cifar10", "--from", str(tmp_path)).code == 0
    asked = ("plan", "numpy", "--repeats", "1", "--engine", "process", "--workload", "cifar10-cnn")
    said = " ".join(command(*asked).out.split())
    assert "Of cifar10 a sample is here, not the official data" in said
    assert "sample is here" not in command(*asked, "--data", "synthetic").out
    limited = command(*asked, "--epochs", "100", "--time-limit", "2m").out
    assert "1 trial would take longer than 2:00 min by these estimates" in " ".join(limited.split())


def test_batches_that_the_data_do_not_fill_are_said(command: Command) -> None:
    asked = ("plan", "numpy", "--repeats", "1", "--engine", "process", "--workload", "petrol-mlp")
    said = " ".join(command(*asked, "--sweep", "batch=38,39").out.split())
    assert said.count("larger than") == 1
    assert "petrol-mlp (batch=39): its batch of 39 is larger than the 38 training rows" in said
    kept = ("--sweep", "stopping.patience=2", "--sweep", "stopping.validation=0.5")
    assert "its batch of 32 is larger than the 19 training rows" in " ".join(
        command(*asked, *kept).out.split()
    )
    plain = command(*asked).out
    assert "larger than" not in plain and "warms up" not in plain


def test_a_warm_up_that_does_not_end_is_said(command: Command) -> None:
    asked = ("plan", "numpy", "--repeats", "1", "--engine", "process", "--workload", "petrol-mlp",
             "--epochs", "3", "--sweep", "schedule.name=cosine")  # fmt: skip
    said = " ".join(command(*asked, "--sweep", "schedule.warmup=6,7").out.split())
    assert said.count("warms up for") == 1
    assert "warms up for 7 steps, and there are 6: the learning rate is never reached." in said
