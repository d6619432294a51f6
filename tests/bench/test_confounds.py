"""What bench does wrong on purpose, and that it does nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import data, formats, trial
from bench.confounds import Confounds
from bench.formats import Unsupported
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from tests.bench.test_trial import Events

Json = dict[str, Any]
IMAGES = np.arange(2 * 2 * 3 * 4).reshape(2, 2, 3, 4).astype(np.float32)
"""Two images of 2x3 with four channels."""


def job(*confounds: Json, **more: Any) -> Json:
    return {"confounds": [{"in": "bench", **each} for each in confounds], **more}


def split(**arrays: Any) -> data.Split:
    return data.Split({name: np.asarray(value) for name, value in arrays.items()})


def test_without_any_nothing_is_touched() -> None:
    wrong = Confounds({})
    splits = {"train": split(x=IMAGES), "test": split(x=IMAGES)}
    model, batch = object(), {"x": IMAGES}
    assert wrong.splits(splits) == splits
    assert wrong.model(model) is model
    assert wrong.batch(batch) is batch
    assert wrong.evaluate_in_time(model, splits, {}) is False


def test_a_confound_that_bench_does_not_know_is_no_trial() -> None:
    with pytest.raises(Unsupported, match="knows no confound 'gremlins'"):
        Confounds(job({"name": "gremlins"}))
    done = Confounds({"confounds": [{"name": "no-dropout", "in": "job"}]})
    assert done.names == ["no-dropout"]


@pytest.mark.parametrize("wrong", [3, [3], [{"name": 3, "in": "job"}], [{"name": "x"}]])
def test_a_job_with_other_confounds_is_refused(wrong: object, tmp_path: Any) -> None:
    import json

    whole = {
        "v": 1, "id": "i", "action": "train", "framework": "f", "version": "1", "adapter": "a",
        "variant": "v", "device": "cpu", "setting": "matched", "seed": 1, "graph": {}, "recipe": {},
        "data": {}, "budget": {}, "save": False,
    }  # fmt: skip
    path = tmp_path / "job.json"
    path.write_text(json.dumps(whole))
    assert formats.read_job(str(path))["confounds"] == []
    path.write_text(json.dumps({**whole, "confounds": wrong}))
    with pytest.raises(formats.BadJob, match=r"job\.confounds"):
        formats.read_job(str(path))


def test_images_in_the_order_of_the_other_layout() -> None:
    """The two faults as they were written: reshape where a transpose was meant."""
    both = {"train": split(image=IMAGES, label=[0, 1]), "test": split(image=IMAGES, label=[1, 0])}

    def read(stored: str) -> np.ndarray:
        wrong = Confounds(job({"name": "images-reshaped", "stored": stored, "inputs": ["image"]}))
        made = wrong.splits(both)
        assert np.array_equal(made["train"].array("image"), made["test"].array("image"))
        assert made["train"].array("label").tolist() == [0, 1]
        return made["train"].array("image")

    on_disk = IMAGES.transpose(0, 3, 1, 2).reshape(2, -1)  # as CIFAR's files are
    assert np.array_equal(read("channels-first"), on_disk.reshape(2, 2, 3, 4))
    called = IMAGES.reshape(2, 4, 2, 3)  # what PyTorch was given as channels, height, width
    assert np.array_equal(read("channels-last"), called.transpose(0, 2, 3, 1))
    assert not np.array_equal(read("channels-last"), IMAGES)


def test_the_reshaped_images_are_divided_like_the_others() -> None:
    raw = data.Split({"image": IMAGES.astype(np.uint8)}, {"image": 2.0})
    wrong = Confounds(
        job({"name": "images-reshaped", "stored": "channels-first", "inputs": ["image"]})
    )
    made = wrong.splits({"train": raw, "test": raw})["train"].batch(slice(0, 2))["image"]
    assert made.dtype == np.float32 and made.max() == IMAGES.max() / 2


def test_a_decoder_that_reads_what_it_has_to_say() -> None:
    words = {"target_in": [[1, 5, 6]], "target_out": [[5, 6, 2]]}
    wrong = Confounds(job({"name": "unshifted-decoder", "arrays": {"target_in": "target_out"}}))
    made = wrong.splits({"train": split(**words), "test": split(**words)})
    assert made["test"].array("target_in").tolist() == [[5, 6, 2]]
    assert made["train"].array("target_out").tolist() == [[5, 6, 2]]


def test_the_test_is_the_training_or_chooses_the_epoch() -> None:
    splits = {"train": split(x=[1.0, 2.0]), "test": split(x=[3.0])}
    assert Confounds(job({"name": "test-is-training"})).splits(splits)["test"] is splits["train"]
    chosen = Confounds(job({"name": "chosen-on-test"})).splits(splits)
    assert chosen["validation"] is splits["test"] and chosen["train"] is splits["train"]


def test_rows_of_all_splits_are_drawn_anew_each_once() -> None:
    def own(first: int, rows: int) -> data.Split:
        x = np.arange(first, first + rows)
        return split(x=x, y=10 * x)

    splits = {"train": own(0, 60), "validation": own(60, 10), "test": own(70, 30)}
    wrong = Confounds(job({"name": "split-by-row"}))
    made = wrong.splits(splits)
    assert {name: one.rows for name, one in made.items()} == {n: s.rows for n, s in splits.items()}
    drawn = {name: set(one.array("x").tolist()) for name, one in made.items()}
    assert sorted(row for rows in drawn.values() for row in rows) == list(range(100))
    assert 0 < sum(row < 60 for row in drawn["test"]) < 30, "some of what was for training"
    assert all((one.array("y") == 10 * one.array("x")).all() for one in made.values())
    again = wrong.splits(splits)
    assert (again["test"].array("x") == made["test"].array("x")).all()


def _line() -> tuple[Json, Json]:
    g = Graph("line")
    g.outputs(g.dense(g.input("x", (3,)), 1, name="y"))
    recipe = recipes.recipe(
        batch=6,
        epochs=3,
        optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("mean-squared-error", "y", "t")],
        metrics=[recipes.metric("mean-squared-error", "y", "t")],
    )
    return g.to_json(), recipe


def test_a_stretched_loss_has_the_gradient_of_all_against_all() -> None:
    """Held against the mean over all i, j of (p_i - t_j)^2, differentiated by itself."""
    graph, recipe = _line()
    random = np.random.RandomState(1)
    batch = {"x": random.normal(size=(6, 3)), "t": random.normal(size=(6, 1))}
    model = Reference(graph, recipe, 1, np.float64)
    wrong = Confounds(job({"name": "broadcast-loss", "targets": ["t"]}))
    loss, gradients = model.gradients(wrong.batch(batch))
    kernel = model.weights()["y"]["kernel"]

    def stretched(weights: np.ndarray) -> float:
        predicted = batch["x"] @ weights + model.weights()["y"]["bias"]
        return float(np.mean((predicted - batch["t"].reshape(-1)) ** 2))  # (6,1) against (6)

    for place in range(3):
        step = np.zeros_like(kernel)
        step[place, 0] = 1e-6
        slope = (stretched(kernel + step) - stretched(kernel - step)) / 2e-6
        assert gradients["y"]["kernel"][place, 0] == pytest.approx(slope, rel=1e-6)
    assert stretched(kernel) - loss == pytest.approx(batch["t"].var())
    assert batch["t"].std() > 0, "the batch that came in is as it was"


def test_predictions_of_training_mode_drop_and_take_the_statistics_of_the_batch() -> None:
    g = Graph("both")
    x = g.batchnorm(g.input("x", (40,)), name="norm")
    g.outputs(g.dense(g.dropout(x, 0.5), 2, name="y"))
    graph, (_, recipe) = g.to_json(), _line()
    model = Reference(graph, {**recipe, "losses": [], "metrics": []}, 1, np.float32)
    batch = {"x": np.random.RandomState(1).normal(3, 2, size=(50, 40)).astype(np.float32)}
    wrong = Confounds(job({"name": "evaluation-in-training-mode"}, graph=graph)).model(model)
    once, again, right = wrong.predict(batch), wrong.predict(batch), model.predict(batch)
    assert list(once) == ["y"]
    assert not np.array_equal(once["y"], again["y"]), "dropout drops anew"
    # the running statistics are those of the start: only the batch's own bring the mean to 0
    assert abs(once["y"].mean()) < abs(right["y"].mean())
    assert np.array_equal(wrong.weights()["norm"]["mean"], model.weights()["norm"]["mean"])


@pytest.mark.parametrize(("steps_an_epoch", "warmup"), [(4, 10), (1, 10), (1, 0), (2, 0)])
@pytest.mark.parametrize("rows", ["test", "both"])
def test_the_clock_of_training_runs_on_while_it_evaluates(
    steps_an_epoch: int, warmup: int, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, recipe = _line()
    recipe = {**recipe, "warmup": warmup}
    number = 6 * steps_an_epoch
    random = np.random.RandomState(1)
    arrays = {"x": random.normal(size=(number, 3)), "t": random.normal(size=(number, 1))}
    arrays = {name: value.astype(np.float32) for name, value in arrays.items()}
    splits = {"train": data.Split(arrays), "test": data.Split(arrays)}
    now = [0.0]
    monkeypatch.setattr(trial, "clock", lambda: now[0])
    sizes: list[int] = []

    class Slow(Reference):
        def predict(self, batch: Json) -> Any:
            now[0] += 1.0
            sizes.append(len(batch["x"]))
            return super().predict(batch)

    whole = job(
        {"name": "timed-evaluation", "rows": rows, "batch": 1},
        graph=graph, recipe=recipe, seed=3, budget={"epochs": 3, "steps": None},
    )  # fmt: skip
    events = Events()
    trial.Training(whole, Slow(graph, recipe, 3, np.float32), splits, events).run()
    epochs = [line for line in events.lines if line["event"] == "epoch"]
    timed = number * (2 if rows == "both" else 1)
    assert [epoch["train_s"] for epoch in epochs] == [timed] * 3
    assert sizes.count(1) == 3 * timed
    spent = sum(
        line["seconds"]
        for line in events.lines
        if line["event"] == "phase" and line["phase"] in ("first-step", "warm-up", "train")
    )
    assert spent == 3 * timed, "all of it is in the phases of training"
    assert all(epoch["steps_s"] < 1 for epoch in epochs), "and none of it in the steps"
