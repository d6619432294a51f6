"""The graph as nn layers: one function for each op, and where each layer keeps its weights."""

import paddle
from paddle import nn
from paddle.nn import functional as F

from bench import host
from bench.adapters.base import steps_of
from bench.ops import extras_of, shapes_of, sources
from bench.weights import is_frozen


class Net(nn.Layer):
    """The graph as a layer: its layers by node, run in the graph's order."""

    def __init__(self, graph, layout, native, purposes):
        """`purposes` are {name: (nodes to run, values to keep)}: each is a static program."""
        super(Net, self).__init__()
        self.layout, self._purposes = layout, purposes
        self._steps = {name: steps_of(*purpose) for name, purpose in purposes.items()}
        self._layers = nn.LayerDict()
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            if node["op"] in LAYERS:
                source = shapes[node["inputs"][0]]
                layer = LAYERS[node["op"]](node, source[-1] if source else 0, native)
                self._layers[_key(node)] = layer
                for parameter in layer.parameters() if is_frozen(node) else ():
                    parameter.stop_gradient = True

    def layer(self, node):
        return self._layers[_key(node)]

    def forward(self, inputs, purpose):
        """The values by name that this purpose keeps; all others are let go on the way."""
        return self._run(inputs, purpose)

    @paddle.jit.not_to_static  # its conditions are all about the graph: nothing to translate
    def _run(self, inputs, purpose):
        nodes, kept = self._purposes[purpose]
        values = dict(inputs)
        for node, spent in self._steps[purpose]:
            read = [values[source] for source in node["inputs"]]
            values[node["name"]] = OPERATIONS[node["op"]](self, node, read, values)
            for name in spent:
                values.pop(name, None)
        outputs = {name: values[name] for name in sorted(kept)}
        if not paddle.in_dynamic_mode():
            # the in-place pass of 3.3.1 does not count an output as a reader: x + x, or relu of
            # x.flatten(1), is written over an x that is an output too; a copy counts
            read = {source for node in nodes for source in sources(node)}
            for name in sorted(kept & read):
                outputs[name] = paddle.assign(outputs[name])
        return outputs


def _key(node):
    """A name that no attribute of a layer has, whatever the node is called."""
    return "node_" + node["name"]


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _conv2d_layer(node, features, native):
    size, stride, bias = node["kernel"], node["stride"], _bias(node)
    return nn.Conv2D(features, node["filters"], size, stride, _padding(node), bias_attr=bias)


def _bias(node):
    return None if node["bias"] else False


def _padding(node):
    """[top, bottom, left, right]: Paddle's layers take uneven padding as it is."""
    return node["padding"][0] + node["padding"][1]


def _batchnorm_layer(node, features, native):
    explicit = {} if native else {"momentum": node["keep"], "epsilon": node["epsilon"]}
    if len(node["shape"]) == 3:
        return nn.BatchNorm2D(features, **explicit)
    return nn.BatchNorm1D(features, data_format="NLC", **explicit)


def _lstm_layer(node, features, native):
    if native:
        return nn.LSTM(features, node["units"])
    # two biases would learn twice as fast as the one of the graph, so the second stays at
    # zero; without it Paddle would loop in Python, and if frozen the kernel's gradient fails
    zero = paddle.ParamAttr(initializer=nn.initializer.Constant(0.0))
    return nn.LSTM(features, node["units"], bias_hh_attr=zero)


class Affine(nn.Layer):
    """A factor and an offset a channel that never learn."""

    def __init__(self, features, axes):
        super(Affine, self).__init__()
        self.register_buffer("scale", paddle.ones([features]))
        self.register_buffer("offset", paddle.zeros([features]))
        self._shape = [-1, 1, 1] if axes == 3 else [-1]

    def forward(self, x):
        return x * self.scale.reshape(self._shape) + self.offset.reshape(self._shape)


LAYERS = {
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": lambda node, features, native: nn.Linear(
        features, node["units"], bias_attr=_bias(node)
    ),
    "embedding": lambda node, features, native: nn.Embedding(node["vocabulary"], node["units"]),
    "lstm": _lstm_layer,
    "affine": lambda node, features, native: Affine(features, len(node["shape"])),
    "dropout": lambda node, features, native: nn.Dropout(node["rate"]),
}


# ---- operations ---------------------------------------------------------------------------------


def _apply_layer(net, node, inputs, values):
    return net.layer(node)(inputs[0])


def _maxpool(net, node, inputs, values):
    return F.max_pool2d(inputs[0], node["size"], node["stride"], _padding(node))


