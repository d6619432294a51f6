"""Maxima in Theano whose gradient goes to one place, for itself and for Keras on it.

Theano's own (T.max, pool_2d) give the whole gradient to every one of several equal values, and its
relu gives half of it at 0.
"""

import numpy as np
from theano import tensor as T


def relu(x):
    return T.switch(x > 0, x, np.float32(0))


def maxpool(node, x, axis):
    """The largest of a window's shifted images; rows are on `axis`, columns on the next."""
    x = padded_low(node["padding"], x, axis)
    down, right = node["stride"]
    rows, columns = (
        extent or (x.shape[axis + k] - node["size"][k]) // node["stride"][k] + 1  # or it varies
        for k, extent in enumerate(node["shape"][:2])
    )
    before = (slice(None),) * axis
    y = None
    for i in range(node["size"][0]):
        for j in range(node["size"][1]):
            part = x[before + (slice(i, i + (rows - 1) * down + 1, down),)]
            part = part[before + (slice(None), slice(j, j + (columns - 1) * right + 1, right))]
            y = part if y is None else T.maximum(y, part)
    return y


def padded_low(padding, x, axis):
    """Padded with what no maximum ever takes."""
    if not any(padding[0] + padding[1]):
        return x
    shape, inside = list(x.shape), [slice(None)] * 4
    for k, (before, after) in enumerate(padding, axis):
        inside[k] = slice(before, x.shape[k] + before)
        shape[k] = x.shape[k] + before + after
    return T.set_subtensor(T.alloc(np.float32(-np.inf), *shape)[tuple(inside)], x)


def globalmaxpool(x):
    """Of an image [N, C, H, W], by the position of the first maximum."""
    flat = x.flatten(3)
    first = T.argmax(flat, axis=2)
    rows, channels = T.arange(flat.shape[0]), T.arange(flat.shape[1])
    return flat[rows.dimshuffle(0, "x"), channels.dimshuffle("x", 0), first]
