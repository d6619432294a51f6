"""The graph as gluon blocks: one function for each op, and where each layer keeps its weights."""

import mxnet as mx
from mxnet.gluon import nn, rnn

from bench.adapters import fused
from bench.adapters.base import spent_after
from bench.adapters.channels_first import symmetric
from bench.libraries import find
from bench.ops import owner, shapes_of, sources, states_read
from bench.weights import is_frozen

_RELEASE = tuple(int(part) for part in mx.__version__.split(".")[:2])
OLD_MKLDNN = find(r"libmkldnn") is not None
"""Whether this is 1.3.0 built with MKL-DNN; later releases have it built in."""
_BLOCKS = _RELEASE >= (1, 9) or OLD_MKLDNN
"""Whether it has oneDNN, or MKL-DNN as it was called."""
_LOWEST = -3e38  # below any value, and within what MXNet reads as a float32


class Layers(object):
    """The layers of a graph by node, and what the operations must know of the graph."""

    def __init__(self, graph, layout, native):
        self.layout, self.native = layout, native
        self.shapes = shapes_of(graph)
        self.states_read = states_read(graph)
        self._by_name = {}
        for node in graph["nodes"]:
            if node["op"] in LAYERS:
                layer = self._by_name[node["name"]] = LAYERS[node["op"]](self, node)
                if is_frozen(node):
                    layer.collect_params().setattr("grad_req", "null")

    def of(self, node):
        return self._by_name.get(node["name"])

    def features(self, node):
        source = self.shapes[node["inputs"][0]]
        return source[-1] if source else 0

    def rank(self, node):
        return len(self.shapes[node["inputs"][0]])


class Net(nn.HybridBlock):
    """Some nodes of the graph as a block: from the inputs that they read to the values wanted."""

    def __init__(self, graph, layers, nodes, wanted):
        super(Net, self).__init__()
        self._nodes, self._wanted = nodes, list(wanted)
        self._layers, self._spent = layers, spent_after(nodes, self._wanted)
        read = {name for node in nodes for name in sources(node) + [node.get("lengths")]}
        self.inputs = [spec["name"] for spec in graph["inputs"] if spec["name"] in read]
        for node in nodes:
            if layers.of(node) is not None:
                self.register_child(layers.of(node), node["name"])

    def makes(self, name):
        """Whether this value comes out of one of the nodes."""
        return owner(name) in self._spent

    def hybrid_forward(self, F, *arrays):
        values = self.run(F, dict(zip(self.inputs, arrays)))
        return [values[name] for name in self._wanted]

    def run(self, F, inputs):
        """The wanted values by name; all others are let go on the way."""
        values = ReadByFew(F, inputs) if OLD_MKLDNN else dict(inputs)
        for node in self._nodes:
            read = [values[source] for source in node["inputs"]]
            values[node["name"]] = OPERATIONS[node["op"]](F, self._layers, node, read, values)
            for name in self._spent[node["name"]]:
                values.pop(name, None)
        return values


class ReadByFew(dict):
    """Values by name, each read by two operators and a copy, which the next ones read, and so on.

    1.3.0 with MKL-DNN loses gradients of what five and more operators read. (One may read a value
    twice, and two names may stand for the same.)
    """

    def __init__(self, F, inputs):
        super(ReadByFew, self).__init__(inputs)
        self._copy, self._known = F.identity, {}

    def __getitem__(self, name):
        value = super(ReadByFew, self).__getitem__(name)
        while True:
            known = self._known.setdefault(id(value), {"value": value, "reads": 0})
            known["reads"] += 1
            if known["reads"] <= 2:
                return value
            if "copy" not in known:
                known["copy"] = self._copy(value)
            value = known["copy"]


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _conv2d_layer(layers, node):
    padding = [p[0] for p in node["padding"]] if symmetric(node["padding"]) else (0, 0)
    return nn.Conv2D(
        node["filters"],
        tuple(node["kernel"]),
        tuple(node["stride"]),
        tuple(padding),
        use_bias=node["bias"],
        in_channels=layers.features(node),
    )


