"""The numbers of a two-stage detector: anchors, samples, regions, detections.

They are attributes of a graph's node of proposals; bench/detection says what each one does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_COUNTS = (
    "classes", "rpn_samples", "candidates", "proposals_training", "proposals_evaluation", "rois",
    "pool", "samples", "most_detections",
)  # fmt: skip
_SHARES = (
    "rpn_positive", "rpn_negative", "proposal_overlap", "foreground", "foreground_overlap",
    "least_score", "detection_overlap",
)  # fmt: skip
_LISTS = {"scales": 0, "ratios": 0, "rpn_weights": 4, "weights": 4}
"""Lists of numbers above 0, and how long they are; 0: any length."""


def detector(
    classes: int,
    *,
    stride: int = 16,
    scales: Sequence[float] = (32, 64, 128, 256, 512),
    ratios: Sequence[float] = (0.5, 1, 2),
    rpn_weights: Sequence[float] = (1, 1, 1, 1),
    rpn_samples: int = 256,
    rpn_positive: float = 0.7,
    rpn_negative: float = 0.3,
    candidates: int = 6000,
    smallest: float = 16,
    proposal_overlap: float = 0.7,
    proposals_training: int = 2000,
    proposals_evaluation: int = 300,
    rois: int = 128,
    foreground: float = 0.25,
    foreground_overlap: float = 0.5,
    pool: int = 7,
    samples: int = 2,
    weights: Sequence[float] = (10, 10, 5, 5),
    least_score: float = 0.05,
    detection_overlap: float = 0.5,
    most_detections: int = 100,
) -> dict[str, Any]:
    """The numbers that Faster R-CNN is usually trained and judged with, but for what is given."""
    given = dict(locals())
    return {
        key: [float(number) for number in value] if key in _LISTS else value
        for key, value in given.items()
    }


def completed(given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(all numbers, what can't be used of them, in words; empty: all can)."""
    known = {*_COUNTS, *_SHARES, *_LISTS, "stride", "smallest"}
    unknown = sorted(given.keys() - known)
    if unknown or "classes" not in given:
        return {}, f"there is no {unknown[0]!r}" if unknown else "the number of classes is missing"
    for key in _LISTS.keys() & given.keys():
        if not isinstance(given[key], list | tuple):
            return {}, f"{key} must list numbers, not {given[key]!r}"
    try:
        numbers = detector(**given)
        return numbers, _wrong_number(numbers)
    except (TypeError, ValueError):
        return {}, f"not all of these are numbers: {dict(given)}"


def _wrong_number(detector: Mapping[str, Any]) -> str:
    for key in (*_COUNTS, "stride"):
        if type(detector[key]) is not int or detector[key] < 1:
            return f"{key} must be a whole number from 1, not {detector[key]!r}"
    for key in _SHARES:
        if not 0 <= detector[key] <= 1:
            return f"{key} must be in 0..1, not {detector[key]!r}"
    for key, length in _LISTS.items():
        numbers = detector[key]
        fits = len(numbers) == length if length else bool(numbers)
        if not fits or not all(0 < number < math.inf for number in numbers):
            return f"{key} must list {length or 'some'} numbers above 0, not {list(numbers)}"
    if not 0 <= detector["smallest"] < math.inf:
        return f"smallest must be 0 or more, not {detector['smallest']!r}"
    if detector["rpn_negative"] > detector["rpn_positive"]:
        return "rpn_negative must not be above rpn_positive"
    return ""
