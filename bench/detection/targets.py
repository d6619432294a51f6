"""What the region proposal network has to answer for an image: it depends on its boxes alone."""

import numpy as np

from bench.detection import boxes as of_boxes

_RPN, _ROIS = 1, 2
"""Each use of a seed has random numbers of its own."""


def rpn_targets(boxes, classes, size, rows, columns, spec, seed):
    """(labels, label weights [rows, columns, A], deltas, delta weights [rows, columns, 4 * A]).

    Boxes [M, 4] with the class 0, without area or not finite do not count. Anchors that reach over
    the edge of the image (`size`; what lies beyond is padding) do not count either. Of the others
    an anchor is

    - an object (1) if it overlaps a box by `rpn_positive` or more, or if no other anchor overlaps
      one of the boxes more (all of them, where several overlap it equally);
    - background (0) if it is no object and overlaps every box by less than `rpn_negative`.

    Of these `rpn_samples` are drawn from the seed, at most half of them objects; they have the
    label weight 1. Deltas lead to the box that the anchor overlaps most (the first of equals); they
    have the weight 1 where a drawn anchor is an object. Everything else is 0.
    """
    anchors = of_boxes.anchors(rows, columns, spec["stride"], spec["scales"], spec["ratios"])
    count = len(spec["scales"]) * len(spec["ratios"])
    boxes, _ = real_boxes(boxes, classes)
    height, width = (float(side) for side in np.asarray(size).reshape(2))
    within = np.flatnonzero(
        (anchors[:, :2] >= 0).all(axis=1) & (anchors[:, 2] <= height) & (anchors[:, 3] <= width)
    )
    positive, negative, match = _judged(anchors[within], boxes, spec)
    random = random_numbers(seed, _RPN)
    positive = drawn(random, positive, spec["rpn_samples"] // 2)
    negative = drawn(random, negative, spec["rpn_samples"] - len(positive))

    labels = np.zeros(len(anchors), np.float32)
    label_weights = np.zeros(len(anchors), np.float32)
    deltas = np.zeros((len(anchors), 4), np.float32)
    delta_weights = np.zeros((len(anchors), 4), np.float32)
    objects = within[positive]
    labels[objects] = 1
    label_weights[objects] = 1
    label_weights[within[negative]] = 1
    if len(objects):
        matched = boxes[match[positive]]
        deltas[objects] = of_boxes.encode(matched, anchors[objects], spec["rpn_weights"])
        delta_weights[objects] = 1
    return (
        labels.reshape(rows, columns, count),
        label_weights.reshape(rows, columns, count),
        deltas.reshape(rows, columns, 4 * count),
        delta_weights.reshape(rows, columns, 4 * count),
    )


def _judged(anchors, boxes, spec):
    """(numbers of objects, numbers of background, number of each anchor's box)."""
    if not len(boxes) or not len(anchors):
        return np.arange(0), np.arange(len(anchors)), np.zeros(len(anchors), np.intp)
    overlaps = of_boxes.overlaps(anchors, boxes)
    most = overlaps.max(axis=1)
    best = overlaps.max(axis=0)
    is_best = ((overlaps == best) & (best > 0)).any(axis=1)
    positive = is_best | (most >= np.float32(spec["rpn_positive"]))
    negative = ~positive & (most < np.float32(spec["rpn_negative"]))
    return np.flatnonzero(positive), np.flatnonzero(negative), overlaps.argmax(axis=1)


def roi_targets(proposals, boxes, classes, spec, seed):
    """(RoIs [N, 4], their classes int32 [N], the boxes that they stand for [N, 4]), N <= `rois`.

    The boxes themselves are added to the proposals. An RoI that overlaps a box by
    `foreground_overlap` or more has the class of the one that it overlaps most (the first of
    equals); the others are background. Objects come first, at most `rois * foreground` of them;
    both are drawn from the seed and stay in the order of the proposals.
    """
    boxes, classes = real_boxes(boxes, classes)
    candidates = np.concatenate([np.asarray(proposals, np.float32), boxes])
    if len(boxes):
        overlaps = of_boxes.overlaps(candidates, boxes)
        match = overlaps.argmax(axis=1)
        is_object = overlaps.max(axis=1) >= np.float32(spec["foreground_overlap"])
    else:
        match, is_object = np.zeros(len(candidates), np.intp), np.zeros(len(candidates), bool)
    random = random_numbers(seed, _ROIS)
    objects = drawn(random, np.flatnonzero(is_object), int(spec["rois"] * spec["foreground"]))
    others = drawn(random, np.flatnonzero(~is_object), spec["rois"] - len(objects))
    chosen = np.concatenate([objects, others])
    labels = np.zeros(len(chosen), np.int32)
    labels[: len(objects)] = classes[match[objects]]
    targets = boxes[match[chosen]] if len(boxes) else np.zeros((len(chosen), 4), np.float32)
    return candidates[chosen], labels, targets


def real_boxes(boxes, classes):
    """The boxes and classes of a padded list that are boxes: a class, finite edges, an area."""
    boxes = np.asarray(boxes, np.float32).reshape(-1, 4)
    classes = np.asarray(classes).reshape(-1).astype(np.int32)
    real = (classes > 0) & of_boxes.usable(boxes)
    return boxes[real], classes[real]


def random_numbers(seed, purpose):
    """A generator whose numbers are the same in every release of NumPy."""
    return np.random.RandomState([int(seed) % 2**32, purpose])


def drawn(random, places, most):
    """At most so many of the places, in their order."""
    if len(places) <= most:
        return places
    return places[np.sort(random.permutation(len(places))[:most])]