def _batchnorm_layer(layers, node):
    axis = _channels(layers.rank(node))
    explicit = {} if layers.native else {"momentum": node["keep"], "epsilon": node["epsilon"]}
    return nn.BatchNorm(axis=axis, in_channels=layers.features(node), **explicit)


def _dense_layer(layers, node):
    return nn.Dense(
        node["units"],
        use_bias=node["bias"],
        flatten=layers.rank(node) == 1,
        in_units=layers.features(node),
    )


def _lstm_layer(layers, node):
    features = layers.features(node)
    if own_lengths(node, layers.native):
        lstm = rnn.LSTM(node["units"], input_size=features, use_sequence_length=True)
    elif node["lengths"] and node["name"] + ":c" in layers.states_read:
        # the fused LSTM gives the cell's state after the last step only, not at a true length
        lstm = rnn.LSTMCell(node["units"], input_size=features)
    else:
        lstm = rnn.LSTM(node["units"], input_size=features)
    if not layers.native:  # two biases would learn twice as fast as the one of the graph
        second_bias(lstm).grad_req = "null"
    return lstm


def own_lengths(node, native):
    """Whether MXNet's LSTM is given the lengths, which it ignores on a CPU without a word."""
    return native and node["lengths"] is not None and _RELEASE >= (1, 7)


class Affine(nn.HybridBlock):
    """A factor and an offset a channel that never learn."""

    def __init__(self, channels, rank):
        super(Affine, self).__init__()
        self._shape = (1, -1) + (1, 1) * (rank == 3) if rank != 2 else (1, 1, -1)
        with self.name_scope():
            for name, init in (("scale", "ones"), ("offset", "zeros")):
                constant = self.params.get(name, shape=(channels,), init=init, grad_req="null")
                setattr(self, name, constant)

    def hybrid_forward(self, F, x, scale, offset):
        scaled = F.broadcast_mul(x, F.reshape(scale, self._shape))
        return F.broadcast_add(scaled, F.reshape(offset, self._shape))


def _dropout_layer(layers, node):
    # MKL's generator draws rubbish for a rate of 0
    return nn.Dropout(node["rate"]) if node["rate"] else None


LAYERS = {
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": _dense_layer,
    "embedding": lambda layers, node: nn.Embedding(node["vocabulary"], node["units"]),
    "lstm": _lstm_layer,
    "affine": lambda layers, node: Affine(layers.features(node), layers.rank(node)),
    "dropout": _dropout_layer,
}


# ---- operations ---------------------------------------------------------------------------------


def _channels(rank):
    """The axis of the channels, or features, of an array whose graph shape has this rank."""
    return 1 if rank == 3 else rank


def _apply_layer(F, layers, node, inputs, values):
    return layers.of(node)(inputs[0])


def _conv2d(F, layers, node, inputs, values):
    x = inputs[0] if symmetric(node["padding"]) else _padded(F, node, inputs[0])
    return layers.of(node)(x)


def _padded(F, node, x, value=0.0):
    (top, bottom), (left, right) = node["padding"]
    width = (0, 0, 0, 0, top, bottom, left, right)
    return F.pad(x, mode="constant", pad_width=width, constant_value=value)


def _maxpool(F, layers, node, inputs, values):
    if symmetric(node["padding"]):
        return F.Pooling(inputs[0], pad=[p[0] for p in node["padding"]], **_window(node, "max"))
    return F.Pooling(_padded(F, node, inputs[0], _LOWEST), **_window(node, "max"))


