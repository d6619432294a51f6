"""A trial's result: what its events say, and what trial.json holds."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dlbench.campaigns import trial_file
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_file import read_result
from dlbench.campaigns.trial_result import (
    Scale,
    TrialResult,
    curve,
    intervals,
    measure,
    phase_seconds,
)
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.resources import PhaseUse, Resources

EVENTS = (
    Event(1.0, "phase", {"phase": "import", "seconds": 0.5}),
    Event(2.0, "phase", {"phase": "first-step", "seconds": 0.25}),
    Event(3.0, "phase", {"phase": "warm-up", "seconds": 0.5}),
    Event(5.0, "phase", {"phase": "train", "seconds": 2.0}),
    Event(8.0, "phase", {"phase": "train", "seconds": 1.0}),
    Event(
        9.0,
        "epoch",
        {
            "epoch": 1, "loss": 0.5, "steps_ms": [90.0, 9.0, 1.0, 2.0, 3.0], "first": 2,
            "metrics": {"binary-accuracy": 0.75}, "train_s": 3.75,
        },
    ),
    Event(9.5, "result", {"samples": 160}),
)  # fmt: skip


def result(**changes: object) -> TrialResult:
    known = {
        "id": "t", "index": 0, "round": 0, "release": "numpy@1", "workload": "digits-cnn",
        "device": "cpu", "engine": "process", "setting": "matched", "variant": "numpy",
        "seed": 1, "repeat": 0, "outcome": Outcome.OK, "reason": "", "started": "",
        "wall_s": 1.0, "metrics": {"accuracy": 0.5},
    }  # fmt: skip
    return TrialResult(**{**known, **changes})


def test_phases_are_the_sum_of_their_stretches() -> None:
    stretches = intervals(EVENTS)
    assert (stretches[3].start, stretches[3].end) == (3.0, 5.0)
    assert phase_seconds(stretches) == {
        "import": 0.5, "first-step": 0.25, "warm-up": 0.5, "train": 3.0,
    }  # fmt: skip


def test_training_time_is_more_than_the_steady_steps() -> None:
    metrics = measure(EVENTS, phase_seconds(intervals(EVENTS)), 32)
    assert metrics["train_s"] == 3.75
    assert metrics["steady_s"] == 3.0
    assert metrics["import_s"] == 0.5
    assert metrics["first_step_s"] == 0.25
    assert metrics["step_ms_median"] == 2.0
    assert metrics["throughput"] == 16000.0
    assert (metrics["accuracy"], metrics["loss"]) == (0.75, 0.5)
    assert (metrics["epochs"], metrics["steps"], metrics["samples"]) == (1.0, 5.0, 160.0)


def test_a_trial_that_reached_nothing() -> None:
    metrics = measure((), {}, 32)
    assert metrics["train_s"] is metrics["steady_s"] is metrics["loss"] is None
    assert metrics["steps"] == 0.0


def test_the_curve_leaves_out_what_is_no_number() -> None:
    lost = Event(10.0, "epoch", {**EVENTS[-2].fields, "epoch": 2, "loss": math.nan})
    points = curve([*EVENTS, lost])
    assert [point["train_s"] for point in points] == [3.75, 7.5]
    assert [point["loss"] for point in points] == [0.5, None]


def read(tmp_path: Path, content: dict[str, Any]) -> TrialResult:
    """The result in a file with this content."""
    folder = tmp_path / content["id"]
    folder.mkdir()
    (folder / "trial.json").write_text(json.dumps(content))
    found = read_result(folder)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "resources",
    [None, Resources("cgroup-v2", 3, cpu_seconds=2.5, per_phase={"train": PhaseUse(50.0, 10)})],
)
def test_what_is_written_is_read(tmp_path: Path, resources: Resources | None) -> None:
    whole = result(resources=resources, scale=Scale(epochs=2, batch=32), outcome=Outcome.OOM)
    assert read(tmp_path, whole.to_json()) == whole


def test_every_field_is_checked() -> None:
    assert set(trial_file._FIELDS) == {field.name for field in fields(TrialResult)}


def test_unknown_keys_are_left_out(tmp_path: Path) -> None:
    content = result(resources=Resources("cgroup-v2", 3)).to_json()
    for part in (content, content["scale"], content["resources"]):
        part["invented_later"] = 1
    assert read(tmp_path, content).resources == Resources("cgroup-v2", 3)


def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"trial\.json has format version 99"):
        read(tmp_path, {**result().to_json(), "v": 99})
