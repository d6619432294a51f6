"""Losses and their gradients; each the mean over what `mask` lets count."""

import numpy as np

from bench.reference.lstm import sigmoid


def loss_and_gradient(name, output, target, mask=None):
    """(loss, gradient of the output)."""
    values, gradient = _PER_PLACE[name](output, target)
    if values.shape != target.shape:
        raise ValueError("{}: output {} against target {}".format(name, output.shape, target.shape))
    weight = np.ones(values.shape, output.dtype) if mask is None else mask.astype(output.dtype)
    weight = weight / weight.sum()
    spread = weight[..., None] if gradient.ndim > weight.ndim else weight
    return float((values * weight).sum()), gradient * spread


def _softmax_cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    log_p = shifted - total
    hot = np.arange(logits.shape[-1]) == labels[..., None]
    return -(log_p * hot).sum(axis=-1), np.exp(log_p) - hot


def _sigmoid_cross_entropy(logits, target):
    values = np.maximum(logits, 0) - logits * target + np.log1p(np.exp(-np.abs(logits)))
    return values, sigmoid(logits) - target


def _squared(output, target):
    return np.square(output - target), 2 * (output - target)


def _absolute(output, target):
    return np.abs(output - target), np.sign(output - target)


_PER_PLACE = {
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": _squared,
    "mean-absolute-error": _absolute,
}
