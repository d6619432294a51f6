"""The graph as Lasagne layers: one function for each op, and where each layer keeps its weights."""

from bench.adapters import theano_lasagne as own
from bench.adapters import theano_maximum
from bench.adapters.channels_first import kernel_in, kernel_out, symmetric
from bench.adapters.theano.host_layer import HostValue
from bench.adapters.theano_lasagne import L, T, lasagne
from bench.adapters.theano_regions import roi_align
from bench.ops import extras_of, open_shapes, states_read
from bench.weights import is_frozen


class Net:
    """The graph as Lasagne layers, by value; `NAME:h` and `NAME:c` are an LSTM's final states."""

    def __init__(self, graph, layout, native):
        self.layout, self.native = layout, native
        self.states_read = states_read(graph)
        shapes = open_shapes(graph)
        self.inputs = {
            spec["name"]: T.TensorType(spec["dtype"], [False] * (len(spec["shape"]) + 1))(
                spec["name"]
            )
            for spec in graph["inputs"]
        }
        self.values = {
            spec["name"]: L.InputLayer(
                _batch_shape(shapes[spec["name"]]), self.inputs[spec["name"]]
            )
            for spec in graph["inputs"]
        }
        self._layers = {}
        for node in graph["nodes"]:
            node = dict(node, shape=shapes[node["name"]])
            inputs = [self.values[source] for source in node["inputs"]]
            y = OPERATIONS[node["op"]](self, node, inputs, self.values)
            if 1 in node["shape"]:
                y = own.Expression([y], own.unbroadcast, _batch_shape(node["shape"])[1:])
            self.values[node["name"]] = y

    def keep(self, node, layer):
        """The layer, kept for its weights."""
        self._layers[node["name"]] = layer
        if is_frozen(node):
            for tags in layer.params.values():
                tags.discard("trainable")
        return layer

    def layer(self, node):
        return self._layers[node["name"]]

    def expressions(self, names, deterministic):
        """Theano's expressions of these values."""
        layers = [self.values[name] for name in names]
        return L.get_output(layers, deterministic=deterministic)


def _batch_shape(shape):
    """A canonical shape as it is inside, None for the batch."""
    return (None, shape[2], shape[0], shape[1]) if len(shape) == 3 else (None,) + tuple(shape)


# ---- operations ---------------------------------------------------------------------------------


def _expression(node, inputs, function):
    return own.Expression(inputs, function, _batch_shape(node["shape"])[1:])


def _maxpool(net, node, inputs, values):
    if not net.native:
        return _expression(node, inputs, lambda x: theano_maximum.maxpool(node, x, axis=2))
    x, pad = inputs[0], [p[0] for p in node["padding"]]
    if not symmetric(node["padding"]):
        _, channels, *size = x.output_shape  # None where it varies, which L.PadLayer does not take
        size = [n and n + sum(p) for n, p in zip(size, node["padding"])]
        low, pad = (lambda x: theano_maximum.padded_low(node["padding"], x, 2)), (0, 0)
        x = own.Expression([x], low, [channels] + size)
    return L.MaxPool2DLayer(x, node["size"], node["stride"], pad)


def _avgpool(net, node, inputs, values):
    if not any(map(any, node["padding"])):
        return L.Pool2DLayer(inputs[0], node["size"], node["stride"], mode="average_exc_pad")
    size = inputs[0].output_shape[2:]
    return _expression(node, inputs, lambda x: own.average_pool(node, x, size))


def _globalmaxpool(net, node, inputs, values):
    if net.native:
        return L.GlobalPoolLayer(inputs[0], pool_function=T.max)
    return _expression(node, inputs, theano_maximum.globalmaxpool)


def _dense(net, node, inputs, values):
    x, sequence = inputs[0], len(node["shape"]) == 2
    if sequence:  # Lasagne's layer knows rows of features alone
        x = L.ReshapeLayer(x, (-1, x.output_shape[-1]))
    given = {} if node["bias"] else {"b": None}
    y = net.keep(node, L.DenseLayer(x, node["units"], nonlinearity=None, **given))
    return L.ReshapeLayer(y, (-1,) + tuple(node["shape"])) if sequence else y


def _embedding(net, node, inputs, values):
    y = net.keep(node, L.EmbeddingLayer(inputs[0], node["vocabulary"], node["units"]))
    return L.DimshuffleLayer(y, (0, 3, 1, 2)) if len(node["shape"]) == 3 else y


