"""The host node: against a plain loop, its fixed shapes, its seed, and how near a decision is."""

import hashlib

import numpy as np
import pytest

from bench.detection import boxes as of_boxes
from bench.detection.proposals import OUTPUTS, margin, output_shapes, propose
from bench.detection.regions import roi_align_matrices
from bench.detection.targets import roi_targets
from tests.bench.detection.specs import ANCHORS, SPEC, answers, random_boxes

BOXES = np.float32([[[5, 5, 30, 40], [20, 50, 60, 90], [0, 0, 0, 0]]])
CLASSES = np.int32([[2, 3, 0]])
SIZE = np.int32([[60, 90]])


def _proposed(scores, deltas, spec=SPEC, training=True, seed=1, boxes=BOXES, classes=CLASSES):
    found = propose(scores, deltas, boxes, classes, SIZE, np.int32([[seed]]), spec, training)
    shapes = output_shapes(*scores.shape[1:3], spec, training)
    assert tuple(found) == OUTPUTS == tuple(shapes)
    for name, array in found.items():
        assert (array.shape, array.dtype) == shapes[name], name
        assert np.isfinite(array).all()
    return found


def _proposals_by_loop(scores, deltas, spec, most):
    height, width = SIZE[0]
    _, rows, columns, _ = scores.shape
    anchors = of_boxes.anchors(rows, columns, spec["stride"], spec["scales"], spec["ratios"])
    anchors = anchors.reshape(rows, columns, ANCHORS, 4)
    ranked = sorted(
        (-scores[0, y, x, a], y, x, a)
        for y in range(rows)
        for x in range(columns)
        for a in range(ANCHORS)
        if y * spec["stride"] < height and x * spec["stride"] < width
    )
    kept: list[np.ndarray] = []
    for _, y, x, a in ranked[: spec["candidates"]]:
        change = deltas[0, y, x, 4 * a : 4 * a + 4]
        box = of_boxes.decode(change[None], anchors[y, x, a][None], spec["rpn_weights"])
        box = of_boxes.clip(box, (height, width))[0]
        if min(box[2] - box[0], box[3] - box[1]) < spec["smallest"]:
            continue
        shared = of_boxes.overlaps([box], np.reshape(kept, (-1, 4)))
        if not (shared > np.float32(spec["proposal_overlap"])).any():
            kept.append(box)
    return np.reshape(kept[:most], (-1, 4)).astype(np.float32)


def test_evaluation_is_what_the_loop_says() -> None:
    scores, deltas = answers(np.random.RandomState(1))
    scores = np.round(scores * 4) / 4  # many ties
    expected = _proposals_by_loop(scores, deltas, SPEC, SPEC["proposals_evaluation"])
    found = _proposed(scores, deltas, training=False)
    assert found["rois"].tolist() == expected.tolist()
    down, across = roi_align_matrices(expected, 8, 12, 8, 7, 2)
    assert (found["wy"] == down).all() and (found["wx"] == across).all()
    for name in ("labels", "label_weights", "deltas", "delta_weights"):
        assert not found[name].any()


def test_training_is_what_the_loop_says() -> None:
    scores, deltas = answers(np.random.RandomState(2))
    proposals = _proposals_by_loop(scores, deltas, SPEC, SPEC["proposals_training"])
    rois, labels, targets = roi_targets(proposals, BOXES[0], CLASSES[0], SPEC, 1)
    found = _proposed(scores, deltas)
    assert found["rois"].tolist() == rois.tolist()
    assert found["labels"].tolist() == labels.tolist()
    assert found["label_weights"].tolist() == [1] * SPEC["rois"]
    assert (labels > 0).sum() >= 2
    for row, label in enumerate(labels):
        deltas, weights = np.zeros((3, 4), np.float32), np.zeros((3, 4))
        if label:
            deltas[label - 1] = of_boxes.encode(
                targets[row][None], rois[row][None], SPEC["weights"]
            )
            weights[label - 1] = 1
        assert found["deltas"][row].tolist() == deltas.ravel().tolist()
        assert found["delta_weights"][row].tolist() == weights.ravel().tolist()


