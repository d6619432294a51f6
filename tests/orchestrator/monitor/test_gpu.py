"""GPU readings through the real nvidia-ml-py, from a stand-in for the driver's library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pynvml
import pytest

from dlbench.monitor import gpu
from dlbench.monitor.gpu import digest_of

GIB = 1 << 30
SOURCE = Path(__file__).with_name("stand_in_nvml.c")
ORCHESTRATOR = Path(__file__).parents[3] / "orchestrator"
UUID_1 = "GPU-11111111-aaaa-bbbb-cccc-111111111111"

# Samples a sleeping process that holds memory of GPU 0, and shows what the file then says.
SAMPLE = """
import json, os, subprocess, sys, tempfile, time
from pathlib import Path
from dataclasses import asdict
from dlbench.engines.base import Scope
from dlbench.monitor.resources import Stretch, summarise
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import read_samples
trial = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
os.environ["STAND_IN_PID"] = str(trial.pid)
file = Path(tempfile.mkdtemp()) / "samples.jsonl"
with Monitor(Scope(trial.pid, 1.0), file, hz=20, gpus=tuple(sys.argv[1:])) as monitor:
    seen = set()  # at least so many samples, however busy the machine is
    while len(seen) < 8 or monitor.latest.t < 0.4:
        time.sleep(0.05)
        seen.add(monitor.latest and monitor.latest.t)
    totals = monitor.stop()
