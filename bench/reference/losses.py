"""Losses and their gradients; each the mean over what `mask` lets count, or a weighted sum."""

import numpy as np

from bench.reference.lstm import sigmoid


def loss_and_gradient(name, output, target, mask=None, lean=0.0, divisor=None, total=np.sum):
    """(loss, gradient of the output). `lean` as in `layers.Context`; `total` sums the values up."""
    places = output.shape[:-1] if name == "softmax-cross-entropy" else output.shape
    for array, what in ((target, "target"), (mask, "mask")):
        if array is not None and array.shape != places:
            words = "{} of an output {} needs a {} of the shape {}, not {}"
            raise ValueError(words.format(name, output.shape, what, places, array.shape))
    values, gradient = PER_PLACE[name](output, target, lean)
    weight = np.ones(places, output.dtype) if mask is None else mask.astype(output.dtype)
    # a batch in which nothing counts has no loss
    weight = weight / (divisor or max(weight.sum(), 1))
    spread = weight[..., None] if gradient.ndim > weight.ndim else weight
    return float(total(values * weight)), gradient * spread


def _softmax_cross_entropy(logits, labels, lean):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    log_p = shifted - total
    hot = np.arange(logits.shape[-1]) == labels[..., None]
    return -(log_p * hot).sum(axis=-1), np.exp(log_p) - hot


def _sigmoid_cross_entropy(logits, target, lean):
    values = np.maximum(logits, 0) - logits * target + np.log1p(np.exp(-np.abs(logits)))
    return values, sigmoid(logits) - target


def _squared(output, target, lean):
    return np.square(output - target), 2 * (output - target)


def _absolute(output, target, lean):
    difference = output - target
    return np.abs(difference), np.sign(difference + lean * np.abs(output).max())


def _smooth(output, target, lean):
    difference = output - target
    slope = np.clip(difference, -1, 1)
    return slope * (difference - slope / 2), slope


PER_PLACE = {
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": _squared,
    "mean-absolute-error": _absolute,
    "smooth-l1": _smooth,
}
