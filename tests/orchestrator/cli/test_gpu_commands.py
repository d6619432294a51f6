"""The commands about GPU packages, in the words that a user reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.environments import cuda_licence, cuda_sets
from dlbench.monitor import gpu
from tests.orchestrator.command import Command


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "empty"))
    return tmp_path


def test_images_verify_says_what_it_takes(command: Command, empty: Path) -> None:
    shown = command("images", "verify", "--device", "gpu", "--engine", "process")
    assert shown.code == 0
    lines = dict(line.split(" (gpu): ", 1) for line in shown.out.splitlines())
    assert lines["mxnet@1.9.1"] == "needs a download of 2.2 GB"
    assert lines["tensorflow@2.4.4"].startswith("not buildable before you accept NVIDIA's terms")
    assert lines["tensorflow@2.4.4"].endswith("its CUDA 11.0 archives are untried")
    index = "its GPU back end, pygpu and libgpuarray, is not on the package index"
    assert lines["theano@1.0.2"] == f"not buildable: {index}"
    shown = command("images", "verify", "mxnet", "--device", "gpu", "--engine", "process", "--json")
    (row,) = json.loads(shown.out)
    assert (row["release"], row["state"], row["differences"]) == ("mxnet@1.9.1", "download", [])
    assert row["bytes"] > 2e9


def test_without_a_device_both_are_said(command: Command, empty: Path) -> None:
    shown = command("images", "verify", "mxnet", "theano@1.0.5", "--engine", "process")
    assert shown.code == 0
    lines = [line.partition(": ")[::2] for line in shown.out.splitlines()]
    assert [name for name, _ in lines] == [
        "mxnet@1.9.1 (cpu)", "mxnet@1.9.1 (gpu)", "theano@1.0.5 (cpu)", "theano@1.0.5 (gpu)",
    ]  # fmt: skip
    said = dict(lines)
    assert said["mxnet@1.9.1 (cpu)"] == "needs a download of 67 MB"
    assert said["mxnet@1.9.1 (gpu)"] == "needs a download of 2.2 GB"
    assert said["theano@1.0.5 (gpu)"].startswith("not buildable: its GPU back end")
    shown = command("images", "verify", "mxnet", "--device", "tpu", "--engine", "process")
    assert shown.code == 2 and "no device 'tpu'" in shown.err


def test_terms_are_accepted_once(empty: Path) -> None:
    runner = CliRunner()
    refused = runner.invoke(app, ["images", "accept-cuda"], input="n\n")
    assert refused.exit_code == 1
    assert "must not be published" in refused.output and "docs.nvidia.com" in refused.output
    nobody = runner.invoke(app, ["images", "accept-cuda"], input="")
    assert nobody.exit_code == 1 and "Nothing was recorded." in nobody.output
    assert cuda_licence.accepted() == {}
    agreed = runner.invoke(app, ["images", "accept-cuda"], input="y\n")
    assert agreed.exit_code == 0 and "Recorded." in agreed.output
    assert all(cuda_licence.lacking(each) == [] for each in cuda_sets.all_sets().values())
    again = runner.invoke(app, ["images", "accept-cuda"])
    assert "You have accepted these already." in again.output


def test_what_can_t_be_built_says_so_before_anything_is_downloaded(
    command: Command, empty: Path
) -> None:
    shown = command("images", "build", "tensorflow@2.4.4", "--device", "gpu", "--engine", "process")
    assert shown.code == 2
    assert "tensorflow@2.4.4 needs CUDA's libraries from NVIDIA's archives" in shown.err
    assert "`dlbench images accept-cuda`" in shown.err
    shown = command("images", "build", "tensorflow@2.4.4", "--device", "gpu", "--from", "nowhere")
    assert shown.code == 2 and "'nowhere' does not exist" in shown.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--build", "tpu"], "no device 'tpu'"),
        (["--build", "cpu", "--device", "gpu"], "CPU packages can't be proven on a GPU"),
        (["--build", "gpu"], "no packages for device 'gpu' (NumPy computes on CPUs only)"),
        (["--gpu", "first"], "'first' does not name a GPU"),
        (["--gpu", "none"], "Leave it out to prove on the CPU."),
        (["--gpu", "each"], "Prove on one GPU after the other"),
    ],
)
def test_a_wrong_verify_is_refused(options: list[str], words: str, command: Command) -> None:
    shown = command("verify", "numpy", "--workload", "digits-cnn", "--engine", "process", *options)
    assert shown.code == 2
    assert words in shown.err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["run", "--framework", "mxnet", "--gpu", "all"], "Leave out --gpu and --device gpu"),
        (["run", "mxnet", "pytorch", "--device", "gpu"], "Leave out --gpu and --device gpu"),
        (["verify", "--gpu", "all", "--record"], "`dlbench verify --build gpu --device cpu`"),
        (["verify", "mxnet", "--gpu", "0"], "`dlbench verify --build gpu --device cpu`"),
    ],
)
def test_without_a_gpu_it_is_said_once_and_nothing_is_run(
    words: list[str], remedy: str, command: Command, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see_no_gpu(monkeypatch)
    monkeypatch.chdir(empty)
    shown = command(*words, "--engine", "process")
    assert shown.code == 2 and shown.out == ""
    assert shown.err.count("No GPU is seen here. No driver is loaded.") == 1
    assert shown.err.count("\n") == 2 and remedy in shown.err
    assert list(empty.iterdir()) == []


def test_a_plan_without_a_gpu_says_once_that_it_would_be_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    see_no_gpu(monkeypatch)
    shown = command("plan", "pytorch", "tensorflow", "--gpu", "all", "--engine", "process")
    assert shown.code == 0
    assert shown.out.count("None of these trials can run here: `dlbench run` would refuse.") == 1
    assert shown.out.count("No GPU is seen here.") == 1
    beside = ("--device", "cpu", "--device", "gpu")
    shown = command("plan", "pytorch", "mxnet", "--gpu", "all", *beside, "--engine", "process")
    assert shown.code == 0 and shown.out.count("No GPU is seen here.") == 1
    assert "GPU trials of pytorch@2.13.0 and mxnet@1.9.1 will end as `unsupported`." in shown.out


def see_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = gpu.Inventory(reason="No driver is loaded.")
    monkeypatch.setattr(gpu, "inventory", lambda: seen)


def test_a_build_that_needs_its_libraries_to_start_says_so(command: Command, empty: Path) -> None:
    words = ["verify", "mxnet@1.3.0", "--build", "gpu", "--engine", "process"]
    shown = command(*words, "--workload", "digits-cnn")
    assert shown.code == 2
    assert "mxnet@1.3.0 needs CUDA's libraries from NVIDIA's archives" in shown.err


def test_a_whole_check_says_first_what_it_takes(
    command: Command, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = shutil.disk_usage("/")._replace(free=30 * 10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: little)
    words = ["verify", "--build", "gpu", "--device", "cpu", "--engine", "process"]
    shown = command(*words, "--record", "--workload", "digits-cnn")
    assert shown.code == 2 and shown.out == ""
    assert "environments must be made first: " in shown.err
    assert "GB to download, about " in shown.err and "30 GB are free." in shown.err
    assert "Name some releases at a time" in shown.err


def test_wheels_are_not_downloaded_for_both_devices_by_mistake(
    command: Command, empty: Path
) -> None:
    shown = command("images", "verify", "mxnet", "--wheels", "--engine", "process")
    assert shown.code == 2 and "--device cpu or gpu" in shown.err
