"""The course of a trial: when it stops, whose weights it ends with, which rates it sets."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import data, schedule, trial
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph

Json = dict[str, Any]


class Events:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.lines: list[Json] = []

    def write(self, event: str, **fields: Any) -> None:
        self.lines.append({"event": event, **fields})

    @contextmanager
    def phase(self, name: str, sync: Any = None) -> Any:
        yield
        self.write("phase", phase=name)


def _training(
    metric: list[float] | None = None, epochs: int = 8, **changes: Any
) -> tuple[trial.Training, Reference, Events]:
    """A training of one dense layer; `metric` are the validation scores of its epochs."""
    g = Graph("line")
    g.outputs(g.dense(g.input("x", (3,)), 1, name="y"))
    graph = g.to_json()
    recipe = recipes.recipe(
        batch=5,
        epochs=epochs,
        optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("mean-squared-error", "y", "t")],
        metrics=[recipes.metric("mean-squared-error", "y", "t")],
        **changes,
    )
    random = np.random.RandomState(1)
    arrays = {"x": random.normal(size=(40, 3)), "t": random.normal(size=(40, 1))}
    arrays = {name: value.astype(np.float32) for name, value in arrays.items()}
    splits = {"train": data.Split(arrays), "test": data.Split(arrays)}
    splits = data.with_validation(splits, recipe["stopping"])
    job = {
        "graph": graph, "recipe": recipe, "seed": 3, "budget": {"epochs": epochs, "steps": None}
    }  # fmt: skip
    model, events = Reference(graph, recipe, 3, np.float32), Events()
    training = trial.Training(job, model, splits, events)
    if metric is not None:
        scores = iter(metric)
        see = training._stopping.see
        training._stopping.see = lambda epoch, values, model: see(
            epoch, {"mean-squared-error": next(scores)}, model
        )
    return training, model, events


def test_a_repeat_ends_with_the_same_digests_and_another_seed_with_others() -> None:
    def ends(**changes: Any) -> Json:
        training, model, _ = _training(epochs=2)
        training._job.update(changes)
        training.run()
        return dict(training.digests(model.weights()))

    once, again, other = ends(), ends(), ends(seed=4)
    assert once == again
    assert set(once) == {"weights_sha256", "predictions_sha256", "losses_sha256"}
    assert all(len(value) == 64 for value in once.values())
    assert not set(once.values()) & set(other.values()), "the seed decides the order of the rows"


def test_it_stops_when_nothing_got_better_and_ends_with_the_best_weights() -> None:
    seen: list[Json] = []
    training, model, events = _training([5, 3, 4, 3, 6, 1], stopping=recipes.stopping(3))
    evaluate = training._evaluate

    def remembered() -> None:
        evaluate()
        seen.append({"weights": model.weights(), "metrics": training.metrics})

    training._evaluate = remembered  # type: ignore[method-assign]
    training.run()
    assert (training.epochs, training.best_epoch) == (5, 2)  # an equal score is not a better one
    assert np.array_equal(model.weights()["y"]["kernel"], seen[1]["weights"]["y"]["kernel"])
    assert training.metrics == seen[1]["metrics"] != seen[4]["metrics"]
    phases = [line["phase"] for line in events.lines if line["event"] == "phase"]
    assert phases.count("validate") == 5
    assert phases.count("evaluate") == 6


def test_the_last_epoch_may_be_the_best() -> None:
    training, _, events = _training([3, 2, 1], epochs=3, stopping=recipes.stopping(2))
    training.run()
    assert (training.epochs, training.best_epoch) == (3, 3)
    assert [line["phase"] for line in events.lines if line["event"] == "phase"][-2:] == [
        "evaluate",
        "validate",
    ]


@pytest.mark.parametrize(
    ("scores", "epochs", "best"),
    [([math.nan, 5, 6, 7], 4, 2), ([math.nan] * 3, 3, 1), ([math.inf, 7, math.nan, 8], 4, 2)],
)
def test_a_number_is_better_than_none(scores: list[float], epochs: int, best: int) -> None:
    training, model, _ = _training(scores, stopping=recipes.stopping(2))
    training.run()
    assert (training.epochs, training.best_epoch) == (epochs, best)
    assert np.isfinite(model.weights()["y"]["kernel"]).all()


def test_without_stopping_every_epoch_is_trained() -> None:
    training, _, events = _training(epochs=4)
    training.run()
    assert (training.epochs, training.best_epoch) == (4, 4)
    assert all(line["validation"] == {} for line in events.lines if line["event"] == "epoch")


def test_each_step_has_the_rate_of_the_schedule() -> None:
    training, model, _ = _training(epochs=3, schedule=recipes.cosine(warmup=4))
    used: list[float] = []
    step = model.train_step

    def noted(batch: Json) -> Any:
        used.append(model._optimizer.lr)
        return step(batch)

    model.train_step = noted  # type: ignore[method-assign]
    training.run()
    recipe = training._recipe
    assert used == pytest.approx([schedule.rate(recipe, k, 8, 24) for k in range(24)])


def test_outputs_may_have_any_name(tmp_path: Path) -> None:
    arrays = {name: np.arange(3.0) for name in ("file", "args", "allow_pickle", "lstm:h")}
    trial._write_arrays(str(tmp_path / "predictions.npz"), arrays)
    with np.load(tmp_path / "predictions.npz") as read:
        assert {name: read[name].tolist() for name in read} == {key: [0, 1, 2] for key in arrays}
