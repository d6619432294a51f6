"""The host node between the two stages of a detector: from the RPN's answers to RoIs.

No gradient passes through it. Networks that diverged may hand over what is not finite; such
anchors are left out, and in the worst case all rows are padding.
"""

import numpy as np

from bench.detection import boxes as of_boxes
from bench.detection.regions import roi_align_matrices
from bench.detection.targets import real_boxes, roi_targets

OUTPUTS = ("rois", "wy", "wx", "labels", "label_weights", "deltas", "delta_weights")
"""The arrays that `propose` returns, by name."""


def output_shapes(rows, columns, spec, training):
    """{name: (shape, dtype)} of what `propose` returns for a feature map of this size."""
    count = spec["rois"] if training else spec["proposals_evaluation"]
    shapes = {
        "rois": (count, 4),
        "wy": (count, spec["pool"], rows),
        "wx": (count, spec["pool"], columns),
        "labels": (count,),
        "label_weights": (count,),
        "deltas": (count, 4 * spec["classes"]),
        "delta_weights": (count, 4 * spec["classes"]),
    }
    return {
        name: (shape, np.int32 if name == "labels" else np.float32)
        for name, shape in shapes.items()
    }


def propose(scores, deltas, boxes, classes, size, seed, spec, training):
    """{name: array}: see OUTPUTS and `output_shapes`.

    Takes the RPN's scores [1, H, W, A] (larger is more like an object) and deltas [1, H, W, 4 * A],
    and the image's boxes [1, M, 4], classes [1, M], size [1, 2] and seed [1, 1].

    The `candidates` best anchors (equal scores in the order of the anchors) of cells that lie in
    the image are decoded, cut off at its edges, left out if they are smaller than `smallest`, and
    thinned out by `suppress`. In training RoIs are drawn from them (`roi_targets`); the deltas of
    class c are in the four columns from 4 * (c - 1). In evaluation all of them are RoIs, the best
    first, and labels, deltas and weights are 0. Rows that are left over are 0 everywhere.
    """
    candidates, ordered = best_candidates(scores, deltas, size, spec)
    proposals = candidates[_kept(candidates, ordered, spec, training)]
    rows, columns = np.shape(scores)[1:3]
    result = {
        name: np.zeros(shape, dtype)
        for name, (shape, dtype) in output_shapes(rows, columns, spec, training).items()
    }
    if training:
        own, labels, targets = roi_targets(
            proposals, boxes, classes, spec, np.asarray(seed).reshape(-1)[0]
        )
        result["labels"][: len(own)] = labels
        result["label_weights"][: len(own)] = 1
        objects = np.flatnonzero(labels)
        place = 4 * (labels[objects, None] - 1) + np.arange(4)
        result["deltas"][objects[:, None], place] = of_boxes.encode(
            targets[objects], own[objects], spec["weights"]
        )
        result["delta_weights"][objects[:, None], place] = 1
    else:
        own = proposals
    result["rois"][: len(own)] = own
    result["wy"][: len(own)], result["wx"][: len(own)] = roi_align_matrices(
        own, rows, columns, spec["stride"], spec["pool"], spec["samples"]
    )
    return result


def best_candidates(scores, deltas, size, spec):
    """(boxes, scores) of the candidates, small ones and those that are not finite included."""
    rows, columns, count = np.shape(scores)[1:]
    if count != len(spec["scales"]) * len(spec["ratios"]):
        raise ValueError("{} scores for each cell, but not so many anchors".format(count))
    scores = np.asarray(scores, np.float32).reshape(-1)
    deltas = np.asarray(deltas, np.float32).reshape(-1, 4)
    size = np.asarray(size, np.float32).reshape(2)
    cells = np.ceil(size / np.float32(spec["stride"])).astype(int)  # the others are padding
    places = np.arange(scores.size).reshape(rows, columns, count)[: cells[0], : cells[1]]
    places = places.reshape(-1)
    places = places[of_boxes.best_first(scores[places], spec["candidates"])]
    anchors = of_boxes.anchors(rows, columns, spec["stride"], spec["scales"], spec["ratios"])
    decoded = of_boxes.decode(deltas[places], anchors[places], spec["rpn_weights"])
    return of_boxes.clip(decoded, size), scores[places]


def _kept(candidates, scores, spec, training):
    """The numbers of the candidates that are proposals, the best first."""
    large = np.flatnonzero(of_boxes.usable(candidates, spec["smallest"]))
    most = spec["proposals_training" if training else "proposals_evaluation"]
    return large[
        of_boxes.suppress(candidates[large], scores[large], spec["proposal_overlap"], most)
    ]


def margin(scores, deltas, boxes, classes, size, spec, training):
    """{decision: how far the nearest one is from falling the other way}; infinite: there is none.

    Proofs keep away from small values, where a rounding error changes which RoIs there are:

    - `scores`: between two neighbours in the order of the scores, the first one that is no
      candidate included;
    - `sides`: pixels between a candidate's height or width and `smallest`;
    - `overlaps`: between the overlap of a proposal with a candidate after it and
      `proposal_overlap`; in training also between that of an RoI with a box and
      `foreground_overlap`, and between the two boxes that an object overlaps most.
    """
    one_more = dict(spec, candidates=spec["candidates"] + 1)
    candidates, ordered = best_candidates(scores, deltas, size, one_more)
    sides = (candidates[:, 2:] - candidates[:, :2])[of_boxes.usable(candidates)]
    candidates = candidates[: spec["candidates"]]
    kept = _kept(candidates, ordered[: spec["candidates"]], spec, training)
    large = of_boxes.usable(candidates, spec["smallest"])
    later = large & (np.arange(len(candidates)) > kept[:, None])
    overlaps = of_boxes.overlaps(candidates[kept], candidates)[later]
    near = [np.abs(overlaps - np.float32(spec["proposal_overlap"]))]
    boxes, _ = real_boxes(boxes, classes)
    if training and len(boxes):
        rois = np.concatenate([candidates[kept], boxes])
        shared = np.sort(of_boxes.overlaps(rois, boxes), axis=1)
        least = np.float32(spec["foreground_overlap"])
        near.append(np.abs(shared[:, -1] - least))
        if len(boxes) > 1:
            near.append((shared[:, -1] - shared[:, -2])[shared[:, -1] >= least])
    return {
        "scores": _least(-np.diff(ordered.astype(np.float64))),
        "sides": _least(np.abs(sides - np.float32(spec["smallest"]))),
        "overlaps": _least(np.concatenate(near)),
    }


def _least(values):
    return float(values.min()) if values.size else float("inf")