def _avgpool(F, layers, node, inputs, values):
    x, window = inputs[0], _window(node, "avg")
    if symmetric(node["padding"]):
        return F.Pooling(x, pad=[p[0] for p in node["padding"]], count_include_pad=False, **window)
    one = F.ones_like(F.slice_axis(F.slice_axis(x, 0, 0, 1), 1, 0, 1))
    inside = F.Pooling(_padded(F, node, one), **window)
    return F.broadcast_div(F.Pooling(_padded(F, node, x), **window), inside)


def _window(node, kind):
    return {"kernel": tuple(node["size"]), "stride": tuple(node["stride"]), "pool_type": kind}


def _globalpool(kind):
    def operation(F, layers, node, inputs, values):
        pooled = F.Pooling(inputs[0], kernel=(1, 1), global_pool=True, pool_type=kind)
        return F.Flatten(pooled)

    return operation


def _embedding(F, layers, node, inputs, values):
    y = layers.of(node)(inputs[0])
    # a board becomes an image
    return F.transpose(y, (0, 3, 1, 2)) if layers.rank(node) == 2 else y


def _lstm(F, layers, node, inputs, values):
    layer, name, x = layers.of(node), node["name"], inputs[0]
    lengths = F.cast(values[node["lengths"]], "float32") if node["lengths"] else None
    initial = [values[source] for source in node["initial"]] if node["initial"] else None
    if isinstance(layer, rnn.LSTMCell):
        steps = layers.shapes[node["inputs"][0]][0]
        sequence, (h, c) = layer.unroll(
            steps, x, initial, layout="NTC", merge_outputs=True, valid_length=lengths
        )
        values[name + ":h"], values[name + ":c"] = h, c
        return h if node["output"] == "last" else sequence
    x = F.swapaxes(x, dim1=0, dim2=1)  # the fused kernel wants time first
    if initial:
        states = [F.expand_dims(state, axis=0) for state in initial]
    elif F is mx.nd:
        states = layer.begin_state(x.shape[1], ctx=x.context)
    else:
        states = layer.begin_state(0, func=F.zeros)
    own = own_lengths(node, layers.native)
    sequence, (h, c) = layer(x, states, lengths) if own else layer(x, states)
    h, c = F.squeeze(h, axis=0), F.squeeze(c, axis=0)
    if lengths is not None and not own:
        # causal, so padding can't reach it. Without lengths SequenceLast must not be used: in
        # 1.9.1 its gradient writes where it must not, and the process dies or goes on with rubbish
        h = F.SequenceLast(sequence, lengths, use_sequence_length=True)
    values[name + ":h"], values[name + ":c"] = h, c
    if node["output"] == "last":
        return h
    if lengths is not None:
        sequence = F.SequenceMask(sequence, lengths, use_sequence_length=True, value=0.0)
    return F.swapaxes(sequence, dim1=0, dim2=1)


def _dropout(F, layers, node, inputs, values):
    return _apply_layer(F, layers, node, inputs, values) if layers.of(node) else inputs[0]


def _flatten(F, layers, node, inputs, values):
    x = inputs[0]
    if layers.rank(node) == 3 and not layers.layout.keeps_order(node["name"]):
        x = F.transpose(x, (0, 2, 3, 1))
    return F.Flatten(x)


def _add(F, layers, node, inputs, values):
    while OLD_MKLDNN and len(inputs) > 4:  # more at once do not fit the layout of a convolution
        inputs = [F.add_n(*inputs[:4])] + inputs[4:]
    return F.add_n(*inputs)


def _softmax(F, layers, node, inputs, values):
    return F.softmax(inputs[0], axis=_channels(layers.rank(node)))


def _concat(F, layers, node, inputs, values):
    if layers.rank(node) == 3 and _BLOCKS and _cuts_blocks(layers, node):
        y = F.concat(*[F.expand_dims(x, axis=4) for x in inputs], dim=1)
        return F.reshape(y, (0, 0, 0, -1))
    y = F.concat(*inputs, dim=_channels(layers.rank(node)))
    # where the first vector is a single number, 1.9.1 gives a transposed array, and its softmax
    # behind that kills the process; a flattened array is an ordinary one again
    return F.Flatten(y) if layers.rank(node) == 1 else y


