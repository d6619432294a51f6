"""What is measured at the end: only what is wanted, each in its phase, on its own rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import after_training, data, metrics
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.workloads import workloads
from tests.bench.test_trial import Events, _training


def _phases(events: Events) -> list[str]:
    return [line["phase"] for line in events.lines if line["event"] == "phase"]


def test_without_a_wish_nothing_is_measured() -> None:
    training, model, _ = _training(epochs=1)
    events = Events()
    found = after_training.measure(training._job, model, training._splits, events)
    assert found == {"metrics": {}, "train_metrics": {}, "decoded_rows": 0}
    assert _phases(events) == []


def test_the_training_split_is_what_was_trained_on() -> None:
    wanted = {"stopping": recipes.stopping(3), "evaluate": ("test", "train")}
    training, model, _ = _training(epochs=1, **wanted)
    training.run()
    events = Events()
    job = {**training._job, "inference": True}
    found = after_training.measure(job, model, training._splits, events)
    assert training._splits["train"].rows == 36  # of 40, without those for validation
    rows = training._splits["train"].batch(slice(0, 36))
    error = metrics.compute("mean-squared-error", model.predict(rows)["y"], rows["t"])
    assert found["train_metrics"] == {"mean-squared-error": pytest.approx(error)}
    assert _phases(events) == ["evaluate-train", "inference", "latency"]
    assert (found["inference_rows"], len(found["latency_ms"])) == (40, 200)


def test_a_decoder_is_decoded() -> None:
    workload = workloads()["proof-encoder-decoder"]
    place: Any = ("logits", "target_out")
    greedy = recipes.metric("greedy-accuracy", *place, mask="mask", input="target_in")
    recipe = {**workload.recipe, "metrics": [*workload.recipe["metrics"], greedy]}
    recipes.check(workload.graph, recipe)
    random = np.random.RandomState(1)
    arrays = {
        "source": random.randint(0, 30, (20, 9)),
        "source_length": random.randint(1, 10, 20),
        "target_in": random.randint(0, 25, (20, 7)),
        "target_out": random.randint(0, 25, (20, 7)),
        "mask": (np.arange(7) < random.randint(1, 8, (20, 1))).astype(np.float32),
    }
    split, events = data.Split(arrays), Events()
    model = Reference(workload.graph, recipe, 1, np.float32)
    job = {"recipe": recipe}
    found = after_training.measure(job, model, {"train": split, "test": split}, events)
    assert set(found["metrics"]) == {"greedy-accuracy"}
    assert 0 <= found["metrics"]["greedy-accuracy"] <= 1
    assert found["decoded_rows"] == 20
    assert _phases(events) == ["decode"]
