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


def test_places_for_boxes_that_hold_none_are_cut_off() -> None:
    classes = np.zeros((6, 9), "i4")
    classes[:, :6] = 1
    data = split(boxes=np.ones((6, 9, 4), "f4"), classes=classes, difficult=classes)
    assert data.batch([2])["classes"].tolist() == [[1] * 6]
    few = split(boxes=np.ones((6, 2, 4), "f4"), classes=classes[:, :2], difficult=classes[:, :2])
    assert few.batch([2])["classes"].tolist() == [[1, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1, 1), (64, 64)), ((1, 300), (1, 80)), ((300, 2), (80, 1)), ((300, 300), (64, 64)),
     ((64, 80), (64, 80)), ((65, 80), (64, 79)), ((240, 301), (64, 80))],
)  # fmt: skip
def test_images_much_smaller_and_larger_than_the_sizes(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    """The box fills the image before and after; a line of pixels stays one."""
    height, width = size
    data = split(
        1,
        image=np.full((1, height, width, 3), 255, "u1"),
        size=np.array([size], "i4"),
        boxes=np.array([[[0, 0, height, width]]], "f4"),
        classes=np.ones((1, 1), "i4"),
        difficult=np.zeros((1, 1), "u1"),
    )
    batch = data.batch([0])
    assert batch["size"].tolist() == [list(expected)]
    assert batch["boxes"][0, 0] == pytest.approx([0, 0, *expected], abs=1e-4)
    assert batch["image"].sum() == pytest.approx(3 * expected[0] * expected[1], rel=1e-5)
    step = Reference(GRAPH, RECIPE, 3, np.float32).train_step(data.for_training(batch, 1, 0, 0))
    assert np.isfinite(step)
    assert data.described()["image sizes"] == 1


def test_an_image_that_fits_into_no_size_is_refused_before_training() -> None:
    lying = dict(GRAPH, inputs=[dict(GRAPH["inputs"][0], sizes=[[64, 80]]), *GRAPH["inputs"][1:]])
    arrays = find_dataset(WORKLOAD.dataset).proof(1, 1)["train"]
    arrays.update(image=np.zeros((1, 48, 30, 3), "u1"), size=np.array([[48, 30]], "i4"))
    with pytest.raises(
        ValueError, match=r"80 x 50 pixels fits into none of the sizes \[\(64, 80\)"
    ):
        DetectorSplit(arrays, None, lying).described()


@pytest.mark.parametrize(
    "box", [None, [20, 30, 21, 31], [0, 0, 1, 1], [20.2, 30.1, 20.3, 30.4]],
    ids=["none", "a pixel", "a pixel at the corner", "less than a pixel"],
)  # fmt: skip
def test_an_image_without_boxes_or_with_a_tiny_one_trains(box: list[float] | None) -> None:
    boxes, classes = np.zeros((1, 6, 4), "f4"), np.zeros((1, 6), "i4")
    if box:
        boxes[0, 0], classes[0, 0] = box, 5
    data = split(1, boxes=boxes, classes=classes, difficult=np.zeros((1, 6), "u1"))
    batch = data.for_training(data.batch([0]), 1, 0, 0)
    assert batch["rpn_labels"].any() == (box is not None)  # the nearest anchor is an object
    model = Reference(GRAPH, RECIPE, 3, np.float32)
    values = model.activations(batch, training=True)
    assert values["rois:labels"].max() == (5 if box else 0)  # the box itself is a region
    loss, gradients = model.gradients(batch)
    assert np.isfinite(loss)
    assert all(np.isfinite(v).all() for own in gradients.values() for v in own.values())
    assert values["rois:delta_weights"].any() == bool(box)


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


class Blind:
    """Finds nothing: all regions are background, or there are none."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def predict(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        scores = np.where(np.arange(21) == 0, 9.0, -9.0) * np.ones((24, 1))
        rois = np.zeros((24, 4), np.float32)
        rois[: self._rows] = [2, 2, 30, 30]
        return {"scores": scores, "moves": np.zeros((24, 80)), "rois": rois}


@pytest.mark.parametrize("rows", [0, 24])
def test_a_detector_that_finds_nothing_has_zeros(rows: int) -> None:
    values, _ = metrics.evaluate(Blind(rows), split(), RECIPE)
    assert values == {"average-precision": 0.0, "average-precision-11": 0.0, "boxes-found": 0.0}


def test_images_without_any_box_have_no_average_precision() -> None:
    empty = split(classes=np.zeros((6, 6), "i4"), boxes=np.zeros((6, 6, 4), "f4"))
    values, _ = metrics.evaluate(Perfect(), empty, RECIPE)
    assert len(values) == 3 and all(np.isnan(value) for value in values.values())


def test_difficult_boxes_train_like_others_and_do_not_count_when_judged() -> None:
    plain = split()
    all_of_them = split(difficult=np.ones((6, plain.batch([0])["boxes"].shape[1]), "u1"))
    batches = [data.for_training(data.batch([0]), 1, 0, 0) for data in (plain, all_of_them)]
    for name in (*RPN_TARGETS, "boxes", "classes"):
        assert np.array_equal(*(batch[name] for batch in batches))
    assert batches[0]["rpn_labels"].any()
    values, _ = metrics.evaluate(Perfect(), all_of_them, RECIPE)
    assert all(np.isnan(value) for value in values.values())


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
