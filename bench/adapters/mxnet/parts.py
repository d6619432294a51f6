"""A net in two parts, with a host node between them: each part is a block, traced as one.

MXNet has a custom operator for such a function, too; two blocks cost less, and the function stays
on the main thread.
"""

import mxnet as mx
from mxnet import autograd

from bench import host
from bench.adapters.mxnet.layers import Net
from bench.adapters.mxnet.training import Training
from bench.ops import around_host, extras_of, host_nodes, owner


class Parts(object):
    """What `Net` is for a graph without a host node; `second` may have the losses behind it."""

    def __init__(self, graph, layers, nodes, wanted):
        (node,) = host_nodes(graph)
        self._node, self._wanted = node, list(wanted)
        early, late, self._crossing = around_host(graph, nodes, wanted)
        self._first = Net(graph, layers, early, self._crossing)
        given = [{"name": name} for name in self._crossing + [node["name"]] + extras_of(node)]
        behind = {other["name"] for other in late}
        self.net = Net(
            dict(graph, inputs=graph["inputs"] + given),
            layers,
            late,
            [name for name in wanted if owner(name) in behind],
        )
        self._second = self.net
        self.inputs = [spec["name"] for spec in graph["inputs"]]

    def add_losses(self, recipe, shapes):
        self._second = Training(self.net, recipe, shapes)
        own = set(self._crossing) | {self._node["name"]} | set(extras_of(self._node))
        self.inputs += [n for n in self._second.inputs if n not in own and n not in self.inputs]

    def __call__(self, *arrays):
        known = dict(zip(self.inputs, arrays))
        crossing = self._first(*[known[name] for name in self._first.inputs])
        known.update(zip(self._crossing, crossing))
        read = [known[name].asnumpy() for name in self._node["inputs"]]
        read = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in read]
        made = host.call(self._node, read, autograd.is_training())
        context = arrays[0].context
        names = [self._node["name"]] + extras_of(self._node)
        known.update((n, mx.nd.array(v, context, v.dtype)) for n, v in zip(names, made))
        out = self._second(*[known[name] for name in self._second.inputs])
        if self._second is not self.net:
            return out  # the loss
        known.update(zip(self.net._wanted, out))
        return [known[name] for name in self._wanted]

    def hybridize(self, *active, **settings):
        for block in (self._first, self._second):
            block.hybridize(*active, **settings)

    def initialize(self, ctx):
        for block in (self._first, self.net):
            block.initialize(ctx=ctx)

    def save_parameters(self, path):
        for name, block in (("first", self._first), ("second", self.net)):
            block.save_parameters("{}.{}".format(path, name))


def with_losses(net, recipe, shapes):
    """The net with the recipe's losses behind it."""
    if isinstance(net, Net):
        return Training(net, recipe, shapes)
    net.add_losses(recipe, shapes)
    return net
