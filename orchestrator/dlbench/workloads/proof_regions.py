"""A small detector: what reads regions, images of two sizes, constants, weighted losses."""

from __future__ import annotations

from dlbench.planning.detectors import detector
from dlbench.workloads import Workload
from dlbench.workloads._faster_rcnn import detection_recipe, faster_rcnn

_NUMBERS = detector(
    3,
    scales=(8, 16, 24, 32, 48),
    rpn_samples=64,
    candidates=120,
    smallest=4,
    proposals_training=40,
    proposals_evaluation=24,
    rois=16,
)

WORKLOAD = Workload(
    name="proof-regions",
    task="certificate",
    dataset="toy-shapes",
    graph=faster_rcnn(
        "proof-regions",
        sizes=((64, 80), (80, 64)),
        widths=(4, 6, 8, 8),
        blocks_a_stage=(1, 2, 1, 1),
        rpn_width=12,
        boxes=6,
        numbers=_NUMBERS,
    ),
    recipe=detection_recipe(_NUMBERS, epochs=2),
    about="A small detector to certify: regions, images of two sizes, constants",
    only_proof=True,
)
