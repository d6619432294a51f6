"""A host node as an operation of Theano's own graph."""

import json

import theano
from theano import tensor as T

from bench import host
from bench.adapters.theano_lasagne import L


class HostOperation(theano.Op):
    """All that the node makes; no gradient passes through it.

    The node is part of `__props__`: two operations whose properties are equal are made one.
    """

    __props__ = ("text", "training")

    def __init__(self, node, training):
        self.text, self.training = json.dumps(node, sort_keys=True), training
        self._node = node

    def make_node(self, *inputs):
        kinds = [
            T.TensorType(str(kind.__name__), [False] * len(shape))()
            for shape, kind in host.shapes_of(self._node, 1, 1, self.training)
        ]
        return theano.Apply(self, [T.as_tensor_variable(x) for x in inputs], kinds)

    def perform(self, node, inputs, storage):
        # the arrays are Theano's now: it writes into them
        for cell, value in zip(storage, host.call(self._node, inputs, self.training)):
            cell[0] = value

    def connection_pattern(self, node):
        return [[False] * len(node.outputs) for _ in node.inputs]

    def grad(self, inputs, gradients):
        return [theano.gradient.DisconnectedType()() for _ in inputs]


class HostValue(L.MergeLayer):
    """One of the values that a host node makes, by its place; Theano makes one call of them all."""

    def __init__(self, incomings, node, place):
        super(HostValue, self).__init__(incomings)
        self._node, self._place = node, place

    def get_output_shape_for(self, input_shapes):
        shape = host.shapes_of(self._node, 1, 1, True)[self._place][0]
        return (None,) + shape[1:-1] + ((None,) if self._place in (1, 2) else shape[1:][-1:])

    def get_output_for(self, inputs, deterministic=False, **kwargs):
        return HostOperation(self._node, not deterministic)(*inputs)[self._place]
