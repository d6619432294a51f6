"""`dlbench doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dlbench.host import diagnosis, machine
from dlbench.host.diagnosis import Diagnosis, diagnose
from dlbench.monitor import gpu, rapl
from tests.orchestrator.monitor.test_rapl import zone


def by_topic(found: list[Diagnosis]) -> dict[str, Diagnosis]:
    return {each.topic: each for each in found}


def test_everything_is_looked_at_and_worded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    found = diagnose()
    assert {"Docker", "Disk", "Machine", "Noise"} <= {each.topic for each in found}
    assert any(each.topic.startswith("Python 3.") for each in found)
    docker = by_topic(found)["Docker"]
    assert docker.state == "fair"
    assert "none.sock" in docker.text and "process engine works" in docker.text
    assert all(each.text for each in found)
    assert all(each.remedy for each in found if each.state == "bad")


@pytest.mark.parametrize(("free", "state"), [(1e9, "bad"), (1e12, "good")])
def test_little_disk_is_bad(monkeypatch: pytest.MonkeyPatch, free: float, state: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    (disk,) = diagnosis._disk()
    assert disk.state == state
    assert ("DLBENCH_CACHE" in disk.remedy) == (state == "bad")


@pytest.mark.parametrize(("slow", "state"), [(1.05, "good"), (2.0, "fair")])
def test_a_noisy_machine_is_said_to_be_noisy(
    monkeypatch: pytest.MonkeyPatch, slow: float, state: str
) -> None:
    monkeypatch.setattr(machine, "noise", lambda: machine.Noise(1.0, slow, 100))
    assert by_topic(list(diagnosis._machine()))["Noise"].state == state


def test_a_gpu_is_compared_with_what_releases_need(monkeypatch: pytest.MonkeyPatch) -> None:
    old = gpu.Device("An old card", 1 << 30, "3.0", index=0, uuid="GPU-1")
    seen = gpu.Inventory((old,), driver="300.0")
    monkeypatch.setattr(gpu, "inventory", lambda: seen)
    found = list(diagnosis._gpus())
    assert found[0].state == "good"
    refused = [each for each in found[1:] if "on GPU 0" in each.topic]
    assert len(refused) > 10
    assert all(each.state == "fair" for each in refused)


def test_a_hopeless_pair_names_what_would_work(monkeypatch: pytest.MonkeyPatch) -> None:
    card = gpu.Device("A card", 8 << 30, "7.0", index=0, uuid="GPU-1")
    monkeypatch.setattr(gpu, "inventory", lambda: gpu.Inventory((card,), driver="440.33"))
    said = by_topic(list(diagnosis._gpus()))["mxnet@1.9.1 on GPU 0"].text
    assert "needs driver 520.61 or newer; this machine has 440.33." in said
    assert "The nearest release that works here is mxnet@1.3.0" in said


def test_what_a_gpu_s_mode_does_to_trials_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = (
        gpu.Device("A", 8 << 30, "8.0", persistence=False, index=0, uuid="GPU-1"),
        gpu.Device("B", 8 << 30, "8.0", persistence=True, index=1, uuid="GPU-2", divided=True),
    )
    monkeypatch.setattr(gpu, "inventory", lambda: gpu.Inventory(cards, driver="600.10"))
    found = by_topic(list(diagnosis._gpus()))
    assert "nvidia-smi -pm 1" in found["Persistence mode of GPU 0"].remedy
    assert "Persistence mode of GPU 1" not in found
    assert found["Divided GPU"].text.startswith("GPU 1 is in MIG mode")


def test_the_remedy_is_that_of_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    none = gpu.Inventory(reason="The driver was updated.", remedy="Restart this machine.")
    monkeypatch.setattr(gpu, "inventory", lambda: none)
    (said,) = diagnosis._gpus()
    assert "The driver was updated." in said.text and said.remedy == "Restart this machine."


def test_gpus_of_one_kind_are_spoken_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = (
        gpu.Device("A", 8 << 30, "8.6", processes=2, index=0, uuid="GPU-1"),
        gpu.Device("B", 8 << 30, "7.0", index=1, uuid="GPU-2"),
        gpu.Device("A", 8 << 30, "8.6", index=2, uuid="GPU-3"),
    )
    monkeypatch.setattr(gpu, "inventory", lambda: gpu.Inventory(cards, driver="600.10"))
    found = by_topic(list(diagnosis._gpus()))
    assert found["GPUs 0 and 2"].text == "A, driver 600.10."
    assert found["GPU 1"].text == "B, driver 600.10."
    slow = found["Slow start on GPUs 0 and 2"].text
    assert "tensorflow@1.11.0" in slow and slow.count("can take an hour") == 1
    # no code in it for this one, but for the other there is
    assert found["pytorch@1.6.0 on GPUs 0 and 2"].text.endswith(
        "The nearest release that works here is pytorch@1.13.1. It can use GPU 1 (B): `--gpu 1`."
    )
    assert found["GPU in use"].text.startswith("GPU 0 (A) is in use by 2 other programs")


@pytest.mark.parametrize(
    ("there", "refused", "state", "words", "remedy"),
    [
        (False, False, "fair", "no energy counters (powercap) here. Trials have no energy", ""),
        (True, True, "fair", "Only root may read the kernel's energy counters here.", "sudo chmod"),
        (True, False, "good", "the processors' energy can be read.", ""),
    ],
)
def test_why_trials_have_no_energy_of_the_processors_is_said(
    there: bool, refused: bool, state: str, words: str, remedy: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(rapl, "ROOT", tmp_path)
    if there:
        zone(tmp_path, "intel-rapl:0", "package-0")

    def read(path: Path) -> str:
        if refused and path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return path.read_text().strip()

    monkeypatch.setattr(rapl, "_text", read)
    (said,) = diagnosis._energy()
    assert (said.topic, said.state) == ("Energy", state) and words in said.text
    assert said.remedy.startswith(f"`{remedy}" if remedy else "") and bool(said.remedy) == refused
