"""Regions of an image in both generations of TensorFlow: a host node, and what follows it."""

import functools

import tensorflow as tf

from bench import host
from bench.ops import extras_of, sizes_of


def call_on_host(node, inputs, training):
    """What the host node makes, in the order of `ops.EXTRAS` behind its own value.

    TensorFlow knows nothing of what such a function returns, not even how many axes: it is told.
    """
    rows, columns = inputs[0].shape[1:3]
    known = host.shapes_of(node, 1, 1, training)
    function = functools.partial(_call, node, training)
    call = getattr(tf, "numpy_function", None) or tf.py_func
    made = call(function, [tf.stop_gradient(x) for x in inputs], [kind for _, kind in known])
    last = {1: rows, 2: columns}  # wy and wx end in the map's own size
    for place, (value, (shape, _)) in enumerate(zip(made, known)):
        value.set_shape(shape[:-1] + (last[place],) if place in last else shape)
    return made


def _call(node, training, *arrays):
    return host.call(node, arrays, training)


def proposals(layer, node, inputs, context):
    made = call_on_host(node, inputs, context.training)
    context.values.update(zip(extras_of(node), made[1:]))
    return made[0]


def roi_align(layer, node, inputs, context):
    """Two products for all regions together: rows first, then columns."""
    image, wy, wx = inputs
    height, width = tf.shape(image)[1], tf.shape(image)[2]
    pool, _, channels = node["shape"]
    image = tf.reshape(tf.transpose(image[0], [0, 2, 1]), [height, channels * width])
    across = tf.matmul(tf.reshape(wy, [-1, height]), image)
    across = tf.reshape(across, [-1, pool * channels, width])
    cells = tf.reshape(tf.matmul(across, wx, transpose_b=True), [-1, pool, channels, pool])
    return tf.transpose(cells, [0, 1, 3, 2])


def affine(layer, node, inputs, context):
    return inputs[0] * layer.scale + layer.offset


def open_shape(graph, name, shape):
    """The shape of a batch's array with the batch left open, and an image's size if it varies.

    What is no input, a target or a mask of a map, may vary, too.
    """
    shape, inputs = list(shape), [spec["name"] for spec in graph["inputs"]]
    if sizes_of(graph) and (len(shape) == 4 or (len(shape) == 3 and name not in inputs)):
        shape[1:3] = [None, None]
    return [None] + shape[1:]
