"""Forward and backward passes of the graph's nodes, each a pair of functions on NHWC arrays.

A forward pass (node, inputs, parameters, context) returns the output and what the backward pass
needs; a backward pass (node, cache, gradient) returns the gradients of the inputs (a list) and of
the parameters (a dictionary). The LSTM, which has states too, is in lstm.py.
"""

import numpy as np

from bench import host
from bench.reference import lstm


class Context:
    """How a pass is run."""

    def __init__(self, training=False, random=None, lean=0.0, choice=None):
        self.training = training
        self.random = random
        self.lean = lean
        """Which side of a kink values near it count to, as a share of the largest value; 0: the
        side they are on. The proof leans both ways to see what rounding can change."""
        self.choice = choice
        """Draws which of nearly equal values is a maximum; None: the first, or the last where it
        leans."""
        self.state = {}
        """New running statistics of batch normalisation, {node: {parameter: value}}."""


_EQUAL = 1e-5
"""Of the largest value: what is nearer to a maximum than this may be one in another release."""


def _windows(x, size, stride):
    """A view [B, rows, columns, h, w, C] of all windows; no copy."""
    batch, height, width, channels = x.shape
    rows = (height - size[0]) // stride[0] + 1
    columns = (width - size[1]) // stride[1] + 1
    b, h, w, c = x.strides
    return np.lib.stride_tricks.as_strided(
        x,
        (batch, rows, columns, size[0], size[1], channels),
        (b, h * stride[0], w * stride[1], h, w, c),
        writeable=False,
    )


def _pad(x, padding, value=0.0):
    if not any(padding[0] + padding[1]):
        return x
    (top, bottom), (left, right) = padding
    batch, height, width, channels = x.shape
    shape = (batch, top + height + bottom, left + width + right, channels)
    padded = np.full(shape, value, x.dtype)
    padded[:, top : top + height, left : left + width] = x
    return padded


def _unpad(x, padding):
    (top, bottom), (left, right) = padding
    return x[:, top : x.shape[1] - bottom, left : x.shape[2] - right, :]


def _scatter(windows, shape, stride):
    """The sum of overlapping windows [B, rows, columns, h, w, C]: the transpose of `_windows`."""
    _, rows, columns, height, width, _ = windows.shape
    if height == width == 1 and (rows, columns) == shape[1:3]:
        return windows[:, :, :, 0, 0]
    total = np.zeros(shape, windows.dtype)
    for i in range(height):
        for j in range(width):
            total[
                :,
                i : i + rows * stride[0] : stride[0],
                j : j + columns * stride[1] : stride[1],
            ] += windows[:, :, :, i, j]
    return total


def conv2d(node, inputs, p, context):
    x = _pad(inputs[0], node["padding"])
    windows = _windows(x, node["kernel"], node["stride"])
    kernel = p["kernel"].reshape(-1, node["filters"])
    y = windows.reshape(-1, len(kernel)) @ kernel  # one product: one for each row is slow
    if node["bias"]:
        y += p["bias"]
    return y.reshape(windows.shape[:3] + (-1,)), (x, p["kernel"])


def conv2d_backward(node, cache, dy):
    x, kernel = cache
    rows = dy.reshape(-1, node["filters"])
    # made again instead of kept: the windows are many times the size of the image
    flat = _windows(x, node["kernel"], node["stride"]).reshape(len(rows), -1)
    grads = {"kernel": (flat.T @ rows).reshape(kernel.shape)}
    if node["bias"]:
        grads["bias"] = rows.sum(axis=0)
    windows = (rows @ kernel.reshape(-1, node["filters"]).T).reshape(
        dy.shape[:3] + kernel.shape[:3]
    )
    return [_unpad(_scatter(windows, x.shape, node["stride"]), node["padding"])], grads


def maxpool(node, inputs, p, context):
    x = _pad(inputs[0], node["padding"], -np.inf)
    windows = _windows(x, node["size"], node["stride"])
    flat = windows.reshape(windows.shape[:3] + (-1, x.shape[-1]))
    return flat.max(axis=3), (_largest(flat, 3, context), x.shape)


def _largest(values, axis, context):
    """Where the largest value is: the first of equal ones, or another of nearly equal ones."""
    if not context.lean and context.choice is None:
        return values.argmax(axis=axis)
    room = (abs(context.lean) or _EQUAL) * np.abs(np.where(np.isfinite(values), values, 0)).max()
    near = values >= values.max(axis=axis, keepdims=True) - room
    choice = context.choice
    if choice is None and context.lean < 0:  # the first and the last may both see padding alone
        choice = np.random.RandomState(4)
    if choice is not None:
        return (near * choice.uniform(0.5, 1, size=near.shape)).argmax(axis=axis)
    return values.shape[axis] - 1 - np.flip(near, axis).argmax(axis=axis)


