"""RoI align by two matrices: against a loop over samples with bilinear interpolation."""

import math

import numpy as np
import pytest

from bench.detection.regions import roi_align_matrices


def _value(features, y, x):
    """The usual rules: zero more than one pixel outside, the edge's value up to there."""
    height, width = features.shape[:2]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(features.shape[2])
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = int(y), int(x)
    if top >= height - 1:
        top = bottom = height - 1
        y = float(top)
    else:
        bottom = top + 1
    if left >= width - 1:
        left = right = width - 1
        x = float(left)
    else:
        right = left + 1
    down, across = y - top, x - left
    return (
        (1 - down) * (1 - across) * features[top, left]
        + (1 - down) * across * features[top, right]
        + down * (1 - across) * features[bottom, left]
        + down * across * features[bottom, right]
    )


def _by_loop(features, box, stride, size, samples):
    y1, x1, y2, x2 = (edge / stride - 0.5 for edge in box)
    result = np.zeros((size, size, features.shape[2]))
    for row in range(size):
        for column in range(size):
            for down in range(samples):
                for across in range(samples):
                    y = y1 + (row + (down + 0.5) / samples) * (y2 - y1) / size
                    x = x1 + (column + (across + 0.5) / samples) * (x2 - x1) / size
                    result[row, column] += _value(features, y, x) / samples**2
    return result


@pytest.mark.parametrize(
    ("rows", "columns", "size", "samples"),
    [(9, 13, 7, 2), (1, 1, 7, 2), (2, 5, 3, 1), (6, 4, 2, 3)],
)
def test_it_is_the_loop(rows, columns, size, samples) -> None:
    random = np.random.RandomState(rows)
    features = random.normal(0, 1, (rows, columns, 3))
    inside = np.sort(random.uniform(0, 1, (20, 2, 2)), axis=1) * [16 * rows, 16 * columns]
    beyond = np.sort(random.uniform(-0.5, 1.5, (20, 2, 2)), axis=1) * [16 * rows, 16 * columns]
    boxes = np.concatenate([inside, beyond]).reshape(-1, 4).astype(np.float32)
    boxes = np.concatenate([boxes, np.float32([[0, 0, 0, 0], [0, 0, 16 * rows, 16 * columns]])])
    down, across = roi_align_matrices(boxes, rows, columns, 16, size, samples)
    assert down.dtype == across.dtype == np.float32
    assert down.shape == (42, size, rows) and across.shape == (42, size, columns)
    found = np.einsum("rph,hwc,rqw->rpqc", down, features, across)
    expected = [_by_loop(features, box.astype(float), 16, size, samples) for box in boxes]
    assert np.abs(found - expected).max() <= 1e-6


def test_a_constant_map_stays_constant_inside() -> None:
    down, across = roi_align_matrices([[0, 0, 64, 96], [3, 5, 4, 6]], 4, 6, 16)
    assert np.abs(down.sum(axis=2) - 1).max() < 1e-6
    assert np.abs(across.sum(axis=2) - 1).max() < 1e-6


def test_regions_that_are_not_finite_or_far_away_give_nothing() -> None:
    boxes = [[math.nan, 0, 1, 1], [0, 0, math.inf, 1], [-900, -900, -800, -800], [1e30, 0, 2e30, 9]]
    down, _ = roi_align_matrices(boxes, 4, 6, 16)
    assert not down.any()
    assert [matrix.shape for matrix in roi_align_matrices(np.zeros((0, 4)), 4, 6, 16)] == [
        (0, 7, 4),
        (0, 7, 6),
    ]
