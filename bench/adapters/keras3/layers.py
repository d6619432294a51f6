"""The graph as Keras 3 layers: one function for each op."""

import functools
import math

from keras import layers, ops

from bench.adapters import keras_functional as functional
from bench.adapters import keras_regions as regions
from bench.adapters.keras_functional import BACKEND, layer_name, shape_of


class BatchNorm(layers.BatchNormalization):
    """Keras 3 keeps the biased variance: the factor n/(n-1) goes into what it has added.

    On PyTorch it takes the variance for E[x²] - E[x]², which loses digits where the mean is
    far from 0; here it is the mean of the squared distances, as everywhere else.
    """

    unbiased = False

    def _moments(self, inputs, mask):
        if mask is not None or BACKEND != "torch":
            return super()._moments(inputs, mask)
        axes = self._reduction_axes  # over which PyTorch's own variance takes four times as long
        mean = ops.mean(inputs, axis=axes)
        return mean, ops.mean(ops.square(inputs - ops.stop_gradient(mean)), axis=axes)

    def call(self, inputs, training=None, mask=None):
        if not training or not self.unbiased:
            return super().call(inputs, training=training, mask=mask)
        kept = self.moving_variance * self.momentum
        y = super().call(inputs, training=training, mask=mask)
        rows = math.prod(ops.shape(inputs)[:-1])
        if not isinstance(rows, int):  # the batch is left open
            rows = ops.cast(rows, "float32")
        added = self.moving_variance - kept
        self.moving_variance.assign(kept + added * (rows / (rows - 1)))
        return y


class OneFilter(layers.Conv2D):
    """On PyTorch, as it is laid out by Keras, one filter has no gradient in a batch of one row.

    PyTorch's own code for such a batch takes it for one of channels last, and fails.
    """

    def convolution_op(self, inputs, kernel):
        kernel = ops.convert_to_tensor(kernel).permute(3, 2, 0, 1).contiguous()
        return super().convolution_op(inputs, kernel.permute(2, 3, 1, 0))


def _conv2d(net, node, inputs, values):
    needs_help = not net.native and BACKEND == "torch" and node["filters"] == 1
    kind = OneFilter if needs_help else layers.Conv2D
    if not net.native and _corrupts_memory(node):
        x = inputs[0]
        if any(node["padding"][0] + node["padding"][1]):
            padding = tuple(tuple(pad) for pad in node["padding"])
            x = layers.ZeroPadding2D(padding, name="padded_" + node["name"])(x)
        down, right = node["stride"]
        read = layers.Lambda(lambda x: x[:, ::down, ::right], name="pixels_" + node["name"])(x)
        node = dict(node, stride=[1, 1], padding=[[0, 0], [0, 0]])
        return functional.conv2d(net, node, [read], values, kind)
    if not net.native and _meets_fault_of_onednn(node, inputs[0]):
        y = functional.conv2d(net, dict(node, stride=[1, 1]), inputs, values, kind)
        right = node["stride"][1]
        return layers.Lambda(lambda y: y[:, :, ::right], name="column_" + node["name"])(y)
    return functional.conv2d(net, node, inputs, values, kind)


def _corrupts_memory(node):
    """Whether TensorFlow 2.21's kernel gradient writes outside its memory.

    That of a 1x1 convolution with a stride does, with fewer than 16 channels and after batches of
    two sizes. It is given only the pixels that it reads.
    """
    few = node["parameters"]["kernel"]["shape"][2] < 16
    return BACKEND == "tensorflow" and few and node["kernel"] == [1, 1] and node["stride"] != [1, 1]


def _meets_fault_of_onednn(node, x):
    """Whether a convolution gives other numbers on a CPU.

    oneDNN, in PyTorch 2.13 and TensorFlow 2.21, does when an image of one channel gives one column
    by a stride of [1, 2 or more]. The column is then taken from those of the stride [1, 1]; images
    of several sizes may give one column in any of them.
    """
    down, right = node["stride"]
    one_column = (node["shape"][1] == 1 or shape_of(x)[2] is None) and down == 1 < right
    return BACKEND != "jax" and one_column and shape_of(x)[-1] == 1


def _batchnorm(net, node, inputs, values):
    if net.native:
        layer = layers.BatchNormalization(name=layer_name(node))
    else:
        layer = BatchNorm(momentum=node["keep"], epsilon=node["epsilon"], name=layer_name(node))
        layer.unbiased = node["unbiased"]
    return net.keep(node, layer)(inputs[0])


def _maxpool(net, node, inputs, values):
    return functional.maxpool(net, node, inputs, values, _padded_low)


def _padded_low(node, x):
    padding = [[0, 0]] + [list(pad) for pad in node["padding"]] + [[0, 0]]
    return ops.pad(x, padding, constant_values=-float("inf"))


def _activation(net, node, inputs, values):
    """An operation, not a layer of its own: eager, on PyTorch, a layer costs more than it does."""
    return getattr(ops, node["op"])(inputs[0])


def _add(net, node, inputs, values):
    return functools.reduce(ops.add, inputs)


OPERATIONS = {
    "conv2d": _conv2d,
    "maxpool": _maxpool,
    "avgpool": functional.avgpool,
    "globalmaxpool": functional.globalmaxpool,
    "globalavgpool": functional.globalavgpool,
    "batchnorm": _batchnorm,
    "dense": functional.dense,
    "embedding": functional.embedding,
    "lstm": functional.lstm,
    "dropout": functional.dropout,
    "relu": _activation,
    "tanh": _activation,
    "sigmoid": _activation,
    "softmax": _activation,
    "flatten": functional.flatten,
    "add": _add,
    "concat": functional.concat,
    "affine": functional.affine,
    "proposals": regions.proposals,
    "roialign": regions.roialign,
}