def _avgpool(net, node, inputs, values):
    return F.avg_pool2d(inputs[0], node["size"], node["stride"], _padding(node))


def _globalmaxpool(net, node, inputs, values):
    # max() would share a tie's gradient; that of adaptive_max_pool2d writes outside its memory
    return F.max_pool2d(inputs[0], inputs[0].shape[2:]).flatten(1)


def _globalavgpool(net, node, inputs, values):
    return F.adaptive_avg_pool2d(inputs[0], 1).flatten(1)


def _embedding(net, node, inputs, values):
    y = net.layer(node)(inputs[0])
    return y.transpose([0, 3, 1, 2]) if y.ndim == 4 else y  # a board becomes an image


def _lstm(net, node, inputs, values):
    name, initial = node["name"], None
    if node["initial"]:
        initial = tuple(values[source].unsqueeze(0) for source in node["initial"])
    lengths = values[node["lengths"]] if node["lengths"] else None
    # with lengths it ends at the true last step, and gives zeros behind it
    sequence, (h, c) = net.layer(node)(inputs[0], initial, lengths)
    values[name + ":h"], values[name + ":c"] = h[0], c[0]
    return h[0] if node["output"] == "last" else sequence


def _proposals(net, node, inputs, values):
    arrays = [x.numpy() for x in inputs]
    read = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in arrays]
    made = [paddle.to_tensor(value) for value in host.call(node, read, net.training)]
    values.update(zip(extras_of(node), made[1:]))
    return made[0]


def _roialign(net, node, inputs, values):
    """Two products for all regions together: rows first, then columns."""
    image, wy, wx = inputs
    _, channels, height, width = image.shape
    rows, pool = wy.shape[:2]
    across = wy.reshape([-1, height]).mm(image[0].transpose([1, 0, 2]).reshape([height, -1]))
    cells = across.reshape([rows, pool * channels, width]).bmm(wx.transpose([0, 2, 1]))
    return cells.reshape([rows, pool, channels, pool]).transpose([0, 2, 1, 3])


def _flatten(net, node, inputs, values):
    x = inputs[0]
    if x.ndim == 4 and not net.layout.keeps_order(node["name"]):
        x = x.transpose([0, 2, 3, 1])
    return x.flatten(1)


def _softmax(net, node, inputs, values):
    return F.softmax(inputs[0], axis=1 if inputs[0].ndim == 4 else -1)


def _concat(net, node, inputs, values):
    return paddle.concat(inputs, axis=1 if inputs[0].ndim == 4 else -1)


OPERATIONS = {
    "conv2d": _apply_layer,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": _globalmaxpool,
    "globalavgpool": _globalavgpool,
    "batchnorm": _apply_layer,
    "dense": _apply_layer,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": _apply_layer,
    "relu": lambda net, node, inputs, values: F.relu(inputs[0]),
    "tanh": lambda net, node, inputs, values: F.tanh(inputs[0]),
    "sigmoid": lambda net, node, inputs, values: F.sigmoid(inputs[0]),
    "softmax": _softmax,
    "flatten": _flatten,
    "add": lambda net, node, inputs, values: sum(inputs[1:], inputs[0]),
    "concat": _concat,
    "affine": _apply_layer,
    "proposals": _proposals,
    "roialign": _roialign,
}


# ---- weights ------------------------------------------------------------------------------------


def tensors_of(node, layer):
    """{canonical parameter: tensor}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        tensors = {"kernel": layer.weight}
        if node["bias"]:
            tensors["bias"] = layer.bias
        return tensors
    if op == "batchnorm":
        return {
            "gamma": layer.weight,
            "beta": layer.bias,
            "mean": layer._mean,
            "variance": layer._variance,
        }
    if op == "embedding":
        return {"table": layer.weight}
    if op == "affine":
        return {"scale": layer.scale, "offset": layer.offset}
    return {
        "input_kernel": layer.weight_ih_l0,
        "recurrent_kernel": layer.weight_hh_l0,
        "bias": layer.bias_ih_l0,
    }


def parameter_in(layout, node, name, value):
    """A canonical parameter as Paddle keeps it: as others do, but dense kernels are [in, out]."""
    value = layout.parameter_in(node, name, value)
    return value.T if node["op"] == "dense" and name == "kernel" else value


def parameter_out(layout, node, name, value):
    """The canonical form of a parameter, or of its gradient: a copy."""
    value = value.T if node["op"] == "dense" and name == "kernel" else value
    return layout.parameter_out(node, name, value)
