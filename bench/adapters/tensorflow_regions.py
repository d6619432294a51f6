"""Regions of an image in both generations of TensorFlow: a host node, and what follows it."""

import functools

import tensorflow as tf

from bench import host
from bench.adapters import fused
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
    if "regions" in node:
        return _fused_roi_align(node, *inputs)
    image, wy, wx = inputs
    height, width = tf.shape(image)[1], tf.shape(image)[2]
    pool, _, channels = node["shape"]
    image = tf.reshape(tf.transpose(image[0], [0, 2, 1]), [height, channels * width])
    across = tf.matmul(tf.reshape(wy, [-1, height]), image)
    across = tf.reshape(across, [-1, pool * channels, width])
    cells = tf.reshape(tf.matmul(across, wx, transpose_b=True), [-1, pool, channels, pool])
    return tf.transpose(cells, [0, 1, 3, 2])


OPERATOR = "crop_and_resize of the image with its edge repeated, then avg_pool"
"""What `_fused_roi_align` does, for a trial's `path`."""


def _fused_roi_align(node, image, rois):
    """TensorFlow's operator for samples at equal distances, and the mean of each cell's.

    It gives 0 for every sample beyond the centre of the outermost pixel. With the edge repeated
    that centre lies one pixel further out, as it should.
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
