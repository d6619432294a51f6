"""Metrics from raw outputs, in NumPy, for every release alike."""

import numpy as np

from bench import decoding
from bench.detection.results import Truths, detections, mean_average_precision
from bench.detector_data import DIFFICULT

MOST_KEPT = 64000000
"""Bytes of raw outputs that are kept: those of a language model would be twenty gigabytes."""
SIGN = {
    "accuracy": 1,
    "binary-accuracy": 1,
    "mean-absolute-error": -1,
    "mean-squared-error": -1,
    "perplexity": -1,
    "average-precision": 1,
    "average-precision-11": 1,
    "boxes-found": 1,
}
"""1 where more is better."""


def evaluate(model, split, recipe, batch=None):
    """({metric: value}, {output: raw predictions}) of the model on a split, without decoding.

    Sums are kept batch by batch. Of the raw predictions the first rows are returned, as many as fit
    into MOST_KEPT bytes, and at least one.
    """
    wanted = [metric for metric in recipe["metrics"] if metric["name"] != decoding.NAME]
    of_regions = [each for each in wanted if each["name"] in _OF_DETECTIONS]
    counted = [each for each in wanted if each["name"] not in _OF_DETECTIONS]
    sums = [np.zeros(2) for _ in counted]
    found = Found(of_regions[0], split.detector) if of_regions else None
    parts, room = {}, MOST_KEPT
    for piece in split.batches(batch or recipe["batch"]):
        outputs = model.predict(piece)
        if found:
            found.add(outputs, piece)
        for metric, total in zip(counted, sums):
            mask = piece[metric["mask"]] if metric["mask"] else None
            total += _tally(
                metric["name"], outputs[metric["output"]], piece[metric["target"]], mask
            )
        if room > 0:
            rows = max(1, room // sum(value[0].nbytes for value in outputs.values()))
            for output, value in outputs.items():
                kept = parts.setdefault(output, [])
                if not kept or kept[0].shape[1:] == value.shape[1:]:  # images may differ in size
                    kept.append(value[:rows])
                room -= value.nbytes  # below 0 once a batch did not fit: no gap in the rows
    values = found.values() if found else {}
    values.update((m["name"], _value(m["name"], total)) for m, total in zip(counted, sums))
    values = {metric["name"]: values[metric["name"]] for metric in wanted}
    return values, {name: np.concatenate(arrays) for name, arrays in parts.items()}


_OF_DETECTIONS = ("average-precision", "average-precision-11", "boxes-found")
"""Of a whole split's detections, in the order of a Summary's values."""


class Found:
    """What a detector found in the images of a split, against what there is."""

    def __init__(self, metric, detector):
        self._metric, self._detector = metric, detector
        self._detected, self._truths = [], []

    def add(self, outputs, piece):
        node = self._detector
        boxes, classes, size, _ = (piece[name] for name in node["inputs"][2:])
        self._detected.append(
            detections(
                outputs[self._metric["output"]],
                outputs[self._metric["deltas"]],
                outputs[node["name"]],
                size[0],
                node,
            )
        )
        self._truths.append(Truths(boxes[0], classes[0], piece[DIFFICULT][0]))

    def values(self):
        classes = self._detector["classes"]
        summary = mean_average_precision(self._detected, self._truths, classes)
        return dict(zip(_OF_DETECTIONS, summary))


def compute(name, output, target, mask=None):
    """One metric; `mask` is 1 where a place counts."""
    return _value(name, _tally(name, output, target, mask))


def _value(name, total):
    mean = total[0] / max(total[1], 1)
    if name == "perplexity":
        with np.errstate(over="ignore"):  # infinite then, which is said
            mean = np.exp(mean)
    return float(mean)


def _tally(name, output, target, mask):
    """(sum, number) of the places that count."""
    if name == "accuracy":
        scores = output.argmax(axis=-1) == target
    elif name == "binary-accuracy":
        scores = (output > 0) == (target > 0.5)
    elif name == "mean-absolute-error":
        scores = np.abs(output.astype(np.float64) - target)
    elif name == "mean-squared-error":
        scores = np.square(output.astype(np.float64) - target)
    elif name == "perplexity":
        scores = _negative_log_likelihood(output, target)
    else:
        raise ValueError("unknown metric {!r}".format(name))
    for array, what in ((target, "target"), (mask, "mask")):
        if array is not None and array.shape != scores.shape:
            words = "{} of an output {} needs a {} of the shape {}, not {}"
            raise ValueError(words.format(name, output.shape, what, scores.shape, array.shape))
    if mask is None:
        return np.sum(scores, dtype=np.float64), scores.size
    return np.sum(scores * mask, dtype=np.float64), np.sum(mask, dtype=np.float64)


def _negative_log_likelihood(logits, labels):
    """Of each place: minus the logarithm of the probability that its own class is given."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=-1, dtype=np.float64))
    if labels.shape != total.shape:
        return total  # the caller names both shapes
    rows = shifted.reshape(-1, shifted.shape[-1])  # NumPy 1.14 has no take_along_axis
    return total - rows[np.arange(len(rows)), labels.reshape(-1)].reshape(labels.shape)
