"""A real campaign that runs a seed again, with deterministic kernels, on pinned cores."""

from __future__ import annotations

import os
from pathlib import Path

from dlbench.analysis.reproducibility import repeats_of
from dlbench.campaigns.outcomes import Outcome
from dlbench.planning.choices import Choices
from dlbench.report.material import load
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import start
from dlbench.running.workshop import open_workshop
from tests.orchestrator.command import Command

CHOICES = Choices(
    frameworks=("numpy", "pytorch"),
    workloads=("digits-cnn",),
    seeds="5,5,6",
    steps=6,
    threads="1",
    deterministic=True,
)


def test_a_seed_that_runs_again_is_told_bit_for_bit(tmp_path: Path, command: Command) -> None:
    finished = start(CHOICES, open_workshop("process"), tmp_path / "c", CampaignObserver())
    assert [result.outcome for result in finished.results] == [Outcome.OK] * 6
    assert all(result.certified for result in finished.results)
    core = min(os.sched_getaffinity(0))
    for result in finished.results:
        assert result.scale.deterministic and result.scale.threads == 1
        assert result.cores.pinned == result.stack["affinity"] == [core]
        assert (result.cores.allotted, result.cores.machine) == (1.0, os.cpu_count())
        assert set(result.stack["pools"].values()) == {1} == {result.stack["threads"]}
        assert len(result.ended_with) == 3
    asked = {result.release: result.stack["deterministic"] for result in finished.results}
    assert asked["pytorch@2.13.0"]["switches"]["use_deterministic_algorithms"] is True
    assert asked["numpy@2.4.6"]["switches"] == {}
    for group in load(tmp_path / "c").groups:
        repeats = repeats_of(group)
        assert repeats is not None and (repeats.seed, len(repeats.rows)) == (5, 2)
        assert repeats.recorded and not repeats.differs
        assert len({row["final_weights_sha256"] for row in group.rows}) == 2
    shown = " ".join(command("show", str(tmp_path / "c")).out.split())
    assert "digits-cnn (deterministic)" in shown
    assert "gave the same weights, predictions and losses to the last bit: numpy@2.4.6" in shown
