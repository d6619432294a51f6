"""A host node as layers of Lasagne."""

from bench import host
from bench.adapters.theano_lasagne import L
from bench.adapters.theano_regions import HostOperation


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