def test_the_seed_is_the_only_chance() -> None:
    scores, deltas = answers(np.random.RandomState(3))
    first, again, other = (_proposed(scores, deltas, seed=seed) for seed in (5, 5, 6))
    assert all((first[name] == again[name]).all() for name in OUTPUTS)
    assert not any(np.shares_memory(first[name], again[name]) for name in OUTPUTS)
    assert (first["rois"] != other["rois"]).any()


def test_arrays_are_read_and_left_alone() -> None:
    scores, deltas = answers(np.random.RandomState(4))
    given = (scores, deltas, BOXES, CLASSES, SIZE)
    before = [array.copy() for array in given]
    found = _proposed(scores, deltas)
    assert all((a == b).all() for a, b in zip(given, before, strict=True))
    assert not any(np.shares_memory(a, b) for a in given for b in found.values())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("training", [True, False])
def test_a_network_that_diverged(bad, training) -> None:
    scores, deltas = answers(np.random.RandomState(5))
    found = _proposed(scores, np.full_like(deltas, bad), training=training)
    if training:  # the boxes themselves are regions
        assert found["label_weights"].sum() >= 2
        assert sorted(found["labels"])[-2:] == [2, 3]
    elif bad != np.inf:  # infinite growth is limited, infinite shifts are cut off to nothing
        assert not found["rois"].any() and not found["wy"].any() and not found["wx"].any()
    found = _proposed(np.full_like(scores, np.nan), deltas, training=training)
    assert found["label_weights"].sum() == (2 if training else 0)
    scores[0, 0, 0, 0] = bad
    _proposed(scores, deltas, training=training)


def test_without_boxes_everything_is_background() -> None:
    scores, deltas = answers(np.random.RandomState(6))
    for boxes in (np.zeros((1, 3, 4), np.float32), np.zeros((1, 0, 4), np.float32)):
        classes = np.zeros(boxes.shape[:2], np.int32)
        found = _proposed(scores, deltas, boxes=boxes, classes=classes)
        assert not found["labels"].any() and not found["deltas"].any()
        assert found["label_weights"].all()


def test_boxes_without_area_are_no_regions() -> None:
    scores, deltas = answers(np.random.RandomState(7))
    found = _proposed(scores, deltas, classes=np.int32([[2, 3, 1]]))
    assert 1 not in found["labels"]


def test_too_few_regions_are_padded_with_zeros() -> None:
    scores, deltas = answers(np.random.RandomState(8))
    found = _proposed(scores, deltas, dict(SPEC, candidates=3))
    rows = int(found["label_weights"].sum())
    assert 2 < rows <= 5
    for name in OUTPUTS:
        assert not found[name][rows:].any()
    assert found["wy"][:rows].any(axis=(1, 2)).all()


def test_one_cell_and_one_anchor() -> None:
    spec = dict(SPEC, scales=[8], ratios=[1.0])
    found = _proposed(np.ones((1, 1, 1, 1), np.float32), np.zeros((1, 1, 1, 4), np.float32), spec)
    assert found["label_weights"].sum() == 3
    with pytest.raises(ValueError, match="2 scores for each cell"):
        propose(np.ones((1, 1, 1, 2)), np.zeros((1, 1, 1, 8)), BOXES, CLASSES, SIZE, [[1]], spec, 1)


def test_the_bits_are_the_same_everywhere() -> None:
    """NumPy 1.14.6, 1.15.4, 1.16.6, 1.19.5, 1.23.5 and 2.4.6 gave them on Python 3.6 to 3.12."""
    random = np.random.RandomState(9)
    scores = (random.randint(-999, 999, (1, 8, 12, ANCHORS)) / 300.0).astype(np.float32)
    deltas = (random.randint(-999, 999, (1, 8, 12, 4 * ANCHORS)) / 3000.0).astype(np.float32)
    digest = hashlib.sha256()
    for training in (True, False):
        found = _proposed(scores, deltas, training=training)
        for name in OUTPUTS:
            digest.update(found[name].tobytes())
    assert digest.hexdigest()[:16] == "030228d7591b1d02"


