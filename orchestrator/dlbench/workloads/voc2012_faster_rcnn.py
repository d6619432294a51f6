"""Faster R-CNN on PASCAL VOC 2012."""

from __future__ import annotations

from dlbench.planning.detectors import detector
from dlbench.workloads import Workload
from dlbench.workloads._faster_rcnn import detection_recipe, faster_rcnn

_CLASSES = 20
_NUMBERS = detector(_CLASSES)
_SMALL = detector(
    _CLASSES,
    scales=(16, 24, 32, 44, 60),
    rpn_samples=64,
    candidates=300,
    smallest=6,
    proposals_training=60,
    proposals_evaluation=30,
    rois=32,
)
_PROOF = faster_rcnn(
    "voc2012-faster-rcnn-proof",
    sizes=((64, 80), (80, 64)),
    widths=(4, 6, 8, 8),
    blocks_a_stage=(1, 2, 1, 1),
    rpn_width=12,
    boxes=6,
    numbers=detector(
        _CLASSES,
        scales=(8, 16, 24, 32, 48),
        rpn_samples=64,
        candidates=120,
        smallest=4,
        proposals_training=40,
        proposals_evaluation=24,
        rois=16,
    ),
)

WORKLOADS = (
    Workload(
        name="voc2012-faster-rcnn",
        task="object detection",
        dataset="voc2012",
        graph=faster_rcnn(
            "voc2012-faster-rcnn",
            sizes=((600, 1000), (1000, 600), (600, 800), (800, 600)),
            widths=(64, 128, 256, 512),
            blocks_a_stage=(3, 4, 6, 3),
            rpn_width=512,
            boxes=64,
            numbers=_NUMBERS,
        ),
        recipe=detection_recipe(_NUMBERS),
        about="Photographs with objects of 20 classes: Faster R-CNN on ResNet-50 C4",
        source="S. Ren et al., 2015, joint training, on ResNet-50 C4 with constants in the place of"
        " batch normalisation, stem and first stage constant, too; 28,197,040 parameters",
        proof=_PROOF,
        sizes={"small": "voc2012-faster-rcnn-small"},
    ),
    Workload(
        name="voc2012-faster-rcnn-small",
        task="object detection",
        dataset="voc2012",
        graph=faster_rcnn(
            "voc2012-faster-rcnn-small",
            sizes=((96, 128), (128, 96)),
            widths=(12, 16, 32, 32),
            blocks_a_stage=(1, 1, 1, 1),
            rpn_width=48,
            boxes=64,
            numbers=_SMALL,
        ),
        recipe=detection_recipe(_SMALL, rate=1e-3, evaluate=("test", "train")),
        about="The same detector in small, for made-up scenes or a machine without a GPU",
        source="dlbench's own: voc2012-faster-rcnn with fewer channels, blocks and regions",
        proof=_PROOF,
    ),
)
