"""Boxes: anchors, the coder of differences, overlaps, and which of overlapping boxes stay."""

import math

import numpy as np

LARGEST_GROWTH = math.log(1000.0 / 16)
"""A decoded box is at most so many times as high and wide as its reference, as a logarithm."""
_LEAST_SIDE = 1e-6
_BLOCK, _PART = 256, 32


def anchors(rows, columns, stride, scales, ratios):
    """[rows * columns * A, 4]: A anchors around the centre of each cell.

    Their order is y, x, anchor. The anchors of a cell are ordered by ratio, then by scale: anchor
    number `r * len(scales) + s` has the ratio r (height over width) and the area of a square with
    the side `scales[s]`.
    """
    root = np.sqrt(np.array(ratios, np.float64))[:, None]
    side = np.array(scales, np.float64)[None, :]
    half = np.stack([side * root, side / root], axis=-1).reshape(-1, 2) / 2
    cells = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1)
    centre = (cells.reshape(-1, 1, 2) + 0.5) * stride
    corners = np.concatenate([centre - half, centre + half], axis=-1)
    return corners.reshape(-1, 4).astype(np.float32)


def encode(boxes, references, weights):
    """[N, 4]: the differences (y, x, height, width) that lead from the references to the boxes.

    Sides count as 1e-6 pixels at least, so that the logarithm exists.
    """
    centre, side = _centre_and_side(boxes)
    from_centre, from_side = _centre_and_side(references)
    side, from_side = np.maximum(side, _LEAST_SIDE), np.maximum(from_side, _LEAST_SIDE)
    shift = (centre - from_centre) / from_side
    growth = np.log(side / from_side)
    deltas = np.concatenate([shift, growth], axis=-1) * np.array(weights, np.float64)
    return deltas.astype(np.float32)


def decode(deltas, references, weights):
    """[N, 4]: the boxes that the differences lead to; growth is limited to LARGEST_GROWTH."""
    centre, side = _centre_and_side(references)
    with np.errstate(all="ignore"):  # a network that diverged gives boxes that are not finite
        change = np.asarray(deltas, np.float64) / np.array(weights, np.float64)
        centre = centre + change[..., :2] * side
        half = np.exp(np.minimum(change[..., 2:], LARGEST_GROWTH)) * side / 2
        corners = np.concatenate([centre - half, centre + half], axis=-1)
        return corners.astype(np.float32)


def _centre_and_side(boxes):
    """In float64: then the result in float32 does not depend on the release's exp and log."""
    boxes = np.asarray(boxes, np.float64)
    with np.errstate(all="ignore"):
        side = boxes[..., 2:] - boxes[..., :2]
        return boxes[..., :2] + side / 2, side


def clip(boxes, size):
    """The boxes cut off at the edges of an image of this (height, width)."""
    most = np.tile(np.asarray(size, np.float32).reshape(2), 2)
    return np.clip(np.asarray(boxes, np.float32), np.float32(0), most)


def usable(boxes, smallest=0.0):
    """[N] bool: the edges are finite, height and width above 0 and not below `smallest`."""
    boxes = np.asarray(boxes, np.float32)
    with np.errstate(all="ignore"):
        side = boxes[:, 2:] - boxes[:, :2]
        large = (side > 0) & (side >= np.float32(smallest))
    return np.isfinite(boxes).all(axis=1) & large.all(axis=1)


def overlaps(boxes, others):
    """[N, M]: intersection over union of each pair; 0 where both have no area."""
    boxes, others = np.asarray(boxes, np.float32), np.asarray(others, np.float32)
    with np.errstate(all="ignore"):
        shared = _shared(boxes, others, 0)
        shared *= _shared(boxes, others, 1)
        union = _areas(boxes)[:, None] + _areas(others)[None, :]
        union -= shared
        shared /= np.maximum(union, np.float32(1e-30), out=union)
    return shared


def _shared(boxes, others, axis):
    """How much of an axis each pair of boxes shares."""
    length = np.minimum(boxes[:, None, 2 + axis], others[None, :, 2 + axis])
    length -= np.maximum(boxes[:, None, axis], others[None, :, axis])
    return np.maximum(length, np.float32(0), out=length)


def _areas(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def best_first(scores, most):
    """The numbers of the `most` best scores, the best first, equal scores in their order.

    Scores that are not a number are left out.
    """
    scores = np.asarray(scores, np.float32)
    places = np.flatnonzero(~np.isnan(scores))
    if 0 < most < len(places):  # sort only what can be among them
        least = np.partition(scores[places], len(places) - most)[len(places) - most]
        places = places[scores[places] >= least]
    order = np.argsort(-scores[places], kind="mergesort")  # the one stable sort of old NumPy
    return places[order[:most]]


def suppress(boxes, scores, threshold, most):
    """int32: the numbers of at most `most` boxes that stay, the best first.

    In the order of `best_first`, a box stays unless it overlaps one that stays by more than the
    threshold (`overlaps`, in float32). Boxes that are not `usable` and scores that are not a number
    never stay.
    """
    boxes, scores = np.asarray(boxes, np.float32), np.asarray(scores, np.float32)
    places = np.flatnonzero(usable(boxes))
    order = places[best_first(scores[places], len(places))]
    kept = order[:0]
    for start in range(0, len(order), _BLOCK):  # in blocks: all pairs at once would be 36 million
        if len(kept) >= most:
            break
        block = order[start : start + _BLOCK]
        block = block[~_too_near_to_any(boxes[block], boxes[kept], threshold)]
        kept = np.concatenate([kept, block[_staying(boxes[block], threshold)]])
    return kept[:most].astype(np.int32)


def _too_near_to_any(boxes, others, threshold):
    """[N] bool: which boxes overlap one of the others by more than the threshold.

    The overlap is never more than the smaller area over the larger one, so boxes are compared with
    others of similar areas only: a third of the pairs or less.
    """
    near = np.zeros(len(boxes), bool)
    if not len(others):
        return near
    with np.errstate(all="ignore"):
        areas, other_areas = _areas(boxes), _areas(others)
        least_ratio = np.float32(max(threshold, 0) * 0.9999)  # what rounding may add
        order, other_order = areas.argsort(), other_areas.argsort()
        for part in np.array_split(order, -(-len(order) // _PART)):
            from_area, to_area = areas[part[0]] * least_ratio, areas[part[-1]] / least_ratio
            first = np.searchsorted(other_areas, from_area, "left", other_order)
            last = np.searchsorted(other_areas, to_area, "right", other_order)
            similar = others[other_order[first:last]]
            near[part] = (overlaps(boxes[part], similar) > np.float32(threshold)).any(axis=1)
    return near


def _staying(boxes, threshold):
    """[N] bool: which of these boxes, the best first, stay.

    Each round decides at least one more box for good: the first of which nothing before is open.
    """
    too_near = np.triu(overlaps(boxes, boxes) > np.float32(threshold), 1)
    stays = np.ones(len(boxes), bool)
    while True:
        now = ~(too_near & stays[:, None]).any(axis=0)
        if (now == stays).all():
            return stays
        stays = now
