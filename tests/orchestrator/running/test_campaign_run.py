"""Whole campaigns, and each way a trial can end, provoked for real, in both engines."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult
from dlbench.engines import outfolder
from dlbench.engines.base import Limits
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial
from dlbench.running import campaign_run
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import start
from dlbench.running.execute import Execution
from dlbench.running.workshop import Workshop, open_workshop


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def workshop(request: pytest.FixtureRequest, bundle: Path) -> Workshop:
    if request.param == "docker":
        request.getfixturevalue("docker_client")
    return open_workshop(request.param)


def run(workshop: Workshop, out: Path, *names: str, **choices: object) -> list[TrialResult]:
    chosen = {"repeats": 1, "epochs": 1, "frameworks": names, **choices}
    return list(start(Choices(**chosen), workshop, out, CampaignObserver()).results)


def one(workshop: Workshop, out: Path, name: str, **choices: object) -> TrialResult:
    (result,) = run(workshop, out, name, **choices)
    return result


def test_ok_has_everything(workshop: Workshop, tmp_path: Path) -> None:
    result = one(workshop, tmp_path / "c", "spoilt", epochs=2)
    assert result.outcome is Outcome.OK, result.reason
    assert result.certified is True
    assert 0.2 < result.metrics["accuracy"] <= 1.0
    assert result.metrics["steps"] == 2 * 45  # 1,438 rows in batches of 32, the last one partial
    assert result.metrics["samples"] == 2 * 1438
    assert set(result.phases) == {
        "import", "load", "build", "first-step", "warm-up", "train", "evaluate",
    }  # fmt: skip
    parts = [result.phases[name] for name in ("first-step", "warm-up", "train")]
    assert result.metrics["train_s"] == pytest.approx(sum(parts), abs=1e-4)
    assert sum(result.phases.values()) < result.wall_s
    assert result.resources.memory_peak_bytes > 5e6
    assert result.resources.cpu_seconds > 0.1
    assert Campaign(tmp_path / "c").results() == [result]
    assert [point["epoch"] for point in result.curve] == [1, 2]
    assert result.stack["packages"]["numpy"] == result.stack["version"]
    files = {path.name for path in (tmp_path / "c/trials" / result.id).iterdir()}
    assert files >= {"job.json", "events.jsonl", "samples.jsonl", "trial.json", "log.txt"}


def test_what_is_asked_for_is_measured_in_phases_of_its_own(
    workshop: Workshop, tmp_path: Path
) -> None:
    asked = {"workloads": ("petrol-mlp",), "data": "synthetic", "inference": True, "epochs": 2}
    result = one(workshop, tmp_path / "c", "spoilt", **asked)
    assert result.outcome is Outcome.OK, result.reason
    assert set(result.phases) >= {"evaluate", "evaluate-train", "inference", "latency"}
    metrics = result.metrics
    assert metrics["train_mse"] > 0 and metrics["train_mse"] != metrics["mse"]
    assert metrics["inference_s_per_thousand"] > 0
    assert 0 < metrics["latency_ms_median"] <= metrics["latency_ms_p99"]
    assert 0 < metrics["first_epoch_s"] < metrics["train_s"]
    assert metrics["peak_epoch"] in (1, 2)
    lowest = min(point["mse"] for point in result.curve)
    assert metrics["test_peak_mse"] == pytest.approx(lowest, abs=1e-6)
    assert Campaign(tmp_path / "c").results() == [result]


@pytest.mark.parametrize(
    ("variant", "outcome", "words"),
    [
        ("nan", Outcome.DIVERGED, "nan"),
        ("unsupported", Outcome.UNSUPPORTED, "second step"),
        ("segfault", Outcome.CRASHED, "SIGSEGV"),
        ("raises", Outcome.CRASHED, "on purpose"),
        ("exits", Outcome.CRASHED, "exit code 7"),
        ("leaves", Outcome.CRASHED, "without a result"),
        ("garbage", Outcome.INVALID, "not JSON"),
        ("long-line", Outcome.INVALID, "longer than"),
        ("wrong-version", Outcome.INVALID, "not of version 1"),
        ("allocates", Outcome.CRASHED, "File too large"),
        ("forges", Outcome.INVALID, "a number that is too large"),
    ],
)
def test_bad_ends(
    workshop: Workshop, tmp_path: Path, variant: str, outcome: Outcome, words: str
) -> None:
    result = one(workshop, tmp_path / "c", f"spoilt:{variant}")
    assert (result.outcome, words in result.reason) == (outcome, True), result.reason
    assert (tmp_path / "c/trials" / result.id / "events.jsonl").stat().st_size < 1e6


def test_timeout_keeps_the_curve(workshop: Workshop, tmp_path: Path) -> None:
    for limit in (5, 30):  # the second only where the first was too short for one epoch
        out = tmp_path / str(limit)
        result = one(workshop, out, "spoilt", epochs=2000, time_limit=f"{limit}s")
        assert result.outcome is Outcome.TIMEOUT
        assert f"{limit} s" in result.reason
        if result.curve:
            break
    assert len(result.curve) >= 1
    assert result.metrics["steps"] >= 45


def test_memory_limit(workshop: Workshop, tmp_path: Path, may_limit_memory: None) -> None:
    result = one(workshop, tmp_path / "c", "spoilt:memory", memory="300m")
    assert result.outcome is Outcome.OOM, result.reason


@pytest.fixture
def may_limit_memory(workshop: Workshop) -> None:
    if problems := workshop.engine.unenforced(Limits(memory_bytes=1 << 28)):
        pytest.skip(problems[0])


@pytest.mark.parametrize("variant", ["fills", "hides"])
def test_too_much_output(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    small = property(lambda self: Limits(seconds=60, output_bytes=20 << 20))
    monkeypatch.setattr(Trial, "limits", small)
    result = one(workshop, tmp_path / "c", f"spoilt:{variant}")
    assert (result.outcome, "20,971,520 bytes of output" in result.reason) == (
        Outcome.OUTPUT_LIMIT,
        True,
    ), result.reason
    assert outfolder.size(tmp_path / "c/trials" / result.id / "out") < 1 << 20


def _peak_kilobytes(running: subprocess.Popen[str]) -> int:
    """Of the process itself, until it ends: what `wait4` says is at least what its parent had."""
    peak = 0
    while running.poll() is None:
        status = Path(f"/proc/{running.pid}/status").read_text()
        peak = max(peak, *map(int, re.findall(r"VmHWM:\s+(\d+)", status)), 0)
        time.sleep(0.05)
    return peak


@pytest.mark.parametrize("engine", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_flood_of_events_ends_the_trial_and_nothing_else(
    engine: str, launch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "docker":
        request.getfixturevalue("docker_client")
    options = ("--framework", "spoilt:flood", "--repeats", "1", "--time-limit", "60s")
    running = launch("run", "--engine", engine, *options, "-o", str(tmp_path / "c"))
    peak = _peak_kilobytes(running)
    assert running.returncode == 1
    (result,) = Campaign(tmp_path / "c").results()
    assert result.outcome is Outcome.OUTPUT_LIMIT, result.reason
    assert "bytes of events" in result.reason
    assert result.wall_s < 60, "its time limit was over first"
    assert 10_000 < peak < 300_000, "kilobytes of memory for the orchestrator"
    assert outfolder.size(tmp_path / "c") < 64 << 20


def test_a_flood_of_huge_events_does_not_delay_the_time_limit(
    workshop: Workshop, tmp_path: Path
) -> None:
    result = one(workshop, tmp_path / "c", "spoilt:huge", time_limit="4s")
    assert (result.outcome, result.reason) == (
        Outcome.TIMEOUT,
        "It reached its time limit of 4 s.",
    )
    assert result.wall_s < 30, "reading what it wrote came first"


@pytest.mark.parametrize("engine", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_sigterm_is_heard_in_a_flood(
    engine: str, launch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "docker":
        request.getfixturevalue("docker_client")
    options = ("--framework", "spoilt:huge", "--repeats", "1", "--time-limit", "200s")
    running = launch("run", "--engine", engine, *options, "--out", str(tmp_path / "c"))
    while not _read_so_far(tmp_path / "c"):
        assert running.poll() is None
        time.sleep(0.02)
    running.terminate()
    running.communicate(timeout=60)
    assert running.returncode == 130
    campaign = Campaign(tmp_path / "c")
    assert [result.outcome for result in campaign.results()] in ([], [Outcome.INTERRUPTED])
    assert len(campaign.unfinished()) == 1, "it can be resumed"


def _read_so_far(folder: Path) -> int:
    """Bytes of events that were read of its trial."""
    return sum(path.stat().st_size for path in folder.glob("trials/*/events.jsonl"))


def test_one_failure_stops_nothing(workshop: Workshop, tmp_path: Path) -> None:
    names = ("spoilt:segfault", "broken", "unbuilt", "numpy")
    results = run(workshop, tmp_path / "c", *names, repeats=1)
    by_release = {result.release.split("@")[0]: result for result in results}
    assert by_release["spoilt"].outcome is Outcome.CRASHED
    assert by_release["broken"].outcome is Outcome.IMPORT_FAILED
    assert "a_module_that_is_not_there" in by_release["broken"].reason
    assert by_release["unbuilt"].outcome is Outcome.BUILD_FAILED
    assert by_release["numpy"].outcome is Outcome.OK
    assert Campaign(tmp_path / "c").unfinished() == []


def test_a_choice_of_gpus_that_means_others_in_the_middle_is_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else `all` would train on what is left, under the same name."""
    seen: list[tuple[str, ...]] = [("a", "b"), ("a", "b"), (), ("b",), ("a", "b")]
    monkeypatch.setattr(campaign_run, "digests", lambda _: seen.pop(0))
    monkeypatch.setattr(campaign_run, "_environment", lambda *_: "environment")
    monkeypatch.setattr(campaign_run, "job_of", lambda *_: {})
    monkeypatch.setattr(campaign_run, "request_of", lambda *_, **__: None)
    fine = Execution(Outcome.OK, "", "", 1.0, ())
    monkeypatch.setattr(campaign_run, "execute", lambda *_, **__: fine)
    monkeypatch.setattr(Workshop, "libraries", lambda *_: ())
    trial = draft(Choices(frameworks=("pytorch",), devices=("gpu",), gpu="0,1"), "process").trials[
        0
    ]
    running: Any = SimpleNamespace(
        gpus={}, data={trial.workload: None}, campaign=Campaign(tmp_path), about=MagicMock(),
        workshop=open_workshop("process"), observer=CampaignObserver(),
    )  # fmt: skip
    found = [campaign_run._execution(running, trial) for _ in range(5)]
    assert [each.outcome.value for each in found] == ["ok", "ok", "ok", "gpu-lost", "ok"]
    assert found[3].reason == "`--gpu 0,1` no longer means the GPUs that it meant before."
