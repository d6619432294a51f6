"""Faster R-CNN (S. Ren et al., 2015) on ResNet-50 C4, in the one form that can be proven equal.

Batch normalisation is a constant affine, the stem and the first stage are constants, one image is
a batch, and the regions are found by a NumPy function that all releases share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import adam, loss, metric, recipe

_AROUND = ((1, 1), (1, 1))
_SHARE = 0.3
"""Of the usual size: the last convolution of a block. Without normalisation the values of sixteen
blocks would double in each of them."""


def faster_rcnn(
    name: str,
    *,
    sizes: Sequence[tuple[int, int]],
    widths: Sequence[int],
    blocks_a_stage: Sequence[int],
    rpn_width: int,
    boxes: int,
    numbers: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole detector; `boxes` are the most that an image may have."""
    g = Graph(name)
    image = g.input("image", (*sizes[0], 3), sizes=sizes)
    truth = (
        g.input("boxes", (boxes, 4)),
        g.input("classes", (boxes,), "int32"),
        g.input("size", (2,)),
        g.input("seed", (), "int32"),
    )
    x = g.maxpool(_unit(g, image, widths[0], 7, 2, frozen=True), 3, stride=2, padding=_AROUND)
    stages = list(zip(widths, blocks_a_stage, strict=True))
    for stage, (width, blocks) in enumerate(stages[:-1]):
        x = _stage(g, x, width, blocks, 2 if stage else 1, frozen=not stage)
    hidden = g.relu(g.conv2d(x, rpn_width, 3, padding=_AROUND, init="uniform-0.0173"))
    anchors = len(numbers["scales"]) * len(numbers["ratios"])
    scores = g.conv2d(hidden, anchors, 1, init="uniform-0.0173", name="rpn_scores")
    deltas = g.conv2d(hidden, 4 * anchors, 1, init="uniform-0.0173", name="rpn_moves")
    rois = g.proposals(scores, deltas, *truth, detector=numbers, name="rois")
    regions = g.roialign(x, f"{rois}:wy", f"{rois}:wx")
    y = g.globalavgpool(_stage(g, regions, *stages[-1], 1, frozen=False))
    kinds = g.dense(y, numbers["classes"] + 1, init="uniform-0.0173", name="scores")
    moves = g.dense(y, 4 * numbers["classes"], init="uniform-0.00173", name="moves")
    g.outputs(kinds, moves, rois, scores, deltas)
    return g.to_json()


def _stage(g: Graph, x: str, width: int, blocks: int, stride: int, *, frozen: bool) -> str:
    """Bottleneck blocks; the stride is in the 3x3 convolution of the first one."""
    for block in range(blocks):
        step = 1 if block else stride
        y = _unit(g, _unit(g, x, width, 1, frozen=frozen), width, 3, step, frozen=frozen)
        bound = _SHARE * math.sqrt(6 / width)
        y = g.affine(_convolved(g, y, 4 * width, 1, 1, frozen, f"uniform-{bound:.4f}"))
        if g.shape(x) != g.shape(y):
            x = g.affine(_convolved(g, x, 4 * width, 1, step, frozen))
        x = g.relu(g.add(y, x))
    return x


def _unit(g: Graph, x: str, filters: int, kernel: int, stride: int = 1, *, frozen: bool) -> str:
    return g.relu(g.affine(_convolved(g, x, filters, kernel, stride, frozen)))


def _convolved(
    g: Graph, x: str, filters: int, kernel: int, stride: int, frozen: bool, init: str = "he-normal"
) -> str:
    around = ((kernel // 2, kernel // 2),) * 2
    return g.conv2d(
        x, filters, kernel, stride=stride, padding=around, bias=False, frozen=frozen, init=init
    )


def detection_recipe(
    numbers: Mapping[str, Any],
    *,
    rate: float = 1e-4,
    evaluate: Sequence[str] = ("test",),
) -> dict[str, Any]:
    """Joint training: both stages' losses in one step."""
    of_rpn, of_rois = float(numbers["rpn_samples"]), float(numbers["rois"])
    return recipe(
        batch=1,
        epochs=12,
        optimizer=adam(rate, weight_decay=5e-4),
        evaluate=evaluate,
        losses=[
            loss("sigmoid-cross-entropy", "rpn_scores", "rpn_labels", mask="rpn_label_weights",
                 divisor=of_rpn),
            loss("smooth-l1", "rpn_moves", "rpn_deltas", mask="rpn_delta_weights",
                 divisor=of_rpn),
            loss("softmax-cross-entropy", "scores", "rois:labels", mask="rois:label_weights",
                 divisor=of_rois),
            loss("smooth-l1", "moves", "rois:deltas", mask="rois:delta_weights",
                 divisor=of_rois),
        ],
        metrics=[
            metric(name, "scores", "boxes", deltas="moves")
            for name in ("average-precision", "average-precision-11", "boxes-found")
        ],
    )  # fmt: skip