def _cuts_blocks(layers, node):
    """Whether oneDNN can't cut the gradient of a concatenation of images: it keeps channels in
    blocks of 16. It knows no arrays of five axes, so that MXNet takes its own kernel for these."""
    return any(layers.shapes[source][-1] % 16 for source in node["inputs"])


def _proposals(F, layers, node, inputs, values):
    raise AssertionError("a host node stands between two blocks (parts.py)")


def _roialign(F, layers, node, inputs, values):
    """Two products for all regions together: rows first, then columns. No size is known here."""
    if "regions" in node:
        return _fused_roialign(F, node, *inputs)
    image, wy, wx = inputs
    pool, _, channels = node["shape"]
    image = F.reshape(F.transpose(image, (0, 2, 1, 3)), (-3, -3))
    across = F.dot(F.reshape(wy, (-3, 0)), image)
    across = F.reshape(across, (-4, -1, pool, -4, channels, -1))
    cells = F.batch_dot(F.reshape(across, (0, -3, 0)), wx, transpose_b=True)
    return F.transpose(F.reshape(cells, (0, -4, pool, channels, 0)), (0, 2, 1, 3))


def _fused_roialign(F, node, image, rois):
    """MXNet's operator. Its rows are the image's number and the edges x1, y1, x2, y2."""
    stride, samples = node["regions"]["stride"], node["regions"]["samples"]
    edges = list(F.split(rois, num_outputs=4, axis=1))
    empty = F.broadcast_lesser_equal(edges[2], edges[0])
    y1, x1, y2, x2 = fused.moved(edges, empty, stride)
    rows = F.concat(F.zeros_like(y1), x1, y1, x2, y2, dim=1)
    return F.contrib.ROIAlign(
        image,
        rows,
        pooled_size=tuple(node["shape"][:2]),
        spatial_scale=1.0 / stride,
        sample_ratio=samples,
        aligned=True,
    )


OPERATIONS = {
    "conv2d": _conv2d,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": _globalpool("max"),
    "globalavgpool": _globalpool("avg"),
    "batchnorm": _apply_layer,
    "dense": _apply_layer,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": _dropout,
    "relu": lambda F, layers, node, inputs, values: F.Activation(inputs[0], act_type="relu"),
    # MKL-DNN's Activation is good to 1e-5 only in evaluation
    "tanh": lambda F, layers, node, inputs, values: F.tanh(inputs[0]),
    "sigmoid": lambda F, layers, node, inputs, values: F.sigmoid(inputs[0]),
    "softmax": _softmax,
    "flatten": _flatten,
    "add": _add,
    "concat": _concat,
    "affine": _apply_layer,
    "proposals": _proposals,
    "roialign": _roialign,
}


# ---- weights ------------------------------------------------------------------------------------


def parameters_of(node, layer):
    """{canonical parameter: gluon parameter}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        parameters = {"kernel": layer.weight}
        if node["bias"]:
            parameters["bias"] = layer.bias
        return parameters
    if op == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.running_mean,
            "variance": layer.running_var,
        }
    if op == "embedding":
        return {"table": layer.weight}
    if op == "affine":
        return {"scale": layer.scale, "offset": layer.offset}
    return {
        "input_kernel": _lstm_parameter(layer, "i2h_weight"),
        "recurrent_kernel": _lstm_parameter(layer, "h2h_weight"),
        "bias": _lstm_parameter(layer, "i2h_bias"),
    }


def second_bias(lstm):
    """MXNet's LSTM has two biases; under `native` both learn."""
    return _lstm_parameter(lstm, "h2h_bias")


def _lstm_parameter(lstm, name):
    return lstm.params.get("l0_" * isinstance(lstm, rnn.LSTM) + name)