def maxpool_backward(node, cache, dy):
    chosen, shape = cache
    size = node["size"]
    places = np.arange(size[0] * size[1])[None, None, None, :, None]
    flat = np.where(places == chosen[:, :, :, None], dy[:, :, :, None], 0).astype(dy.dtype)
    windows = flat.reshape(dy.shape[:3] + (size[0], size[1], shape[-1]))
    return [_unpad(_scatter(windows, shape, node["stride"]), node["padding"])], {}


def avgpool(node, inputs, p, context):
    x = _pad(inputs[0], node["padding"])
    counted = _pad(np.ones((1,) + inputs[0].shape[1:3] + (1,), x.dtype), node["padding"])
    counts = _windows(counted, node["size"], node["stride"]).sum(axis=(3, 4))
    return _windows(x, node["size"], node["stride"]).sum(axis=(3, 4)) / counts, (counts, x.shape)


def avgpool_backward(node, cache, dy):
    counts, shape = cache
    share = (dy / counts)[:, :, :, None, None, :]
    size = node["size"]
    windows = np.broadcast_to(share, dy.shape[:3] + (size[0], size[1], shape[-1]))
    return [_unpad(_scatter(windows, shape, node["stride"]), node["padding"])], {}


def globalavgpool(node, inputs, p, context):
    return inputs[0].mean(axis=(1, 2)), inputs[0].shape


def globalavgpool_backward(node, shape, dy):
    share = dy[:, None, None, :] / (shape[1] * shape[2])
    return [np.broadcast_to(share, shape).copy()], {}


def globalmaxpool(node, inputs, p, context):
    x = inputs[0]
    flat = x.reshape(len(x), -1, x.shape[-1])
    return flat.max(axis=1), (_largest(flat, 1, context), x.shape)


def globalmaxpool_backward(node, cache, dy):
    chosen, shape = cache
    places = np.arange(shape[1] * shape[2])[None, :, None]
    return [np.where(places == chosen[:, None], dy[:, None], 0).astype(dy.dtype).reshape(shape)], {}


def batchnorm(node, inputs, p, context):
    x = inputs[0].reshape(-1, inputs[0].shape[-1])
    if not context.training:
        mean, variance = p["mean"], p["variance"]
        hat = x - mean
    else:
        mean = x.mean(axis=0)
        hat = x - mean
        variance = np.square(hat).mean(axis=0)
        rows = len(x)
        seen = variance * (rows / (rows - 1.0)) if node["unbiased"] and rows > 1 else variance
        keep = node["keep"]
        context.state[node["name"]] = {
            "mean": keep * p["mean"] + (1 - keep) * mean,
            "variance": keep * p["variance"] + (1 - keep) * seen,
        }
    scale = 1.0 / np.sqrt(variance + node["epsilon"])
    hat *= scale
    y = hat * p["gamma"]
    y += p["beta"]
    shape = inputs[0].shape
    return y.reshape(shape), (hat.reshape(shape), scale, p["gamma"], context.training)


def batchnorm_backward(node, cache, dy):
    hat, scale, gamma, training = cache
    rows, hat = (values.reshape(-1, values.shape[-1]) for values in (dy, hat))
    grads = {"gamma": (rows * hat).sum(axis=0), "beta": rows.sum(axis=0)}
    dx = rows
    if training:
        dx = rows - grads["beta"] / len(rows) - hat * (grads["gamma"] / len(rows))
    return [(dx * (gamma * scale)).reshape(dy.shape)], grads


def dense(node, inputs, p, context):
    x, kernel = inputs[0], p["kernel"]
    y = x.reshape(-1, len(kernel)) @ kernel
    if node["bias"]:
        y += p["bias"]
    return y.reshape(x.shape[:-1] + y.shape[1:]), (x, kernel)


def dense_backward(node, cache, dy):
    x, kernel = cache
    rows = dy.reshape(-1, dy.shape[-1])
    grads = {"kernel": x.reshape(-1, x.shape[-1]).T @ rows}
    if node["bias"]:
        grads["bias"] = rows.sum(axis=0)
    return [(rows @ kernel.T).reshape(x.shape)], grads


