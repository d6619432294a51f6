"""Regions of an image in Theano, for itself and for Keras on it: a host node and RoI align."""

import json

import theano
from theano import tensor as T

from bench import host


class HostOperation(theano.Op):
    """All that the node makes, as an operation of Theano's graph; no gradient passes through it.

    Whether it trains is said at once, or, with None, by one more input. The node is part of
    `__props__`: two operations whose properties are equal are made one.
    """

    __props__ = ("text", "training")

    def __init__(self, node, training=None):
        self.text, self.training = json.dumps(node, sort_keys=True), training
        self._node = node

    def make_node(self, *inputs):
        kinds = [
            T.TensorType(str(kind.__name__), [False] * len(shape))()
            for shape, kind in host.shapes_of(self._node, 1, 1, True)
        ]
        return theano.Apply(self, [T.as_tensor_variable(x) for x in inputs], kinds)

    def perform(self, node, inputs, storage):
        training = self.training
        if training is None:
            *inputs, training = inputs
        # the arrays are Theano's now: it writes into them
        for cell, value in zip(storage, host.call(self._node, inputs, bool(training))):
            cell[0] = value

    def connection_pattern(self, node):
        return [[False] * len(node.outputs) for _ in node.inputs]

    def grad(self, inputs, gradients):
        return [theano.gradient.DisconnectedType()() for _ in inputs]


def roi_align(node, image, wy, wx):
    """[R, P, C, P] of an image [H, C, W]: two products for all regions, rows, then columns."""
    pool, _, channels = node["shape"]
    height, width, rows = image.shape[0], image.shape[2], wy.shape[0]
    across = T.dot(wy.reshape((-1, height)), image.reshape((height, channels * width)))
    across = across.reshape((rows, pool * channels, width))
    cells = T.batched_dot(across, wx.dimshuffle(0, 2, 1))
    return cells.reshape((rows, pool, channels, pool))
