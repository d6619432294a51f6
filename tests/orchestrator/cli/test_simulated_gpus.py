"""`dlbench run --gpu …` from end to end on a machine with two GPUs that are stand-ins.

A release from outside computes with NumPy wherever it is told to; everything else is dlbench's own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.orchestrator.engines.test_gpu_passthrough import UUID_0, UUID_1
from tests.orchestrator.monitor.test_gpu import compile_library

CHECKOUT = Path(__file__).resolve().parents[3]
RELEASE = """
framework = "pretend"
version = "1.0"
published = "2026-05"
adapter = "pretend"
python = ["3.11", "3.12", "3.13"]
variants = ["numpy"]
verified = []
[cpu]
requires = ["numpy==2.4.6"]
[gpu]
requires = ["numpy==2.4.6"]
cuda = "11.8"
code = ["sm_80"]
"""
ADAPTER = """
import numpy as np
from bench.adapters import numpy as plain
VARIANTS = ("numpy",)
describe = plain.describe
def set_up(options):
    return plain.set_up(options._replace(device="cpu"))
def build(graph, recipe, options):
    return plain.Reference(graph, recipe, options.seed, np.float32)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The stand-ins for driver and management library, and the release."""
    if shutil.which("gcc") is None:
        pytest.skip("a C compiler is needed")
    compile_library(tmp_path)
    source = CHECKOUT / "tests/orchestrator/engines/stand_in_cuda.c"
    command = ["gcc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", source]
    subprocess.run(command, check=True)
    folder = tmp_path / "ext" / "releases" / "pretend" / "1.0"
    folder.mkdir(parents=True)
    (folder / "release.toml").write_text(RELEASE)
    lock = (CHECKOUT / "images/numpy/2.4.6/cpu.lock").read_text()
    for device in ("cpu", "gpu"):
        (folder / f"{device}.lock").write_text(lock.replace("numpy@2.4.6", "pretend@1.0"))
    (tmp_path / "ext" / "adapters").mkdir()
    (tmp_path / "ext" / "adapters" / "pretend.py").write_text(ADAPTER)
    return tmp_path


def dlbench(
    machine: Path, *words: str, engine: str = "process"
) -> subprocess.CompletedProcess[str]:
    """In a process of its own, because NVML is loaded once for all of it."""
    fixed = ["--path", str(machine / "ext"), "--engine", engine] if engine else []
    return subprocess.run(
        [sys.executable, "-m", "dlbench", *words, *fixed],
        env={
            **os.environ,
            "PYTHONPATH": str(CHECKOUT / "orchestrator"),
            "LD_LIBRARY_PATH": str(machine),
            "COLUMNS": "80",
        },
        cwd=machine,
        capture_output=True,
        text=True,
    )


def trials(campaign: Path) -> dict[str, dict[str, Any]]:
    """Each trial's result, by its device, with the GPUs that it saw."""
    found = {}
    for folder in (campaign / "trials").iterdir():
        result = json.loads((folder / "trial.json").read_text())
        lines = (folder / "out" / "events.jsonl").read_text().splitlines()
        (stack,) = [e for e in map(json.loads, lines) if e["event"] == "stack"]
        found[result["device"]] = {**result, "saw": stack["gpus"]}
    return found


def test_what_is_not_there_is_refused(machine: Path) -> None:
    done = dlbench(machine, "run", "pretend", "--gpu", "7")
    assert done.returncode == 2
    said = "There is no GPU 7 here: this machine has GPUs 0 (Stand-in A) and 1 (Stand-in B)."
    assert said in done.stderr


def test_gpus_are_listed_as_they_are_asked_for(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_MIG", "1")
    done = dlbench(machine, "list", "devices", engine="")
    part = "MIG-22222222-aaaa-bbbb-cccc-222222222222"
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    assert [line[0] for line in lines[2:]] == ["gpu 0", "gpu 1", f"gpu {part}"]
    assert "  Stand-in B, divided (MIG)  " in done.stdout
    rows = json.loads(dlbench(machine, "list", "devices", "--json", engine="").stdout)
    assert [row["uuid"] for row in rows][1:] == [UUID_0, UUID_1, part]
    monkeypatch.setenv("STAND_IN_BROKEN", "0")
    said = dlbench(machine, "list", "devices", engine="").stdout
    assert "Another GPU can't be used. NVML: " in said


@pytest.mark.slow
def test_each_gpu_is_used_proven_and_recorded_by_itself(machine: Path) -> None:
    out = machine / "c"
    few = [
        "--workload",
        "digits-cnn",
        "--repeats",
        "1",
        "--epochs",
        "5",
        "--hz",
        "20",
        "--out",
        str(out),
    ]
    done = dlbench(machine, "run", "pretend", "--gpu", "each", *few)
    assert done.returncode == 0, done.stderr
    assert "GPU 0 (Stand-in A) is in use by 2 other programs" in done.stderr
    found = trials(out)
    assert set(found) == {"gpu:0", "gpu:1"}
    assert all(result["outcome"] == "ok" and result["certified"] for result in found.values())
    first, second = found["gpu:0"], found["gpu:1"]
    assert len(first["saw"]) == len(second["saw"]) == 1 and first["saw"] != second["saw"]
    assert first["certificate"] != second["certificate"]  # of two models of GPU
    assert first["resources"]["gpu_util_percent_mean"] == 90.0
    assert second["resources"]["gpu_util_percent_mean"] == 40.0
    assert first["resources"]["gpu_energy_j"] > 0
    assert "was in use by 2 other programs when the campaign began" in done.stdout
    assert "--by device" in done.stdout
    assert "GPU-0000" not in (out / "plan.jsonl").read_text() + json.dumps(found)