@pytest.mark.parametrize("training", [True, False])
def test_within_the_margin_nothing_is_decided_otherwise(training) -> None:
    tried = 0
    for seed in range(12):
        random = np.random.RandomState(seed)
        scores, deltas = answers(random, 2, 3)
        boxes = random_boxes(random, 3)[None]
        classes = np.int32([[1, 2, 3]])
        near = margin(scores, deltas, boxes, classes, SIZE, SPEC, training)
        assert set(near) == {"scores", "sides", "overlaps"}
        if min(near.values()) < 1e-3:
            continue
        tried += 1
        first = _proposed(scores, deltas, SPEC, training, 1, boxes, classes)
        for _ in range(5):
            noise = (
                random.uniform(-2e-4, 2e-4, scores.shape),
                random.uniform(-1e-5, 1e-5, deltas.shape),
            )
            other = _proposed(
                scores + np.float32(noise[0]), deltas + np.float32(noise[1]),
                SPEC, training, 1, boxes, classes,
            )  # fmt: skip
            assert (first["labels"] == other["labels"]).all()
            assert np.abs(first["rois"] - other["rois"]).max() < 0.05
    assert tried >= 3


def test_the_margin_sees_each_near_tie() -> None:
    spec = dict(SPEC, scales=[16], ratios=[1.0], smallest=3.0)
    scores = np.float32([0, 1, 2, 3]).reshape(1, 1, 4, 1)
    deltas = np.zeros((1, 1, 4, 4), np.float32)

    def near(scores=scores, deltas=deltas, boxes=BOXES, training=True):
        return margin(scores, deltas, boxes, CLASSES, SIZE, spec, training)

    plain = near()
    assert plain["scores"] == 1 and plain["sides"] > 1 and plain["overlaps"] > 0.01
    close = scores.copy()
    close[0, 0, 0, 0] = 1.0001
    assert near(scores=close)["scores"] == pytest.approx(1e-4, rel=1e-2)
    small = deltas.copy()
    small[0, 0, 2, 2] = np.log(3.01 / 16)
    assert near(deltas=small)["sides"] == pytest.approx(0.01, abs=1e-3)
    # cells 2 and 3 are 8 pixels apart and 12 of 16 pixels lie in the image: moved together
    shifted = deltas.copy()
    share = 1 - (1 - 0.7) / (1 + 0.7)  # overlap of 0.7: so much of the width is shared
    shifted[0, 0, 2, 1] = (8 - 16 * (1 - share)) / 16
    assert near(deltas=shifted)["overlaps"] < 1e-5
    box = BOXES.copy()
    box[0, 0] = [0, 12, 12, 24.0]  # half of the region of cell 3, which is 12 x 16 and at 20..36
    box[0, 0] = [0, 20, 6, 36]
    assert near(boxes=box)["overlaps"] < 1e-6
    assert near(boxes=box, training=False)["overlaps"] > 0.01
    box[0, :2] = [0, 20, 9, 36], [0, 20, 9, 36.001]
    assert near(boxes=box)["overlaps"] < 1e-3


def test_without_decisions_the_margin_is_infinite() -> None:
    spec = dict(SPEC, scales=[16], ratios=[1.0])
    none = np.zeros((1, 0, 4), np.float32)
    found = margin(
        np.full((1, 1, 1, 1), np.nan), np.zeros((1, 1, 1, 4)), none, [[]], SIZE, spec, True
    )
    assert found == {"scores": float("inf"), "sides": float("inf"), "overlaps": float("inf")}
