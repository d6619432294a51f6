"""A trial's result: what its events say, and what trial.json holds."""

from __future__ import annotations

import json
import math
import statistics
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


def test_the_parts_of_a_step_are_medians_of_pairs() -> None:
    times = {"forward_ms": [10.0, 30.0, 20.0], "backward_ms": [30.0, 45.0, 45.0]}
    events = (*EVENTS[:-1], Event(9.5, "result", {"samples": 160, **times}))
    found = measure(events, {"parts": 4.0}, 1)
    assert (found["forward_ms"], found["backward_ms"]) == (20.0, 20.0)
    assert "parts_s" not in found, "how long it was measured is dlbench's choice"


@pytest.mark.parametrize(
    ("forward", "backward", "left"),
    [
        ([], [], set()),
        ([1.0], [3.0, 3.0], set()),
        ([3.0, 3.0], [2.0, 3.0], {"forward_ms"}),
    ],
)
def test_parts_that_say_nothing_are_left_out(
    forward: list[float], backward: list[float], left: set[str]
) -> None:
    times = {"forward_ms": forward, "backward_ms": backward}
    events = (*EVENTS[:-1], Event(9.5, "result", {"samples": 160, **times}))
    assert {"forward_ms", "backward_ms"} & measure(events, {}, 1).keys() == left


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ({"image sizes": 2, "padding": 0.25}, {"image_sizes": 2.0, "padding_share": 0.25}),
        ({"image sizes": 0, "padding": 1.5}, {}),
        ({"image sizes": "many", "padding": [0.1]}, {}),
        ({}, {}),
    ],
)
def test_sizes_and_padding_come_of_the_model(path: dict[str, Any], expected: object) -> None:
    model = Event(0.5, "model", {"parameters": 1, "weights_sha256": "", "path": path})
    found = measure((model, *EVENTS), {}, 1)
    assert {k: found[k] for k in ("image_sizes", "padding_share") if k in found} == expected


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


@pytest.mark.parametrize(
    ("batch", "rows", "steps_ms", "throughput"),
    [
        (32, 96, [2.0] * 3, 16000.0),
        (32, 80, [2.0, 2.0, 1.0], 16000.0),  # the last of an epoch has 16 rows
        (32, 80, [2.0, 2.0], 16000.0),  # a budget of steps ended before it
        (30, 38, [2.0, 0.5], 15000.0),
        (1000, 40, [2.0], 20000.0),  # no step has so many
        (10**10, 40, [2.0], 20000.0),
    ],
)
def test_throughput_is_that_of_whole_batches(
    batch: int, rows: int, steps_ms: list[float], throughput: float
) -> None:
    epochs = [
        Event(float(k), "epoch", {"epoch": k, "loss": 1.0, "steps_ms": steps_ms, "first": 0,
                                  "steps": len(steps_ms), "metrics": {}, "train_s": 1.0})
        for k in (1, 2)
    ]  # fmt: skip
    assert measure(epochs, {}, batch, rows)["throughput"] == throughput


def _epochs(
    metric: str, values: list[float | None], seconds: list[float] | None = None
) -> list[Event]:
    """An epoch a value; the last one is half as long, where `seconds` are given."""
    return [
        Event(float(k), "epoch", {
            "epoch": k, "loss": 1.0, "steps_ms": [1.0] * (2 if k == len(values) and seconds else 4),
            "first": 0, "metrics": {metric: value, "other": 0.5},
            "train_s": seconds[k - 1] if seconds else 1.0,
        })
        for k, value in enumerate(values, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "values", "epoch", "name", "value"),
    [
        ("accuracy", [0.5, 0.9, 0.7, 0.9], 2, "accuracy", 0.9),
        ("binary-accuracy", [0.5, 0.6], 2, "accuracy", 0.6),
        ("mean-absolute-error", [3.0, 1.0, 2.0], 2, "mae", 1.0),
        ("perplexity", [math.inf, 90.0, None, 70.0], 4, "perplexity", 70.0),
    ],
)
def test_the_peak_of_the_test_curve(
    metric: str, values: list[float | None], epoch: int, name: str, value: float
) -> None:
    metrics = measure(_epochs(metric, values), {}, 1)
    assert (metrics["peak_epoch"], metrics[f"test_peak_{name}"]) == (epoch, value)
    assert metrics[name] == values[-1]  # the result is that of the last epoch


@pytest.mark.parametrize("values", [[], [0.5], [None, math.nan]])
def test_no_peak_without_a_curve(values: list[float | None]) -> None:
    metrics = measure(_epochs("accuracy", values), {}, 1)
    assert not [name for name in metrics if "peak" in name]


def test_a_quality_is_kept_as_it_was_measured() -> None:
    """Rounded accuracies of as many right rows in other trials have another mean: 1754 of 1795."""
    one, other = (351, 351, 354, 348, 350), (351, 353, 351, 351, 348)
    means = [
        statistics.fmean(
            measure(_epochs("accuracy", [right / 359]), {}, 1)["accuracy"] for right in rights
        )
        for rights in (one, other)
    ]
    assert math.isclose(*means, rel_tol=1e-14)
    assert measure(_epochs("mean-squared-error", [2.5e-9]), {}, 1)["mse"] == 2.5e-9


def test_the_first_epoch_is_compared_with_whole_ones() -> None:
    metrics = measure(_epochs("accuracy", [0.5] * 5, [9.0, 2.0, 4.0, 3.0, 0.1]), {}, 1)
    assert (metrics["first_epoch_s"], metrics["first_epoch_excess_s"]) == (9.0, 6.0)
    quick = measure(_epochs("accuracy", [0.5] * 3, [1.0, 1.5, 0.1]), {}, 1)
    assert quick["first_epoch_excess_s"] == -0.5
    # the second one is not whole
    alone = measure(_epochs("accuracy", [0.5] * 2, [9.0, 0.1]), {}, 1)
    assert alone["first_epoch_s"] == 9.0
    assert "first_epoch_excess_s" not in alone


def test_what_is_measured_at_the_end() -> None:
    result = {
        "samples": 1, "metrics": {"accuracy": 0.5, "greedy-accuracy": 0.25},
        "train_metrics": {"accuracy": 0.75}, "decoded_rows": 12, "inference_rows": 500,
        "inference_ms": [40.0, 10.0, 20.0], "latency_ms": [float(k) for k in range(1, 101)],
    }  # fmt: skip
    phases = {"inference": 4.0, "latency": 5.0, "decode": 6.0, "evaluate-train": 7.0}
    metrics = measure([Event(9.0, "result", result)], phases, 1)
    assert (metrics["accuracy"], metrics["train_accuracy"]) == (0.5, 0.75)
    assert (metrics["greedy_accuracy"], metrics["decoded_rows"]) == (0.25, 12.0)
    assert metrics["inference_s_per_thousand"] == 0.04  # 20 ms for 500 rows
    assert metrics["latency_ms_median"] == 50.5
    assert metrics["latency_ms_p99"] == pytest.approx(99.01)
    assert (metrics["decode_s"], metrics["evaluate_train_s"]) == (6.0, 7.0)
    assert not {"inference_s", "latency_s"} & metrics.keys()
    few = measure([Event(9.0, "result", {**result, "latency_ms": [1.0] * 99})], phases, 1)
    assert "latency_ms_p99" not in few
    assert few["latency_ms_median"] == 1.0


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
