"""Rows that are used, rows that are kept for validation, and images that are augmented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import data, metrics
from dlbench.planning import recipes
from dlbench.planning.graph import Graph


def split(rows: int) -> data.Split:
    images = np.arange(rows * 5 * 4 * 2, dtype=np.float32).reshape(rows, 5, 4, 2)
    return data.Split({"image": images, "label": np.arange(rows, dtype=np.int32)})


def test_validation_takes_rows_from_training_and_leaves_the_test_alone() -> None:
    splits = {"train": split(40), "test": split(10)}
    got = data.with_validation(splits, {"patience": 3, "validation": 0.25})
    labels = {name: got[name].batch(slice(None))["label"].tolist() for name in got}
    assert sorted(labels["train"] + labels["validation"]) == list(range(40))
    assert len(labels["validation"]) == 10
    assert labels["test"] == list(range(10))
    again = data.with_validation(splits, {"patience": 9, "validation": 0.25})
    assert again["validation"].batch(slice(None))["label"].tolist() == labels["validation"]


def test_fewer_rows_are_the_same_in_every_array_and_every_trial(tmp_path: Path) -> None:
    for name, values in (("x", np.arange(60.0).reshape(30, 2)), ("label", np.arange(30) * 2)):
        np.save(tmp_path / f"{name}.npy", values)
    files = {"x": "x.npy", "label": "label.npy"}
    job = {"splits": {"train": files, "test": files}, "rows": {"train": 7}}
    recipe: dict[str, list[object]] = {"losses": [], "metrics": []}
    splits = data.load(str(tmp_path), job, {"inputs": [], "nodes": []}, recipe)
    assert (splits["train"].rows, splits["test"].rows) == (7, 30)
    batch = splits["train"].batch(slice(None))
    assert batch["x"][:, 0].tolist() == batch["label"].tolist(), "rows of two arrays were mixed"
    assert sorted(batch["label"].tolist()) == batch["label"].tolist()
    again = data.load(str(tmp_path), job, {"inputs": [], "nodes": []}, recipe)["train"]
    assert again.batch(slice(None))["label"].tolist() == batch["label"].tolist()
    assert batch["label"].tolist() != list(range(0, 14, 2)), "the first rows are not a draw"


def test_a_part_is_divided_as_the_whole() -> None:
    whole = data.Split({"x": np.full((8, 3), 12, np.uint8)}, {"x": 4.0})
    got = data.with_validation({"train": whole}, {"patience": 1, "validation": 0.5})
    assert got["validation"].batch(slice(None))["x"].tolist() == [[3.0] * 3] * 4


def test_too_few_rows_for_a_validation_are_refused() -> None:
    with pytest.raises(ValueError, match="0 of 3 rows can't be kept"):
        data.with_validation({"train": split(3)}, {"patience": 1, "validation": 0.1})


def test_augmented_images_are_shifts_and_mirrors_of_the_originals() -> None:
    batch = split(60).batch(slice(None))
    got = data.augmented(batch, {"flip": True, "crop": 1}, ["image"], 1, 1, 0)
    assert got["label"].tolist() == batch["label"].tolist()
    seen = set()
    for old, new in zip(batch["image"], got["image"], strict=True):
        padded = np.pad(old, ((1, 1), (1, 1), (0, 0)))
        cuts = {
            (top, left, flipped): padded[top : top + 5, left : left + 4][:, :: -1 if flipped else 1]
            for top in range(3) for left in range(3) for flipped in (False, True)
        }  # fmt: skip
        (match,) = [key for key, cut in cuts.items() if np.array_equal(cut, new)]
        seen.add(match)
    assert len(seen) > 10  # of 18


def test_augmentation_is_drawn_from_seed_epoch_and_step_alone() -> None:
    batch, how = split(20).batch(slice(None)), {"flip": True, "crop": 2}
    draws = {
        data.augmented(batch, how, ["image"], *drawn)["image"].tobytes()
        for drawn in ((1, 1, 0), (1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 8))
    }
    assert len(draws) == 4


def _loaded(tmp_path: Path, arrays: dict[str, np.ndarray], metric: dict[str, Any]) -> data.Split:
    g = Graph("two")
    x = g.input("x", (3,))
    g.outputs(g.dense(x, 4, name="logits"), g.dense(x, 1, name="value"))
    own = recipes.recipe(
        batch=2,
        epochs=1,
        optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "label")],
        metrics=[metric],
    )
    every = {"x": np.ones((5, 3), np.float32), "label": np.arange(5) % 4, **arrays}
    for name, values in every.items():
        np.save(tmp_path / f"{name}.npy", values)
    job = {"splits": {"test": {name: f"{name}.npy" for name in every}}}
    return data.load(tmp_path, job, g.to_json(), own)["test"]


def test_what_only_a_metric_reads_is_checked_and_shaped_as_what_a_loss_reads(
    tmp_path: Path,
) -> None:
    error = recipes.metric("mean-absolute-error", "value", "size")
    split = _loaded(tmp_path, {"size": np.arange(5)}, error)  # no second axis, whole numbers
    batch = split.batch(slice(None))
    assert (batch["size"].shape, batch["size"].dtype) == ((5, 1), np.float32)
    assert metrics.compute("mean-absolute-error", np.ones((5, 1)), batch["size"]) == 7 / 5
    masked = recipes.metric("accuracy", "logits", "label", mask="weight")
    with pytest.raises(ValueError, match="the values of a mask go from 0 to 1"):
        _loaded(tmp_path, {"weight": np.full(5, 2.0)}, masked)
    other = recipes.metric("perplexity", "logits", "kind")
    with pytest.raises(ValueError, match="the classes of 'logits' go from 0 to 3"):
        _loaded(tmp_path, {"kind": np.full(5, -1)}, other)


def test_arrays_are_read_as_the_graph_states_them(tmp_path: Path) -> None:
    metric = recipes.metric("accuracy", "logits", "label")
    stored = {"x": np.arange(15, dtype=np.uint8).reshape(5, 3), "label": np.arange(5)[:, None] % 4}
    batch = _loaded(tmp_path, stored, metric).batch(np.arange(4))
    assert (batch["x"].dtype, batch["x"].shape) == (np.float32, (4, 3))
    assert (batch["label"].dtype, batch["label"].tolist()) == (np.int32, [0, 1, 2, 3])