def embedding(node, inputs, p, context):
    return p["table"][inputs[0]], (inputs[0], p["table"].shape)


def embedding_backward(node, cache, dy):
    ids, shape = cache
    table = np.zeros(shape, dy.dtype)
    np.add.at(table, ids, dy)
    return [None], {"table": table}


def dropout(node, inputs, p, context):
    rate = node["rate"]
    if not context.training or rate == 0:
        return inputs[0], None
    keep = context.random.uniform(size=inputs[0].shape) >= rate
    mask = keep.astype(inputs[0].dtype) / (1 - rate)
    return inputs[0] * mask, mask


def dropout_backward(node, mask, dy):
    return [dy if mask is None else dy * mask], {}


def relu(node, inputs, p, context):
    x = inputs[0]
    return np.maximum(x, 0), x > (-context.lean * np.abs(x).max() if context.lean else 0)


def relu_backward(node, positive, dy):
    return [dy * positive], {}


def tanh(node, inputs, p, context):
    y = np.tanh(inputs[0])
    return y, y


def tanh_backward(node, y, dy):
    return [dy * (1 - y * y)], {}


def sigmoid(node, inputs, p, context):
    y = lstm.sigmoid(inputs[0])
    return y, y


def sigmoid_backward(node, y, dy):
    return [dy * y * (1 - y)], {}


def softmax(node, inputs, p, context):
    powers = np.exp(inputs[0] - inputs[0].max(axis=-1, keepdims=True))
    y = powers / powers.sum(axis=-1, keepdims=True)
    return y, y


def softmax_backward(node, y, dy):
    return [y * (dy - (y * dy).sum(axis=-1, keepdims=True))], {}


def flatten(node, inputs, p, context):
    return inputs[0].reshape(len(inputs[0]), -1), inputs[0].shape


def flatten_backward(node, shape, dy):
    return [dy.reshape(shape)], {}


def add(node, inputs, p, context):
    return sum(inputs[1:], inputs[0]), len(inputs)


def add_backward(node, count, dy):
    return [dy] * count, {}


def concat(node, inputs, p, context):
    return np.concatenate(inputs, axis=-1), np.cumsum([x.shape[-1] for x in inputs])[:-1]


def concat_backward(node, edges, dy):
    return np.split(dy, edges, axis=-1), {}


def affine(node, inputs, p, context):
    return inputs[0] * p["scale"] + p["offset"], p["scale"]


def affine_backward(node, scale, dy):
    return [dy * scale], {}


def proposals(node, inputs, p, context):
    """The boxes, and what else the node makes, in the order of `ops.EXTRAS`."""
    return host.call(node, inputs, context.training), None


def proposals_backward(node, cache, dy):
    raise AssertionError("no gradient goes into a host node")


def roialign(node, inputs, p, context):
    """Wy F Wx' of every region; the rows are the regions of the one image."""
    (image,), wy, wx = inputs
    height, width, channels = image.shape
    across = wy.reshape(-1, height) @ image.reshape(height, -1)
    across = across.reshape(wy.shape[:2] + (width, channels))
    return np.matmul(wx[:, None], across), (wy, wx, image.shape)


def roialign_backward(node, cache, dy):
    wy, wx, shape = cache
    across = np.matmul(wx.transpose(0, 2, 1)[:, None], dy)
    image = wy.reshape(-1, shape[0]).T @ across.reshape(-1, shape[1] * shape[2])
    return [image.reshape((1,) + shape), None, None], {}


OPERATIONS = {
    "conv2d": (conv2d, conv2d_backward),
    "maxpool": (maxpool, maxpool_backward),
    "avgpool": (avgpool, avgpool_backward),
    "globalmaxpool": (globalmaxpool, globalmaxpool_backward),
    "globalavgpool": (globalavgpool, globalavgpool_backward),
    "batchnorm": (batchnorm, batchnorm_backward),
    "dense": (dense, dense_backward),
    "embedding": (embedding, embedding_backward),
    "lstm": (lstm.forward, lstm.backward),
    "dropout": (dropout, dropout_backward),
    "relu": (relu, relu_backward),
    "tanh": (tanh, tanh_backward),
    "sigmoid": (sigmoid, sigmoid_backward),
    "softmax": (softmax, softmax_backward),
    "flatten": (flatten, flatten_backward),
    "add": (add, add_backward),
    "concat": (concat, concat_backward),
    "affine": (affine, affine_backward),
    "proposals": (proposals, proposals_backward),
    "roialign": (roialign, roialign_backward),
}
"""The forward and the backward pass of each op."""
