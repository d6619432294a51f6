"""Batches for a detector: sizes, boxes, targets of the RPN; metrics of what was found."""

from __future__ import annotations

import numpy as np
import pytest

from bench import metrics, trial
from bench.detector_data import RPN_TARGETS, DetectorSplit
from bench.reference.model import Reference
from dlbench.datasets import find as find_dataset
from dlbench.workloads import find
from tests.bench.test_trial import Events

WORKLOAD = find("voc2012-faster-rcnn")
GRAPH, RECIPE = WORKLOAD.proof_graph, WORKLOAD.recipe


def split(rows: int = 6, **changed: np.ndarray) -> DetectorSplit:
    dataset = find_dataset(WORKLOAD.dataset)
    arrays = {**dataset.proof(rows, 1)["train"], **changed}
    return DetectorSplit(arrays, dataset.divide, GRAPH)


def test_an_image_is_resized_and_padded_to_one_of_the_sizes() -> None:
    data = split()
    for row in range(data.rows):
        batch = data.batch([row])
        height, width = batch["size"][0].astype(int)
        assert min(height, width) == 64 or max(height, width) == 80
        assert batch["image"].shape[1:3] in ((64, 80), (80, 64))
        assert not batch["image"][0, height:].any()
        assert not batch["image"][0, :, width:].any()
        assert 0 < batch["image"].max() <= 1
        assert batch["boxes"].shape == (1, 6, 4)
        assert (batch["boxes"][0, :, 2:] <= batch["size"][0] + 1e-3).all()
    described = data.described()
    assert described["image sizes"] == 2
    assert 0 < described["padding"] < 0.5


def test_what_is_drawn_follows_from_seed_epoch_and_step() -> None:
    data = split()
    batch = data.batch([0])
    first, again = (data.for_training(batch, 1, 2, 3) for _ in range(2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert batch["seed"].tolist() == [0]
    others = {int(data.for_training(batch, *drawn)["seed"][0])
              for drawn in ((2, 2, 3), (1, 3, 3), (1, 2, 4))}  # fmt: skip
    assert len(others | {int(first["seed"][0])}) == 4
    rows, columns = (4, 5) if batch["image"].shape[1] == 64 else (5, 4)
    shapes = [first[name].shape for name in RPN_TARGETS]
    assert shapes == [(1, rows, columns, 15)] * 2 + [(1, rows, columns, 60)] * 2
    assert set(np.unique(first["rpn_label_weights"])) <= {0, 1}


def test_more_boxes_than_the_graph_has_room_for_are_named() -> None:
    many = {"boxes": np.ones((6, 9, 4), "f4"), "classes": np.ones((6, 9), "i4"),
            "difficult": np.zeros((6, 9), "i4")}  # fmt: skip
    with pytest.raises(
        ValueError, match="row 2 has more than the 6 boxes that 'voc2012-faster-rcnn-proof'"
    ):
        split(**many).batch([2])


class Perfect:
    """Predicts each image's own boxes."""

    def predict(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        rois, classes = batch["boxes"][0], batch["classes"][0]
        scores = np.where(np.arange(21) == classes[:, None], 9.0, -9.0)
        return {"scores": scores, "moves": np.zeros((len(rois), 80)), "rois": rois}


def test_a_perfect_detector_finds_everything() -> None:
    values, raw = metrics.evaluate(Perfect(), split(), RECIPE)
    assert values == {"average-precision": 1.0, "average-precision-11": 1.0, "boxes-found": 1.0}
    assert raw["scores"].shape == (36, 21)


def test_a_split_of_some_rows_gives_the_same_batches() -> None:
    whole = split()
    part = whole.part(np.array([4, 1]))
    assert part.rows == 2
    for name, value in whole.batch([4]).items():
        assert np.array_equal(part.batch([0])[name], value)


def test_a_detector_trains_and_its_host_node_is_timed_apart() -> None:
    events = Events()
    job = {"graph": GRAPH, "recipe": RECIPE, "seed": 3, "budget": {"epochs": 2, "steps": None}}
    model = Reference(GRAPH, RECIPE, 3, np.float32)
    training = trial.Training(job, model, {"train": split(5), "test": split(2)}, events)
    training.run()
    epochs = [line for line in events.lines if line["event"] == "epoch"]
    assert [len(epoch["steps_ms"]) for epoch in epochs] == [5, 5]
    for epoch in epochs:
        assert 0 < epoch["host_ms_median"] <= epoch["host_ms"] <= sum(epoch["steps_ms"])
        assert set(epoch["metrics"]) == {"average-precision", "average-precision-11", "boxes-found"}
    assert set(training.predictions) == set(GRAPH["outputs"])
    assert training.predictions["rois"].shape == (2 * 24, 4)
