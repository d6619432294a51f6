"""The graph as tf.layers: one function for each op, and where each layer keeps its weights."""

import collections

import numpy as np
import tensorflow as tf

from bench.adapters import fused
from bench.adapters import tensorflow_nn as nn
from bench.adapters import tensorflow_regions as regions
from bench.ops import open_shapes


class Net:
    """The graph's layers by node, laid out in the graph's order."""

    def __init__(self, graph, native):
        self._native = native
        shapes = open_shapes(graph)
        self.layers = {
            node["name"]: LAYERS[node["op"]](node, shapes[node["inputs"][0]], native)
            for node in graph["nodes"]
            if node["op"] in LAYERS
        }

    def lay_out(self, known, nodes, training):
        """Every value by name: those that are known, and those of the nodes."""
        values = dict(known)
        context = nn.Context(values, training, self._native)
        for node in nodes:
            read = [values[source] for source in node["inputs"]]
            layer = self.layers.get(node["name"])
            values[node["name"]] = OPERATIONS[node["op"]](layer, node, read, context)
        return values


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _conv2d_layer(node, source, native):
    return tf.layers.Conv2D(
        node["filters"],
        node["kernel"],
        strides=node["stride"],
        padding=nn.padding_word(node, source) or "valid",
        use_bias=node["bias"],
        name=node["name"],
    )


def _batchnorm_layer(node, source, native):
    if native:
        return tf.layers.BatchNormalization(name=node["name"])
    # the fused kernel keeps the unbiased running variance, the plain formula the biased one
    return tf.layers.BatchNormalization(
        momentum=node["keep"], epsilon=node["epsilon"], fused=_is_fused(node), name=node["name"]
    )


def _is_fused(node):
    return node["unbiased"] and node["epsilon"] >= 1.001e-5  # else it takes 1.001e-5 instead


def _dense_layer(node, source, native):
    return tf.layers.Dense(node["units"], use_bias=node["bias"], name=node["name"])


def _embedding_layer(node, source, native):
    return tf.get_variable(node["name"] + "/table", [node["vocabulary"], node["units"]])


def _lstm_layer(node, source, native):
    from tensorflow.contrib.rnn import LSTMBlockFusedCell  # contrib is slow to import

    return LSTMBlockFusedCell(node["units"], forget_bias=forget_bias(native), name=node["name"])


def forget_bias(native):
    """What the cell adds to the forget gate while it runs: in the graph, the bias has it."""
    return 1.0 if native else 0.0


Affine = collections.namedtuple("Affine", "scale offset")
"""A factor and an offset a channel that never learn."""


def _affine_layer(node, source, native):
    values = np.ones(node["shape"][-1], np.float32), np.zeros(node["shape"][-1], np.float32)
    names = ("{}/{}".format(node["name"], name) for name in Affine._fields)
    constants = zip(names, values)
    return Affine(*(tf.get_variable(n, initializer=v, trainable=False) for n, v in constants))


LAYERS = {
    "affine": _affine_layer,
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": _dense_layer,
    "embedding": _embedding_layer,
    "lstm": _lstm_layer,
    "dropout": lambda node, source, native: tf.layers.Dropout(node["rate"], name=node["name"]),
}


# ---- operations ---------------------------------------------------------------------------------


def _conv2d(layer, node, inputs, context):
    x = inputs[0]
    by_layer = layer.padding == "same" or not any(node["padding"][0] + node["padding"][1])
    return layer(x if by_layer else nn.padded(node, x))


def _batchnorm(layer, node, inputs, context):
    x, shape = inputs[0], node["shape"]
    if not context.native and _is_fused(node) and len(shape) < 3:
        # the fused kernel takes images only: every row is an image of one pixel
        image = tf.reshape(x, [-1, 1, 1, shape[-1]])
        return tf.reshape(layer(image, training=context.training), [-1] + shape)
    y = layer(x, training=context.training)
    if context.training and not context.native and node["unbiased"] and not _is_fused(node):
        _keep_unbiased_variance(layer, node, x)
    return y


def _keep_unbiased_variance(layer, node, x):
    """Put this update in the place of the layer's own, the last that it has registered."""
    updates, old = tf.get_collection_ref(tf.GraphKeys.UPDATE_OPS), layer.moving_variance
    _, variance = tf.nn.moments(x, list(range(len(node["shape"]))))
    rows = tf.cast(tf.size(x) / node["shape"][-1], tf.float32)
    new = variance * (rows / (rows - 1))
    updates[-1] = tf.assign(old, node["keep"] * old + (1 - node["keep"]) * new)


