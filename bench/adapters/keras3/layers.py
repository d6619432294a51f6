"""The graph as Keras 3 layers: one function for each op."""

from keras import layers, ops

from bench.adapters import keras_functional as functional
from bench.adapters.keras_functional import BACKEND, layer_name, shape_of


class BatchNorm(layers.BatchNormalization):
    """Keras 3 keeps the biased variance: the factor n/(n-1) goes into what it has added."""

    unbiased = False

    def call(self, inputs, training=None, mask=None):
        kept = self.moving_variance * self.momentum
        y = super().call(inputs, training=training, mask=mask)
        if training and self.unbiased:
            rows = ops.cast(ops.prod(ops.shape(inputs)[:-1]), "float32")
            added = self.moving_variance - kept
            self.moving_variance.assign(kept + added * (rows / (rows - 1)))
        return y


def _conv2d(net, node, inputs, values):
    (down, right), (_, width, channels) = node["stride"], shape_of(inputs[0])[1:]
    extra = width + sum(node["padding"][1]) - node["kernel"][1]
    if (
        BACKEND == "torch"
        and not net.native
        and channels == 1
        and down == 1 < right
        and extra < right
    ):
        # PyTorch 2.13 reads what is not the image's when one channel, whose strides are those of
        # both layouts, gives one column by a stride: taken from all columns
        every = dict(node, stride=[down, 1])
        y = functional.conv2d(net, every, inputs, values)
        return layers.Cropping2D(((0, 0), (0, extra)), name="column_" + node["name"])(y)
    return functional.conv2d(net, node, inputs, values)


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
    "relu": functional.activation,
    "tanh": functional.activation,
    "sigmoid": functional.activation,
    "flatten": functional.flatten,
    "add": functional.add,
    "concat": functional.concat,
}
