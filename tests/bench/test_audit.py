"""The end of a trial: its predictions are those of the weights that it ended with."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import audit, data, metrics, trial
from bench.formats import Events, Invalid
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph

Json = dict[str, Any]


def _job(**changes: Any) -> Json:
    g = Graph("small")
    x = g.conv2d(g.input("image", (6, 6, 2)), 4, 3, padding="same")
    x = g.dropout(g.relu(g.batchnorm(x)), 0.5)
    g.outputs(g.dense(g.flatten(x), 3, name="logits"))
    recipe = recipes.recipe(
        batch=8,
        epochs=3,
        optimizer=recipes.sgd(0.05),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "label")],
        metrics=[recipes.metric("accuracy", "logits", "label")],
    )
    files = {
        split: {name: f"{split}-{name}.npy" for name in ("image", "label")}
        for split in ("train", "test")
    }
    return {
        "graph": g.to_json(), "recipe": recipe, "seed": 3, "setting": "matched", "variant": "",
        "threads": None, "device": "cpu", "save": False, "budget": {"epochs": 3, "steps": None},
        "data": {"splits": files, "divide": {}}, "confounds": [], **changes,
    }  # fmt: skip


def _run(folder: Path, model_class: type[Reference], **changes: Any) -> Json:
    """The trial of a model; what its last event says."""
    job, random = _job(**changes), np.random.RandomState(1)
    for files in job["data"]["splits"].values():
        np.save(folder / files["image"], random.normal(size=(20, 6, 6, 2)).astype(np.float32))
        np.save(folder / files["label"], random.randint(0, 3, 20).astype(np.int32))
    adapter = SimpleNamespace(
        VARIANTS=("",),
        set_up=lambda options: None,
        describe=lambda: {"framework": "numpy", "version": "", "threads": 1, "pools": {}},
        build=lambda graph, recipe, options: model_class(graph, recipe, options.seed, np.float32),
    )
    events = Events(str(folder / "events.jsonl"))
    trial.run(job, str(folder), str(folder), adapter, events)
    last = (folder / "events.jsonl").read_text().splitlines()[-1]
    return dict(json.loads(last))


class StaleFromTheSecondEpoch(Reference):
    """Predicts with the weights of the first epoch, whatever is learnt after it."""

    _kept: Any = None

    def predict(self, batch: Json) -> Json:
        self._kept = self._kept or self.weights()
        learnt, self._weights = self._weights, self._kept
        outputs = super().predict(batch)
        self._weights = learnt
        return dict(outputs)


class DropsInTheLastEpoch(Reference):
    """Evaluates in training mode once it has trained for a while."""

    _steps = 0

    def train_step(self, batch: Json) -> Any:
        self._steps += 1
        return super().train_step(batch)

    def predict(self, batch: Json) -> Json:
        if self._steps < 9:
            return dict(super().predict(batch))
        values = self.activations(batch, training=True)
        return {name: values[name] for name in self._graph["outputs"]}


@pytest.mark.parametrize("batch", [2, 7, 8, 50])
def test_a_right_trial_says_how_near_it_was(tmp_path: Path, batch: int) -> None:
    recipe = dict(_job()["recipe"], batch=batch)
    audited = _run(tmp_path, Reference, recipe=recipe)["audit"]
    assert audited["rows"] == 8 and 0 <= audited["error"] < 1e-5


def test_of_outputs_of_which_few_rows_are_kept_as_many_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "MOST_KEPT", 40)
    assert _run(tmp_path, Reference)["audit"]["rows"] == 3


@pytest.mark.parametrize("model_class", [StaleFromTheSecondEpoch, DropsInTheLastEpoch])
def test_predictions_of_another_model_than_the_learnt_one(
    tmp_path: Path, model_class: type[Reference]
) -> None:
    with pytest.raises(Invalid, match="not those of the weights that it ended with: logits is"):
        _run(tmp_path, model_class)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"setting": "native"}, "native"),
        ({"confounds": [{"name": "test-is-training", "in": "bench"}]}, "on purpose"),
    ],
)
def test_what_is_not_audited_says_why(tmp_path: Path, changes: Json, words: str) -> None:
    assert words in _run(tmp_path, Reference, **changes)["audit"]["reason"]


def test_rounding_of_a_graph_that_makes_much_of_it_is_no_fault() -> None:
    """A prediction in float32 that is further off than usual is held against the graph's own."""
    g = Graph("steep")
    x = g.dense(g.input("x", (4,)), 4, bias=False, name="large")
    g.outputs(g.dense(x, 1, bias=False, name="y"))
    loss = [recipes.loss("mean-squared-error", "y", "t")]
    recipe = recipes.recipe(
        batch=4, epochs=1, optimizer=recipes.sgd(0.1), losses=loss,
        metrics=[recipes.metric("mean-squared-error", "y", "t")],
    )  # fmt: skip
    job = _job(graph=g.to_json(), recipe=recipe)
    # sums of large numbers that cancel all but the last digits
    large = np.full((4, 4), 1e4, np.float32) + np.arange(16, dtype=np.float32).reshape(4, 4)
    learnt = {
        "large": {"kernel": large},
        "y": {"kernel": np.array([[1], [-1], [1], [-1]], np.float32)},
    }
    arrays = {"x": np.random.RandomState(2).uniform(1, 2, (4, 4)).astype(np.float32)}
    arrays["t"] = np.zeros((4, 1), np.float32)
    test = data.Split(arrays)
    exact = Reference(job["graph"], recipe, 1, np.float64, learnt).predict(arrays)["y"]
    near = exact + 2e-3 * np.abs(exact).max()
    assert audit.check(job, learnt, test, {"y": near})["error"] > 1e-3
    with pytest.raises(Invalid):
        audit.check(job, learnt, test, {"y": exact + 0.5 * np.abs(exact).max()})