def _lstm(layer, node, inputs, context):
    values, name = context.values, node["name"]
    initial = None
    if node["initial"]:
        h, c = (values[source] for source in node["initial"])
        initial = (c, h)
    sequence, (c, h) = layer(
        tf.transpose(inputs[0], [1, 0, 2]),
        initial_state=initial,
        dtype=tf.float32,
        sequence_length=values[node["lengths"]] if node["lengths"] else None,
    )
    values[name + ":h"], values[name + ":c"] = h, c
    return h if node["output"] == "last" else tf.transpose(sequence, [1, 0, 2])


def _roi_align(layer, node, inputs, context):
    if "regions" in node:
        return _fused_roi_align(node, *inputs)
    return regions.roi_align(layer, node, inputs, context)


def _fused_roi_align(node, image, rois):
    """TensorFlow's operator for samples at equal distances, and the mean of each cell's.

    It gives 0 for every sample beyond the centre of the outermost pixel. With the edge repeated
    that centre lies one pixel further out, as it should. In TensorFlow 2 threads that add up the
    operator's gradient overwrite each other's sums (docs/detector.md).
    """
    pool, stride, samples = node["shape"][0], node["regions"]["stride"], node["regions"]["samples"]
    image = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC")
    last = tf.cast(tf.shape(image)[1:3] - 1, tf.float32)
    edges = tf.split(rois, 4, axis=1)
    empty = tf.cast(edges[2] <= edges[0], tf.float32)
    edges = tf.concat(fused.moved(edges, empty, stride), 1)
    # a pixel's centre is at its number: half a pixel less, one more for the repeated edge
    start, end = edges[:, :2] / stride + 0.5, edges[:, 2:] / stride + 0.5
    half = (end - start) / (2 * pool * samples)  # from a region's edge to its first sample
    ends = tf.concat([(start + half) / last, (end - half) / last], 1)
    first = tf.zeros_like(ends[:, 0], tf.int32)  # all regions are of the one image
    taken = tf.image.crop_and_resize(image, ends, first, [pool * samples] * 2)
    window = [1, samples, samples, 1]
    return tf.nn.avg_pool(taken, window, window, "VALID")


OPERATIONS = {
    "conv2d": _conv2d,
    "maxpool": nn.max_pool,
    "avgpool": nn.average_pool,
    "globalmaxpool": nn.global_max_pool,
    "globalavgpool": nn.global_average_pool,
    "batchnorm": _batchnorm,
    "dense": lambda layer, node, inputs, context: layer(inputs[0]),
    "embedding": lambda layer, node, inputs, context: tf.nn.embedding_lookup(layer, inputs[0]),
    "lstm": _lstm,
    "dropout": lambda layer, node, inputs, context: layer(inputs[0], training=context.training),
    "relu": nn.relu,
    "tanh": nn.tanh,
    "sigmoid": nn.sigmoid,
    "softmax": nn.softmax,
    "flatten": nn.flatten,
    "add": nn.add,
    "concat": nn.concat,
    "affine": regions.affine,
    "proposals": regions.proposals,
    "roialign": _roi_align,
}


# ---- weights ------------------------------------------------------------------------------------


def variables_of(node, layer):
    """{canonical parameter: variable}; the LSTM's two kernels are one variable, `kernels`."""
    if node["op"] == "embedding":
        return {"table": layer}
    if node["op"] == "lstm":
        kernels, bias = layer.variables
        return {"kernels": kernels, "bias": bias}
    return nn.variables_of(node, layer)


def _swap_gates(value):
    """Gates i,f,g,o to i,g,f,o, and back: it is its own inverse."""
    i, f, g, o = np.split(value, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def to_tensorflow(node, parameters, forget):
    """Values by variable from canonical ones."""
    if node["op"] != "lstm":
        return parameters
    kernels = np.concatenate([parameters["input_kernel"], parameters["recurrent_kernel"]])
    bias = parameters["bias"].copy()
    bias[node["units"] : 2 * node["units"]] -= forget
    return {"kernels": _swap_gates(kernels), "bias": _swap_gates(bias)}


def from_tensorflow(node, values, forget=0.0):
    """Canonical values from those by variable."""
    if node["op"] != "lstm":
        return values
    kernels, bias = _swap_gates(values["kernels"]), _swap_gates(values["bias"])
    bias[node["units"] : 2 * node["units"]] += forget
    features = len(kernels) - node["units"]
    return {
        "input_kernel": kernels[:features],
        "recurrent_kernel": kernels[features:],
        "bias": bias,
    }