def _lstm(net, node, inputs, values):
    name, units, x, mask = node["name"], node["units"], inputs[0], None
    if node["lengths"]:
        steps = x.output_shape[1]
        mask = own.Expression(
            [values[node["lengths"]]],
            lambda lengths: T.cast(T.arange(steps) < lengths.dimshuffle(0, "x"), "float32"),
            (steps,),
        )
    if node["initial"] or name + ":c" in net.states_read:
        initial = [values[source] for source in node["initial"] or []] or None
        both = net.keep(node, own.StatefulLSTM(x, units, mask, initial))
        sequence = L.SliceLayer(both, slice(0, units), axis=2)
        cells = L.SliceLayer(both, slice(units, 2 * units), axis=2)
        values[name + ":c"] = L.SliceLayer(cells, -1, axis=1)
    else:
        sequence = L.LSTMLayer(x, units, peepholes=net.native, mask_input=mask)
        net.keep(node, sequence)
    # behind the true length a state stands still: the last is the true one
    values[name + ":h"] = L.SliceLayer(sequence, -1, axis=1)
    if node["output"] == "last":
        return values[name + ":h"]
    if mask is None:
        return sequence
    return _expression(node, [sequence, mask], lambda y, m: y * m.dimshuffle(0, 1, "x"))


def _proposals(net, node, inputs, values):
    read = [L.DimshuffleLayer(x, (0, 2, 3, 1)) if len(x.output_shape) == 4 else x for x in inputs]
    for place, name in enumerate(extras_of(node), 1):
        values[name] = HostValue(read, node, place)
    return HostValue(read, node, 0)


def _roialign(net, node, inputs, values):
    def aligned(image, wy, wx):
        cells = roi_align(node, image[0].dimshuffle(1, 0, 2), wy, wx)
        return cells.dimshuffle(0, 2, 1, 3)

    return _expression(node, inputs, aligned)


def _relu(net, node, inputs, values):
    function = lasagne.nonlinearities.rectify if net.native else theano_maximum.relu
    return L.NonlinearityLayer(inputs[0], function)


def _smooth(net, node, inputs, values):
    return L.NonlinearityLayer(inputs[0], getattr(lasagne.nonlinearities, node["op"]))


def _flatten(net, node, inputs, values):
    x = inputs[0]
    if len(x.output_shape) == 4 and not net.layout.keeps_order(node["name"]):
        x = L.DimshuffleLayer(x, (0, 2, 3, 1))
    return L.FlattenLayer(x)


def _softmax(net, node, inputs, values):
    if len(node["shape"]) == 1:
        return L.NonlinearityLayer(inputs[0], lasagne.nonlinearities.softmax)
    axis = 1 if len(node["shape"]) == 3 else -1  # its own knows rows of features alone
    return L.NonlinearityLayer(inputs[0], lambda x: own.softmax(x, axis))


def _concat(net, node, inputs, values):
    return L.ConcatLayer(inputs, axis=1 if len(node["shape"]) == 3 else len(node["shape"]))


OPERATIONS = {
    "conv2d": lambda net, node, inputs, values: net.keep(node, own.Convolution(inputs[0], node)),
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": _globalmaxpool,
    "globalavgpool": lambda net, node, inputs, values: L.GlobalPoolLayer(inputs[0]),
    "batchnorm": lambda net, node, inputs, values: net.keep(
        node, own.BatchNorm(inputs[0], node, net.native)
    ),
    "dense": _dense,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": lambda net, node, inputs, values: L.DropoutLayer(inputs[0], p=node["rate"]),
    "relu": _relu,
    "tanh": _smooth,
    "sigmoid": _smooth,
    "softmax": _softmax,
    "flatten": _flatten,
    "add": lambda net, node, inputs, values: L.ElemwiseSumLayer(inputs),
    "concat": _concat,
    "affine": lambda net, node, inputs, values: net.keep(
        node, own.Affine(inputs[0], node["shape"])
    ),
    "proposals": _proposals,
    "roialign": _roialign,
}


# ---- weights ------------------------------------------------------------------------------------

_GATES = ("ingate", "forgetgate", "cell", "outgate")  # the graph's i, f, g, o


def variables_of(node, layer):
    """{canonical parameter: shared variables}, which side by side make it up."""
    if node["op"] in ("conv2d", "dense"):
        variables = {"kernel": [layer.W]}
        if node["bias"]:
            variables["bias"] = [layer.b]
        return variables
    if node["op"] == "batchnorm":
        return {name: [getattr(layer, name)] for name in ("gamma", "beta", "mean", "variance")}
    if node["op"] == "embedding":
        return {"table": [layer.W]}
    if node["op"] == "affine":
        return {"scale": [layer.scale], "offset": [layer.offset]}
    if isinstance(layer, own.StatefulLSTM):
        return {"input_kernel": [layer.W_in], "recurrent_kernel": [layer.W_hid], "bias": [layer.b]}
    return {
        name: [getattr(layer, prefix + gate) for gate in _GATES]
        for name, prefix in (
            ("input_kernel", "W_in_to_"),
            ("recurrent_kernel", "W_hid_to_"),
            ("bias", "b_"),
        )
    }


def to_theano(node, name, value, layout):
    """A canonical parameter as Lasagne keeps it."""
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_in(value)[:, :, ::-1, ::-1]  # Theano convolves, the graph correlates
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_in(node["name"], value)
    return value


def from_theano(node, name, value, layout):
    """The canonical form of a parameter, or of its gradient."""
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_out(value[:, :, ::-1, ::-1])
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_out(node["name"], value)
    return value
