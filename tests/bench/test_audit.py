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


class NoUpdateInTheLastBatch(Reference):
    """Of each epoch's last batch there is no loss."""

    def losses(self, handles: Any) -> Any:
        return super().losses(handles)[:-1] if len(handles) > 1 else super().losses(handles)


class StaleInTheLastBatch(Reference):
    """The last, smaller batch of an evaluation is predicted as the first rows of the one before."""

    _before: Any = None

    def predict(self, batch: Json) -> Json:
        found = dict(super().predict(batch))
        rows = len(found["logits"])
        if self._before is not None and rows < 8:
            return {name: value[:rows] for name, value in self._before.items()}
        self._before = found
        return found


class LoadsHalf(Reference):
    """What is loaded into the last layer is halved."""

    def load(self, weights: Any) -> None:
        kernel = weights["logits"]["kernel"] / 2
        super().load(dict(weights, logits=dict(weights["logits"], kernel=kernel)))


class FrozenLayersDrift(Reference):
    def train_step(self, batch: Json) -> Any:
        loss = super().train_step(batch)
        self._weights["conv2d1"]["kernel"] *= np.float32(1.001)
        return loss


class LosesAClass(Reference):
    """The loss of the first step is that of other labels."""

    def train_step(self, batch: Json) -> Any:
        return super().train_step(dict(batch, label=(batch["label"] + 1) % 3))


@pytest.mark.parametrize(
    ("model_class", "words"),
    [
        (NoUpdateInTheLastBatch, "2 steps in epoch 1, and there were 3 batches"),
        (StaleInTheLastBatch, "not those of the weights that it ended with: logits is"),
        (LoadsHalf, "not those that it was given: logits/kernel"),
        (FrozenLayersDrift, "conv2d1 does not learn, and yet it is not what it was"),
    ],
)
def test_what_a_trial_may_not_do(tmp_path: Path, model_class: type[Reference], words: str) -> None:
    graph = _job()["graph"]
    next(node for node in graph["nodes"] if node["op"] == "conv2d")["frozen"] = True
    with pytest.raises(Invalid, match=words):
        _run(tmp_path, model_class, graph=graph)


def _plain_job() -> Json:
    g = Graph("plain")
    g.outputs(g.dense(g.flatten(g.input("image", (6, 6, 2))), 3, name="logits"))
    return _job(graph=g.to_json())


def test_the_first_loss_is_that_of_the_first_batch(tmp_path: Path) -> None:
    assert _run(tmp_path, Reference, graph=_plain_job()["graph"])["audit"]["rows"] == 8
    with pytest.raises(Invalid, match="the loss of its first step is"):
        _run(tmp_path, LosesAClass, graph=_plain_job()["graph"])


def test_metrics_are_those_of_the_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = metrics.evaluate

    def kind(*given: Any) -> Any:
        values, raw = plain(*given)
        return {"accuracy": min(1.0, values["accuracy"] + 0.05)}, raw

    monkeypatch.setattr(metrics, "evaluate", kind)
    with pytest.raises(Invalid, match=r"its accuracy is .*, and that of its predictions"):
        _run(tmp_path, Reference)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_batches_of_any_size_are_audited(tmp_path: Path, batch: int) -> None:
    job = _plain_job()
    recipe = dict(job["recipe"], batch=batch)
    assert _run(tmp_path, Reference, graph=job["graph"], recipe=recipe)["audit"]["rows"] == 8
