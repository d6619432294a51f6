"""Metrics once more, as FORMATS.md words them.

`bench/metrics.py` judges the release and the reference alike, so a mistake there would show in
neither. Nothing is shared with it.
"""

import math

import numpy as np

MORE_IS_BETTER = ("accuracy", "binary-accuracy")
_ROWS = 1000
"""That are looked at together: a float64 copy of all could be the most memory of a trial."""


def judged(name, output, target, mask=None):
    """A metric of raw outputs; None: it is not one of single places."""
    if name not in _SCORES:
        return None
    total = counted = 0.0
    for first in range(0, len(output), _ROWS):
        part = slice(first, first + _ROWS)
        scores = _SCORES[name](output[part].astype(np.float64), target[part])
        weights = np.ones(scores.shape) if mask is None else mask[part].reshape(scores.shape)
        total += float((scores * weights).sum())
        counted += float(weights.sum())
    mean = total / max(counted, 1.0)
    if name != "perplexity":
        return mean
    return math.exp(mean) if mean < 700 else math.inf


def _right(output, target):
    return (output.argmax(axis=-1) == target.reshape(output.shape[:-1])) * 1.0


def _surprise(output, target):
    rows = output.reshape(-1, output.shape[-1])
    above = rows - rows.max(axis=1)[:, None]
    own = above[np.arange(len(rows)), target.reshape(-1).astype(np.int64)]
    return np.log(np.exp(above).sum(axis=1)) - own


_SCORES = {
    "accuracy": _right,
    "perplexity": _surprise,
    "binary-accuracy": lambda y, t: ((y > 0) == (t.reshape(y.shape) > 0.5)) * 1.0,
    "mean-absolute-error": lambda y, t: np.abs(y - t.reshape(y.shape)),
    "mean-squared-error": lambda y, t: (y - t.reshape(y.shape)) ** 2,
}
