"""Detections from the outputs of a detector's second stage, and how good they are."""

from collections import namedtuple

import numpy as np

from bench.detection import boxes as of_boxes

Detections = namedtuple("Detections", "boxes labels scores")
"""What was found in an image, the best first: boxes [N, 4], classes int32 [N], scores [N]."""
Truths = namedtuple("Truths", "boxes labels difficult")
"""What there is in an image: boxes [M, 4], classes [M] (0: no box), difficult [M] (0 or 1)."""
Precision = namedtuple("Precision", "all_points eleven_points found truths")
"""Average precision of a class in two ways, and how many of its objects were found."""
Summary = namedtuple("Summary", "all_points eleven_points found_share by_class")
"""Means over the classes, the share of all objects that were found, {class: Precision}."""


def detections(logits, deltas, rois, size, spec):
    """The Detections of one image.

    Takes the second stage's logits [R, K + 1] (class 0 is the background) and deltas [R, 4 * K],
    and the RoIs [R, 4]; RoIs without area are padding. Scores are probabilities (softmax). Each RoI
    may give one detection for each class: its box is decoded, cut off at the edges of the image and
    left out if its score is below `least_score`, is not a number, or if it has no area. `suppress`
    thins out each class for itself. Of all classes the `most_detections` best stay, equal scores in
    the order of class and RoI.
    """
    rois = np.asarray(rois, np.float32).reshape(-1, 4)
    real = np.flatnonzero(of_boxes.usable(rois))
    scores = _probabilities(np.asarray(logits)[real])
    parts = []
    for label in range(1, spec["classes"] + 1):
        own = scores[:, label]
        likely = np.flatnonzero(own >= np.float32(spec["least_score"]))  # no NaN
        change = np.asarray(deltas)[real[likely], 4 * (label - 1) : 4 * label]
        boxes = of_boxes.decode(change, rois[real[likely]], spec["weights"])
        boxes = of_boxes.clip(boxes, size)
        kept = of_boxes.suppress(
            boxes, own[likely], spec["detection_overlap"], spec["most_detections"]
        )
        labels = np.full(len(kept), label, np.int32)
        parts.append(Detections(boxes[kept], labels, own[likely[kept]]))
    together = Detections(*(np.concatenate(arrays) for arrays in zip(*parts)))
    best = of_boxes.best_first(together.scores, spec["most_detections"])
    return Detections(*(array[best] for array in together))


def _probabilities(logits):
    logits = logits.astype(np.float64)
    with np.errstate(all="ignore"):  # where the network diverged: not a number
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def mean_average_precision(detected, truths, classes, overlap=0.5):
    """The Summary of a list of Detections and a list of Truths, one of each for every image.

    Classes (1 to `classes`) of which there is no object that counts have no average precision and
    are left out of the mean; without any object every value is NaN.
    """
    if len(detected) != len(truths):
        raise ValueError("detections of {} images, truths of {}".format(len(detected), len(truths)))
    by_class = {}
    for label in range(1, classes + 1):
        precision = average_precision(detected, truths, label, overlap)
        if precision.truths:
            by_class[label] = precision
    values = list(by_class.values())
    if not values:
        return Summary(float("nan"), float("nan"), float("nan"), by_class)
    return Summary(
        float(np.mean([value.all_points for value in values])),
        float(np.mean([value.eleven_points for value in values])),
        sum(value.found for value in values) / float(sum(value.truths for value in values)),
        by_class,
    )


def average_precision(detected, truths, label, overlap=0.5):
    """The Precision of one class, by the rules of the VOC challenge.

    The best detection comes first; equal scores are in the order of images, then in their own. A
    detection belongs to the object of its class and image that it overlaps most. It is right if
    that overlap is `overlap` or more and the object was not found before; it does not count if the
    object is difficult. Everything else is wrong. Difficult objects need not be found. Boxes that
    are not `usable`, which no region is trained on, are no objects.

    `all_points` is the area under the curve of precision over recall, each precision raised to the
    largest at its recall or beyond (VOC since 2010); `eleven_points` is the mean of these at recall
    0, 0.1, ..., 1 (VOC until 2009).
    """
    scores, right, counts, total = [], [], [], 0
    for detection, truth in zip(detected, truths):
        boxes = np.asarray(truth.boxes, np.float32).reshape(-1, 4)
        own = (np.asarray(truth.labels) == label) & of_boxes.usable(boxes)
        boxes = boxes[own]
        difficult = np.asarray(truth.difficult).astype(bool)[own]
        total += int((~difficult).sum())
        mine = np.flatnonzero(np.asarray(detection.labels) == label)
        mine = mine[of_boxes.best_first(np.asarray(detection.scores)[mine], len(mine))]
        is_right, does_count = _matched(
            np.asarray(detection.boxes, np.float32).reshape(-1, 4)[mine], boxes, difficult, overlap
        )
        scores.append(np.asarray(detection.scores, np.float32)[mine])
        right.append(is_right)
        counts.append(does_count)
    if not total or not scores:
        return Precision(float("nan"), float("nan"), 0, 0)
    order = np.argsort(-np.concatenate(scores), kind="mergesort")
    order = order[np.concatenate(counts)[order]]
    found = np.cumsum(np.concatenate(right)[order])
    return _areas(found, total)


def _matched(boxes, truths, difficult, overlap):
    """(is right [N], counts [N]) of one image's detections, the best first."""
    right, counts = np.zeros(len(boxes), bool), np.ones(len(boxes), bool)
    if not len(boxes) or not len(truths):
        return right, counts
    shared = of_boxes.overlaps(boxes, truths)
    nearest = shared.argmax(axis=1)
    hits = shared[np.arange(len(boxes)), nearest] >= np.float32(overlap)
    counts = ~(hits & difficult[nearest])
    first = np.zeros(len(boxes), bool)
    hit = np.flatnonzero(hits)
    first[hit[np.unique(nearest[hit], return_index=True)[1]]] = True  # the best for each object
    return first & counts, counts


def _areas(found, total):
    """The Precision from the number of objects found after each detection that counts."""
    if not len(found):
        return Precision(0.0, 0.0, 0, total)
    precision = found / np.arange(1.0, len(found) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    gained = np.diff(np.concatenate([[0], found]))
    # in whole numbers: 3 of 10 is a recall of 0.3, which as a float may be 0.30000000000000004
    reached = np.searchsorted(10 * found, np.arange(11) * total)
    eleven = np.append(precision, 0.0)[reached]
    area = float((precision * gained).sum() / total)
    return Precision(area, float(np.mean(eleven)), int(found[-1]), total)