trial.kill(); trial.wait()
recorded = read_samples(file)
print(json.dumps({
    "gpus": recorded.gpus,
    "samples": [[asdict(gpu) for gpu in sample.gpus] for sample in recorded.samples],
    "times": [sample.t for sample in recorded.samples],
    "reason": totals.gpu_reason, "error": totals.error, "cpu_s": totals.cpu_s,
    "resources": asdict(summarise(recorded, [Stretch("train", 0.0, 0.4)])),
}))
"""
INVENTORY = """
import json
from dataclasses import asdict
from dlbench.host.machine import fingerprint
from dlbench.monitor.gpu import inventory
print(json.dumps({"inventory": asdict(inventory()), "machine": fingerprint().to_dict()}))
"""


def compile_library(folder: Path, *options: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "libnvidia-ml.so.1"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", *options, "-o", target, SOURCE], check=True
    )
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def old_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("old-driver"), "-DOLD_DRIVER")


def run(program: str, library: Path, *arguments: str, **variables: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(ORCHESTRATOR),
            "LD_LIBRARY_PATH": str(library),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_all_devices_are_sampled(driver: Path) -> None:
    found = run(SAMPLE, driver, "all")
    assert found["gpus"] == ["0", "1"]
    assert found["reason"] is None and found["error"] is None
    first, second = found["samples"][-1]
    assert first["util_percent"] == 90 and second["util_percent"] == 40
    assert first["memory_bytes"] == 3 * GIB and second["memory_bytes"] == 1 * GIB
    assert first["power_w"] == 70.5 and second["power_w"] == 50.0
    assert first["temperature_c"] == 60 and second["temperature_c"] == 61
    assert first["throttle"] == 0 and second["throttle"] == 4


def test_memory_is_told_apart_by_process(driver: Path) -> None:
    found = run(SAMPLE, driver, "0")
    # Two processes hold memory of GPU 0; the trial's is one of them.
    assert found["gpus"] == ["0"]
    assert {sample[0]["process_memory_bytes"] for sample in found["samples"]} == {2 * GIB}
    assert found["resources"]["gpu_memory_peak_bytes"] == 2 * GIB


def test_energy_is_counted_or_else_worked_out(driver: Path) -> None:
    found = run(SAMPLE, driver, "all")
    counted = [sample[0]["energy_j"] for sample in found["samples"]]
    assert counted == [10.0 * (i + 1) for i in range(len(counted))]
    worked_out = [sample[1]["energy_j"] for sample in found["samples"]]
    seconds = found["times"][-1] - found["times"][0]
    assert worked_out[0] == 0.0
    assert worked_out[-1] == pytest.approx(50.0 * seconds, rel=0.4)
    assert found["resources"]["gpu_energy_j"] == pytest.approx(counted[-1] + worked_out[-1])


def test_a_device_is_chosen_by_its_uuid(driver: Path) -> None:
    found = run(SAMPLE, driver, UUID_1)
    assert found["gpus"] == ["1"]
    assert UUID_1 not in json.dumps(found)


def test_an_old_driver_gives_what_it_has(old_driver: Path) -> None:
    found = run(SAMPLE, old_driver, "0")
    last = found["samples"][-1][0]
    assert last["throttle"] is None
    assert last["util_percent"] == 90
    assert last["process_memory_bytes"] == 2 * GIB
    assert last["energy_j"] > 0.0


@pytest.mark.parametrize("selection", ["7", "GPU-nobody"])
def test_a_device_that_is_not_there_is_said(selection: str, driver: Path) -> None:
    found = run(SAMPLE, driver, selection)
    assert found["gpus"] == []
    assert "NVML" in found["reason"]
    assert found["cpu_s"] is not None


def test_a_driver_that_is_not_loaded_is_said(driver: Path) -> None:
    found = run(SAMPLE, driver, "all", STAND_IN_INIT="9")
    assert found["reason"] == "The NVIDIA driver is installed but not loaded."
    assert found["samples"] and not any(found["samples"])


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        ("4", "This user may not open", "`ls -l /dev/nvidia*`"),
        ("9", "installed but not loaded", "modprobe nvidia"),
        ("18", "was updated, and the one before is still loaded", "Restart this machine."),
        ("999", "NVML: ", "`nvidia-smi` says more."),
    ],
)
def test_why_there_is_none_comes_with_what_to_do(
    code: str, reason: str, remedy: str, driver: Path
) -> None:
    found = run(INVENTORY, driver, STAND_IN_INIT=code)["inventory"]
    assert found["devices"] == [] and reason in found["reason"] and remedy in found["remedy"]


@pytest.mark.parametrize(("loaded", "words"), [(True, "driver is loaded, but"), (False, "No NVID")])
def test_a_driver_without_its_libraries_is_told_from_none(
    loaded: bool, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_DRIVER", tmp_path if loaded else tmp_path / "none")
    error = pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    assert words in str(gpu._why(pynvml, error).reason)


@pytest.mark.parametrize(
    ("code", "library", "reason", "remedy"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, False, "was not found", "in Windows, not in Linux"),
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, True, "does not look", "export LD_LIBRARY_PATH="),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, True, "shows no NVIDIA", "`wsl --update`"),
        (pynvml.NVML_ERROR_OPERATING_SYSTEM, True, "has blocked the request).", "in Windows, not"),
        (pynvml.NVML_ERROR_UNKNOWN, True, "NVML: ", "`nvidia-smi` says more."),
    ],
)
def test_in_wsl_the_driver_is_that_of_windows(
    code: int, library: bool, reason: str, remedy: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(gpu.platform, "release", lambda: "5.15.90.1-microsoft-standard-WSL2")
    monkeypatch.setattr(gpu, "_OF_WINDOWS", tmp_path)
    if library:
        (tmp_path / "libnvidia-ml.so.1").touch()
    why = gpu._why(pynvml, pynvml.NVMLError(code))
    assert reason in str(why.reason) and remedy in why.remedy
    assert "modprobe" not in why.remedy


def test_a_broken_gpu_hides_no_other(driver: Path) -> None:
    found = run(INVENTORY, driver, STAND_IN_BROKEN="0")
    assert [card["index"] for card in found["inventory"]["devices"]] == [1]
    assert [card["index"] for card in found["machine"]["gpus"]] == [1]
    assert "NVML" in found["inventory"]["reason"]
    assert run(SAMPLE, driver, "all", STAND_IN_BROKEN="0")["gpus"] == ["1"]


def test_the_parts_of_a_divided_gpu_are_listed_and_sampled(driver: Path) -> None:
    part = "MIG-22222222-aaaa-bbbb-cccc-222222222222"
    whole, divided = run(INVENTORY, driver, STAND_IN_MIG="1")["inventory"]["devices"]
    assert (whole["divided"], whole["parts"]) == (False, [])
    (only,) = divided["parts"]
    assert divided["divided"] and (only["index"], only["uuid"]) == (1, part)
    assert only["name"] == "Stand-in B MIG 1g.5gb"
    found = run(SAMPLE, driver, part, STAND_IN_MIG="1")
    assert found["samples"][-1][0]["memory_bytes"] == GIB


def test_a_counter_that_begins_anew_goes_on(driver: Path) -> None:
    found = run(SAMPLE, driver, "0", STAND_IN_RESET="1")
    energies = [sample[0]["energy_j"] for sample in found["samples"]]
    assert energies[:3] == [10.0, 20.0, 30.0]
    assert len(energies) > 5 and energies == sorted(energies) and energies[-1] > 30.0


def test_where_nobody_is_listed_memory_is_what_came_to_it(driver: Path) -> None:
    found = run(SAMPLE, driver, "0", STAND_IN_NOBODY="1")
    assert found["resources"]["gpu_memory_peak_bytes"] == GIB // 2


def test_no_driver_at_all_is_said(tmp_path: Path) -> None:
    found = run(INVENTORY, tmp_path)
    if found["inventory"]["devices"]:
        pytest.skip("this machine has an NVIDIA driver")
    assert "driver" in found["inventory"]["reason"]


def test_the_fingerprint_names_models_not_devices(driver: Path) -> None:
    found = run(INVENTORY, driver)
    assert [device["name"] for device in found["inventory"]["devices"]] == [
        "Stand-in A",
        "Stand-in B",
    ]
    assert found["inventory"]["driver"] == "535.104.05"
    assert found["inventory"]["cuda"] == "12.2"
    machine = found["machine"]
    assert machine["gpu_driver"] == "535.104.05"
    assert machine["gpus"][0]["digest"] == digest_of("GPU-00000000-aaaa-bbbb-cccc-000000000000")
    assert machine["gpus"][0] == {
        "index": 0,
        "digest": machine["gpus"][0]["digest"],
        "name": "Stand-in A",
        "memory_bytes": 8 * GIB,
        "compute": "8.6",
        "processes": 2,
        "persistence": True,
        "ecc": False,
        "clock_mhz": 1410,
        "clock_limit_mhz": 1980,
    }
    assert "GPU-" not in json.dumps(machine)
