"""A small detector's spec for the tests, and boxes drawn by chance."""

import numpy as np

SPEC = {
    "stride": 8,
    "scales": [10, 20, 40],
    "ratios": [0.5, 1.0, 2.0],
    "classes": 3,
    "rpn_weights": [1.0, 1.0, 1.0, 1.0],
    "rpn_samples": 32,
    "rpn_positive": 0.7,
    "rpn_negative": 0.3,
    "candidates": 200,
    "smallest": 2.0,
    "proposal_overlap": 0.7,
    "proposals_training": 60,
    "proposals_evaluation": 20,
    "rois": 16,
    "foreground": 0.25,
    "foreground_overlap": 0.5,
    "pool": 7,
    "samples": 2,
    "weights": [10.0, 10.0, 5.0, 5.0],
    "least_score": 0.05,
    "detection_overlap": 0.3,
    "most_detections": 10,
}
ANCHORS = 9


def random_boxes(random, count, height=64, width=96):
    """[count, 4] whole-numbered boxes that lie in the image."""
    first = random.randint(0, [height - 8, width - 8], (count, 2))
    side = 1 + random.randint(0, 40, (count, 2))
    return np.concatenate([first, np.minimum(first + side, [height, width])], 1).astype(np.float32)


def answers(random, rows=8, columns=12):
    """What an RPN might say: (scores, deltas)."""
    scores = random.normal(0, 1, (1, rows, columns, ANCHORS)).astype(np.float32)
    deltas = random.normal(0, 0.2, (1, rows, columns, 4 * ANCHORS)).astype(np.float32)
    return scores, deltas
