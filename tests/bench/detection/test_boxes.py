"""Boxes: against loops that say the same in plain words, and what no coordinate may break."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bench.detection import boxes as of_boxes
from tests.bench.detection.specs import random_boxes

F = np.float32
_ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


def test_anchors_are_ordered_by_row_column_ratio_and_scale() -> None:
    found = of_boxes.anchors(2, 3, 16, [8, 32], [0.25, 1.0, 4.0])
    assert found.dtype == np.float32 and found.shape == (2 * 3 * 6, 4)
    expected = [
        [
            (y + 0.5) * 16 - scale * ratio**0.5 / 2,
            (x + 0.5) * 16 - scale / ratio**0.5 / 2,
            (y + 0.5) * 16 + scale * ratio**0.5 / 2,
            (x + 0.5) * 16 + scale / ratio**0.5 / 2,
        ]
        for y in range(2)
        for x in range(3)
        for ratio in (0.25, 1.0, 4.0)
        for scale in (8, 32)
    ]
    assert found.tolist() == expected  # these numbers are exact in float32


def test_a_single_anchor() -> None:
    assert of_boxes.anchors(1, 1, 10, [4], [1]).tolist() == [[3, 3, 7, 7]]


def test_the_coder_by_hand() -> None:
    reference = [[10, 20, 30, 60]]  # centre 20, 40; sides 20, 40
    box = [[15, 20, 35, 40]]  # centre 25, 30; sides 20, 20
    deltas = of_boxes.encode(box, reference, [10, 10, 5, 5])
    assert deltas[0] == pytest.approx([2.5, -2.5, 0, 5 * np.log(0.5)], rel=1e-6)
    assert of_boxes.decode(deltas, reference, [10, 10, 5, 5])[0] == pytest.approx(box[0], abs=1e-4)


def test_what_is_decoded_is_what_was_encoded() -> None:
    random = np.random.RandomState(1)
    boxes, references = random_boxes(random, 300), random_boxes(random, 300)
    weights = [10, 10, 5, 5]
    back = of_boxes.decode(of_boxes.encode(boxes, references, weights), references, weights)
    assert back.dtype == np.float32
    side = references[:, 2:] - references[:, :2]
    growth = (boxes[:, 2:] - boxes[:, :2]) / side
    free = (growth < 62).all(axis=1)  # the others are limited
    assert free.sum() > 250
    assert np.abs(back - boxes)[free].max() < 1e-3


def test_growth_is_limited() -> None:
    grown = of_boxes.decode([[0, 0, 1e9, -1e9]], [[0, 0, 16, 16]], [1, 1, 1, 1])
    assert grown[0, 2] - grown[0, 0] == pytest.approx(1000)
    assert grown[0, 3] - grown[0, 1] == 0


def test_boxes_without_area_can_be_encoded() -> None:
    deltas = of_boxes.encode([[5, 5, 5, 5]], [[5, 5, 5, 5]], [1, 1, 1, 1])
    assert deltas.tolist() == [[0, 0, 0, 0]]
    assert np.isfinite(of_boxes.encode([[0, 0, 9, 9]], [[5, 5, 5, 5]], [1, 1, 1, 1])).all()


def test_clip_and_usable() -> None:
    boxes = [[-5, 2, 20, 500], [70, 5, 80, 9], [1, 1, 2, 1.5], [np.nan, 0, 1, 1]]
    clipped = of_boxes.clip(boxes, (64, 96))
    assert clipped[:3].tolist() == [[0, 2, 20, 96], [64, 5, 64, 9], [1, 1, 2, 1.5]]
    assert of_boxes.usable(clipped).tolist() == [True, False, True, False]
    assert of_boxes.usable(clipped, 1).tolist() == [True, False, False, False]


def _overlap(one, other):
    height = max(F(0), min(one[2], other[2]) - max(one[0], other[0]))
    width = max(F(0), min(one[3], other[3]) - max(one[1], other[1]))
    shared = height * width
    area = (one[2] - one[0]) * (one[3] - one[1])
    union = area + (other[2] - other[0]) * (other[3] - other[1]) - shared
    return shared / union if union > 0 else F(0)


def test_overlaps() -> None:
    random = np.random.RandomState(2)
    one, other = random_boxes(random, 40), random_boxes(random, 30)
    found = of_boxes.overlaps(one, other)
    assert found.dtype == np.float32
    assert found.tolist() == [[_overlap(a, b) for b in other] for a in one]
    assert of_boxes.overlaps([[0, 0, 10, 10]], [[0, 5, 10, 15]])[0, 0] == F(1) / F(3)
    assert of_boxes.overlaps([[3, 3, 3, 3]], [[3, 3, 3, 3]]).tolist() == [[0]]
    assert of_boxes.overlaps(np.zeros((0, 4)), other).shape == (0, 30)


def _suppressed_by_loop(boxes, scores, threshold):
    order = sorted(range(len(boxes)), key=lambda i: (-scores[i], i))
    kept: list[int] = []
    for i in order:
        if all(_overlap(boxes[i], boxes[j]) <= F(threshold) for j in kept):
            kept.append(i)
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_suppress_is_what_the_loop_says(threshold) -> None:
    random = np.random.RandomState(int(threshold * 10))
    boxes = random_boxes(random, 600)
    boxes[300:] = boxes[:300] + random.randint(-1, 2, (300, 4))  # many that nearly agree
    boxes = boxes[of_boxes.usable(boxes)]
    scores = random.randint(0, 60, len(boxes)).astype(np.float32)  # many ties
    expected = _suppressed_by_loop(boxes, scores, threshold)
    for most in (0, 1, 7, 10_000):
        kept = of_boxes.suppress(boxes, scores, threshold, most)
        assert kept.dtype == np.int32
        assert kept.tolist() == expected[:most]


def test_equal_scores_stay_in_their_order() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 10, 11], [50, 50, 60, 60]]
    assert of_boxes.suppress(boxes, [1, 1, 1], 0.5, 9).tolist() == [0, 2]


def test_an_overlap_of_just_the_threshold_stays() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 7, 10]]  # 70 of 100
    assert of_boxes.suppress(boxes, [2, 1], 0.7, 9).tolist() == [0, 1]
    assert of_boxes.suppress(boxes, [2, 1], 0.699, 9).tolist() == [0]


def test_a_chain_of_boxes() -> None:
    """Each suppresses the next, so every second one stays, over many blocks."""
    boxes = [[0, 4 * i, 10, 4 * i + 10] for i in range(1000)]
    kept = of_boxes.suppress(boxes, -np.arange(1000), 0.4, 1000)
    assert kept.tolist() == list(range(0, 1000, 2))


def test_what_is_not_a_number_is_left_out() -> None:
    boxes = [
        [0, 0, 10, 10],
        [0, np.nan, 5, 5],
        [0, 0, np.inf, 5],
        [30, 30, 30, 40],
        [50, 50, 60, 60],
    ]
    assert of_boxes.suppress(boxes, [np.nan, 9, 9, 9, -np.inf], 0.5, 9).tolist() == [4]
    assert of_boxes.suppress(np.zeros((0, 4)), np.zeros(0), 0.5, 9).tolist() == []


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 40)), elements=_ANY), st.integers(0, 50))
def test_best_first(scores, most) -> None:
    ordered = sorted((i for i in range(len(scores)) if scores[i] == scores[i]),
                     key=lambda i: (-scores[i], i))  # fmt: skip
    assert of_boxes.best_first(scores, most).tolist() == ordered[:most]


@settings(max_examples=60)
@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 20), st.just(9)), elements=_ANY))
def test_no_numbers_break_anything(values) -> None:
    boxes, deltas, scores = values[:, :4], values[:, 4:8], values[:, 8]
    decoded = of_boxes.clip(of_boxes.decode(deltas, boxes, [1, 1, 1, 1]), (64, 96))
    kept = of_boxes.suppress(decoded, scores, 0.7, 5)
    assert len(kept) <= 5
    assert np.isfinite(decoded[kept]).all() and (decoded[kept] >= 0).all()
    assert (decoded[kept] <= [64, 96, 64, 96]).all()


def test_results_are_new_arrays() -> None:
    boxes = np.array([[0, 0, 4, 4]], np.float32)
    for result in (
        of_boxes.clip(boxes, (9, 9)),
        of_boxes.decode(np.zeros((1, 4), np.float32), boxes, [1, 1, 1, 1]),
        of_boxes.encode(boxes, boxes, [1, 1, 1, 1]),
    ):
        assert not np.shares_memory(result, boxes)
        assert result.flags.writeable and result.flags.owndata
