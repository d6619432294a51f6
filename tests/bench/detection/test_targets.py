"""What the RPN and the second stage have to answer: by a loop over anchors, and by hand."""

import numpy as np
import pytest

from bench.detection import boxes as of_boxes
from bench.detection.targets import roi_targets, rpn_targets
from tests.bench.detection.specs import ANCHORS, SPEC, random_boxes

ROWS, COLUMNS = 8, 12
SIZE = (60, 90)  # the map reaches over it: the rest is padding


def _targets(boxes, classes, spec=SPEC, seed=3, size=SIZE):
    labels, weights, deltas, delta_weights = rpn_targets(
        np.array(boxes, np.float32).reshape(-1, 4), classes, size, ROWS, COLUMNS, spec, seed
    )
    for array, count in ((labels, 1), (weights, 1), (deltas, 4), (delta_weights, 4)):
        assert array.dtype == np.float32 and array.shape == (ROWS, COLUMNS, count * ANCHORS)
    return labels.ravel(), weights.ravel(), deltas.reshape(-1, 4), delta_weights.reshape(-1, 4)


def _kinds(boxes, spec):
    """What each anchor may be: 1, 0 or None."""
    anchors = of_boxes.anchors(ROWS, COLUMNS, spec["stride"], spec["scales"], spec["ratios"])
    shared = of_boxes.overlaps(anchors, boxes)
    inside = [a[0] >= 0 and a[1] >= 0 and a[2] <= SIZE[0] and a[3] <= SIZE[1] for a in anchors]
    best = [max(shared[i, j] for i in range(len(anchors)) if inside[i]) for j in range(len(boxes))]
    kinds: list[int | None] = []
    for i in range(len(anchors)):
        kind = None
        if inside[i]:
            top = max(shared[i])
            is_best = any(shared[i, j] == best[j] > 0 for j in range(len(boxes)))
            if top >= np.float32(spec["rpn_positive"]) or is_best:
                kind = 1
            elif top < np.float32(spec["rpn_negative"]):
                kind = 0
        kinds.append(kind)
    return anchors, shared, kinds


@pytest.mark.parametrize("samples", [4, 32, 100_000])
def test_they_are_what_the_loop_says(samples) -> None:
    spec = dict(SPEC, rpn_samples=samples, rpn_positive=0.4)
    random = np.random.RandomState(4)
    boxes = random_boxes(random, 6, *SIZE)
    padded = np.concatenate([boxes, np.zeros((3, 4), np.float32)])
    labels, weights, deltas, delta_weights = _targets(padded, [1, 2, 3, 1, 2, 3, 0, 0, 0], spec)
    anchors, shared, kinds = _kinds(boxes, spec)
    positive = [i for i, kind in enumerate(kinds) if kind == 1]
    negative = [i for i, kind in enumerate(kinds) if kind == 0]
    assert len(positive) > 4
    objects = np.flatnonzero(labels)
    assert set(objects) <= set(positive)
    assert len(objects) == min(len(positive), samples // 2)
    others = np.flatnonzero((weights > 0) & (labels == 0))
    assert set(others) <= set(negative)
    assert len(others) == min(len(negative), samples - len(objects))
    assert set(weights) <= {0, 1} and (weights[objects] == 1).all()
    for i in range(len(anchors)):
        if i in objects:
            box = boxes[shared[i].argmax()]
            expected = of_boxes.encode([box], anchors[[i]], spec["rpn_weights"])[0]
            assert deltas[i].tolist() == expected.tolist()
            assert delta_weights[i].tolist() == [1, 1, 1, 1]
        else:
            assert not deltas[i].any() and not delta_weights[i].any()


def test_the_draw_depends_on_the_seed_alone() -> None:
    boxes = random_boxes(np.random.RandomState(5), 4, *SIZE)
    first, again, other = (_targets(boxes, [1, 1, 1, 1], seed=seed) for seed in (7, 7, 8))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[1] != other[1]).any()
    assert not any(np.shares_memory(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(
    ("boxes", "classes"),
    [
        ([], []),
        ([[0, 0, 0, 0]], [0]),
        ([[5, 5, 5, 20]], [1]),
        ([[5, 5, np.nan, 20]], [1]),
        ([[500, 500, 520, 520]], [1]),
    ],
    ids=["none", "padding", "no area", "not a number", "outside"],
)
def test_without_boxes_all_samples_are_background(boxes, classes) -> None:
    labels, weights, deltas, delta_weights = _targets(boxes, classes)
    assert not labels.any() and not deltas.any() and not delta_weights.any()
    assert weights.sum() == SPEC["rpn_samples"]


def test_padding_is_never_sampled() -> None:
    spec = dict(SPEC, rpn_samples=10**6)
    _, weights, _, _ = _targets([[2, 2, 12, 12]], [1], spec, size=(24, 24))
    anchors = of_boxes.anchors(ROWS, COLUMNS, spec["stride"], spec["scales"], spec["ratios"])
    assert weights.any()
    assert (anchors[weights > 0] >= 0).all() and (anchors[weights > 0] <= 24).all()


def test_an_image_smaller_than_every_anchor_has_no_samples() -> None:
    labels, weights, _, _ = _targets([[1, 1, 4, 4]], [1], size=(5, 5))
    assert not labels.any() and not weights.any()


def test_regions_and_their_classes() -> None:
    boxes = np.float32([[0, 0, 20, 20], [30, 30, 50, 60], [0, 0, 0, 0]])
    proposals = np.float32([[0, 0, 20, 10], [31, 30, 50, 60], [0, 70, 9, 90], [0, 0, 20, 9.9]])
    rois, labels, targets = roi_targets(proposals, boxes, [2, 3, 0], SPEC, 1)
    assert labels.dtype == np.int32
    # objects first, in the order of the proposals, then the boxes themselves, then background
    assert (
        rois.tolist()
        == np.float32(
            [proposals[0], proposals[1], boxes[0], boxes[1], proposals[2], proposals[3]]
        ).tolist()
    )
    assert labels.tolist() == [2, 3, 2, 3, 0, 0]
    assert targets[:4].tolist() == boxes[[0, 1, 0, 1]].tolist()


def test_how_many_regions_are_drawn() -> None:
    random = np.random.RandomState(6)
    boxes = random_boxes(random, 5)
    proposals = np.concatenate([boxes.repeat(6, axis=0), random_boxes(random, 60)])
    rois, labels, _ = roi_targets(proposals, boxes, [1, 2, 3, 1, 2], SPEC, 1)
    assert len(rois) == SPEC["rois"] and (labels > 0).sum() == SPEC["rois"] * SPEC["foreground"]
    assert (labels[:4] > 0).all()
    other, _, _ = roi_targets(proposals, boxes, [1, 2, 3, 1, 2], SPEC, 2)
    assert (rois != other).any()
    few, labels, _ = roi_targets(np.zeros((0, 4)), np.zeros((0, 4)), [], SPEC, 1)
    assert few.shape == (0, 4) and labels.shape == (0,)
