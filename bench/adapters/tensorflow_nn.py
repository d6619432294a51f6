"""What both generations of TensorFlow share: operations without weights, losses, sparse gradients.

An operation is a function of the node's layer (None where it has none), the node, the values of
its inputs, and a `Context`. Images are NHWC, as in the graph.
"""

import collections
import math

import tensorflow as tf

from bench.adapters.base import given, weighted_sum
from bench.ops import host_nodes

Context = collections.namedtuple("Context", "values training native")
"""What a node may need besides its inputs: all values so far by name, and the two modes."""


# ---- padding ------------------------------------------------------------------------------------


def padding_word(node, source):
    """ "valid" or "same" where TensorFlow's word means just the graph's padding; else None.

    `source` is the shape of the image that is padded, without the batch; None where it varies.
    """
    if not any(node["padding"][0] + node["padding"][1]):
        return "valid"
    window = node.get("kernel") or node["size"]
    lengths = [getattr(length, "value", length) for length in list(source)[:2]]
    if None in lengths and node["stride"] != [1, 1]:
        return None  # images of several sizes
    same = [
        _same_padding(length or size, size, stride)
        for length, size, stride in zip(lengths, window, node["stride"])
    ]
    return "same" if same == [list(padding) for padding in node["padding"]] else None


def _same_padding(length, size, stride):
    total = max((math.ceil(length / stride) - 1) * stride + size - length, 0)
    return [total // 2, total - total // 2]


def padded(node, x, value=0.0):
    """Padded by hand, for what no word means."""
    return tf.pad(x, [[0, 0]] + list(node["padding"]) + [[0, 0]], constant_values=value)


# ---- operations without weights -----------------------------------------------------------------


def max_pool(layer, node, inputs, context):
    x = inputs[0]
    word = padding_word(node, x.shape[1:3])
    return _pool(tf.nn.max_pool, node, x if word else padded(node, x, -math.inf), word)


def average_pool(layer, node, inputs, context):
    x = inputs[0]
    word = padding_word(node, x.shape[1:3])
    if word:  # TensorFlow's "same" does not count the padding either
        return _pool(tf.nn.avg_pool, node, x, word)
    inside = padded(node, tf.ones_like(x[:1, :, :, :1]))
    pooled = _pool(tf.nn.avg_pool, node, padded(node, x))
    return pooled / _pool(tf.nn.avg_pool, node, inside)


def _pool(function, node, x, word=None):
    size, stride = [1] + node["size"] + [1], [1] + node["stride"] + [1]
    return function(x, size, stride, (word or "valid").upper())


def global_max_pool(layer, node, inputs, context):
    return tf.reduce_max(inputs[0], [1, 2])


def global_average_pool(layer, node, inputs, context):
    return tf.reduce_mean(inputs[0], [1, 2])


def relu(layer, node, inputs, context):
    return tf.nn.relu(inputs[0])


def tanh(layer, node, inputs, context):
    return tf.nn.tanh(inputs[0])


def sigmoid(layer, node, inputs, context):
    return tf.nn.sigmoid(inputs[0])


def softmax(layer, node, inputs, context):
    return tf.nn.softmax(inputs[0])


def flatten(layer, node, inputs, context):
    return tf.reshape(inputs[0], [-1, node["shape"][0]])


def add(layer, node, inputs, context):
    return tf.add_n(inputs)


def concat(layer, node, inputs, context):
    return tf.concat(inputs, -1)


# ---- weights ------------------------------------------------------------------------------------


def variables_of(node, layer):
    """{canonical parameter: variable} of the layers that are alike in both generations."""
    if node["op"] == "affine":
        return {"scale": layer.scale, "offset": layer.offset}
    if node["op"] == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.moving_mean,
            "variance": layer.moving_variance,
        }
    variables = {"kernel": layer.kernel}
    if node["bias"]:
        variables["bias"] = layer.bias
    return variables


# ---- losses and gradients -----------------------------------------------------------------------


def total_loss(recipe, values, batch):
    """The recipe's losses, weighted and added."""
    return weighted_sum(
        (spec["weight"], _loss_of(spec, values, batch)) for spec in recipe["losses"]
    )


def _loss_of(spec, values, batch):
    """One loss of the recipe: the mean over the batch, or over the places that count."""
    target = given(spec["target"], values, batch)
    places = _PER_PLACE[spec["name"]](values[spec["output"]], target)
    if spec["mask"] is None:
        return tf.reduce_mean(places)
    mask = tf.cast(given(spec["mask"], values, batch), places.dtype)
    return tf.reduce_sum(places * mask) / (
        spec.get("divisor") or tf.maximum(tf.reduce_sum(mask), 1)
    )


def _softmax_cross_entropy(output, target):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)


def _sigmoid_cross_entropy(output, target):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)


def smooth_l1(output, target):
    error = output - target
    slope = tf.clip_by_value(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "smooth-l1": smooth_l1,
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": lambda output, target: tf.square(output - target),
    "mean-absolute-error": lambda output, target: tf.abs(output - target),
}


def needs_dense_gradients(recipe, native):
    """Whether sparse gradients of a table must be made dense.

    They would leave the momentum or the moments of the table's other rows alone.
    """
    o = recipe["optimizer"]
    return not native and (o["name"] != "sgd" or o["momentum"] > 0)


def dense_gradient(gradient, variable):
    """The gradient of a table as a tensor: all rows, most of them zero."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, variable.shape[0])


# ---- for the record -----------------------------------------------------------------------------


def choices(graph, recipe, layers, settings, native):
    """The optimiser's settings, and what was helped or left to TensorFlow."""
    ops = {node["op"] for node in graph["nodes"]}
    if host_nodes(graph):
        settings = dict(settings, host_node="a NumPy function inside the graph")
    plain = {k: v for k, v in sorted(settings.items()) if isinstance(v, (bool, int, float, str))}
    if native:
        norms = [layers[node["name"]] for node in graph["nodes"] if node["op"] == "batchnorm"]
        return {
            "optimizer": plain,
            "initial": "kernels glorot-uniform, biases zero",
            "batchnorm": ["keep {:g}, epsilon {:g}".format(n.momentum, n.epsilon) for n in norms],
        }
    helped = []
    o = recipe["optimizer"]
    if o["name"] == "adam" and not o.get("hat_epsilon"):
        helped.append("Adam's epsilon outside the bias correction")
    if "embedding" in ops:
        helped.append("gradients of tables made dense")
    if "batchnorm" in ops:
        helped.append("batch-norm's running variance as the graph says")
    return {"optimizer": plain, "helped": helped}
