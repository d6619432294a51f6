"""Metrics from raw outputs, in NumPy, for every release alike."""

import numpy as np

SIGN = {
    "accuracy": 1,
    "binary-accuracy": 1,
    "mean-absolute-error": -1,
    "mean-squared-error": -1,
}
"""1 where more is better."""


def evaluate(model, split, recipe, batch=None):
    """({metric: value}, {output: raw predictions}) of the model on a split."""
    parts, kept = {}, {}
    wanted = sorted({m[key] for m in recipe["metrics"] for key in ("target", "mask") if m[key]})
    for piece in split.batches(batch or recipe["batch"]):
        for output, value in model.predict(piece).items():
            parts.setdefault(output, []).append(value)
        for name in wanted:
            kept.setdefault(name, []).append(piece[name])
    raw = {name: np.concatenate(values) for name, values in parts.items()}
    arrays = {name: np.concatenate(values) for name, values in kept.items()}
    values = {
        metric["name"]: compute(
            metric["name"],
            raw[metric["output"]],
            arrays[metric["target"]],
            arrays[metric["mask"]] if metric["mask"] else None,
        )
        for metric in recipe["metrics"]
    }
    return values, raw


def compute(name, output, target, mask=None):
    """One metric; `mask` is 1 where a place counts."""
    if name == "accuracy":
        scores = output.argmax(axis=-1) == target
    elif name == "binary-accuracy":
        scores = (output > 0) == (target > 0.5)
    elif name == "mean-absolute-error":
        scores = np.abs(output.astype(np.float64) - target)
    elif name == "mean-squared-error":
        scores = np.square(output.astype(np.float64) - target)
    else:
        raise ValueError("unknown metric {!r}".format(name))
    for array, what in ((target, "target"), (mask, "mask")):
        if array is not None and array.shape != scores.shape:
            words = "{} of an output {} needs a {} of the shape {}, not {}"
            raise ValueError(words.format(name, output.shape, what, scores.shape, array.shape))
    if mask is None:
        return float(np.mean(scores))
    return float(np.sum(scores * mask) / max(np.sum(mask), 1))
