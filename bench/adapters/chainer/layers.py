"""The graph as a chain: one function for each op, and where each link keeps its weights."""

import chainer
import numpy as np
from chainer import functions as F
from chainer import links as L
from chainer.backends import cuda

from bench import host
from bench.adapters.channels_first import symmetric
from bench.ops import extras_of, shapes_of
from bench.weights import is_frozen


class Net(chainer.Chain):
    """The graph as a chain: its links by node, run in the graph's order."""

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self.layout, self.native = layout, native
        shapes = shapes_of(graph)
        with self.init_scope():
            for node in graph["nodes"]:
                if node["op"] in LINKS:
                    source = shapes[node["inputs"][0]]
                    link = LINKS[node["op"]](node, source[-1] if source else 0, native)
                    setattr(self, _key(node), link)

    def link(self, node):
        return self[_key(node)]

    def __call__(self, inputs, steps):
        """The values by name that are kept; all others are let go on the way."""
        values = dict(inputs)
        for node, spent in steps:
            read = [values[source] for source in node["inputs"]]
            values[node["name"]] = OPERATIONS[node["op"]](self, node, read, values)
            for name in spent:
                values.pop(name, None)
        return values


def _key(node):
    """A name that no attribute of a chain has, whatever the node is called."""
    return "node_" + node["name"]


# ---- links: what has parameters -----------------------------------------------------------------


def _conv2d_link(node, features, native):
    pad = tuple(p[0] for p in node["padding"]) if symmetric(node["padding"]) else (0, 0)
    kernel, stride = tuple(node["kernel"]), tuple(node["stride"])
    nobias = not node["bias"]
    return L.Convolution2D(features, node["filters"], kernel, stride, pad, nobias=nobias)


def _batchnorm_link(node, features, native):
    if native:
        return L.BatchNormalization(features)
    return L.BatchNormalization(features, decay=node["keep"], eps=node["epsilon"])


class Affine(chainer.Link):
    """A factor and an offset a channel that never learn."""

    def __init__(self, features):
        super(Affine, self).__init__()
        self.add_persistent("scale", np.ones(features, np.float32))
        self.add_persistent("offset", np.zeros(features, np.float32))


LINKS = {
    "conv2d": _conv2d_link,
    "batchnorm": _batchnorm_link,
    "dense": lambda node, features, native: L.Linear(
        features, node["units"], nobias=not node["bias"]
    ),
    "affine": lambda node, features, native: Affine(features),
    "embedding": lambda node, features, native: L.EmbedID(node["vocabulary"], node["units"]),
    "lstm": lambda node, features, native: L.NStepLSTM(1, features, node["units"], 0.0),
}


# ---- operations ---------------------------------------------------------------------------------


def _conv2d(net, node, inputs, values):
    x = inputs[0] if symmetric(node["padding"]) else _padded(node, inputs[0])
    link = net.link(node)
    if is_frozen(node):  # arrays instead of parameters: nothing is differentiated
        return F.convolution_2d(x, link.W.array, _constant_bias(link), link.stride, link.pad)
    return link(x)


def _constant_bias(link):
    return None if link.b is None else link.b.array


def _maxpool(net, node, inputs, values):
    x, pad = inputs[0], tuple(p[0] for p in node["padding"])
    if not symmetric(node["padding"]):
        x, pad = _padded(node, x, -np.inf), (0, 0)
    # cover_all, Chainer's default, rounds the size up
    return F.max_pooling_2d(x, tuple(node["size"]), tuple(node["stride"]), pad, cover_all=False)


def _avgpool(net, node, inputs, values):
    x, size, stride = inputs[0], tuple(node["size"]), tuple(node["stride"])
    if not any(node["padding"][0] + node["padding"][1]):
        return F.average_pooling_2d(x, size, stride)
    # Chainer counts the padding: divide by the share of each window that is inside
    ones = cuda.get_array_module(x).ones((1, 1) + x.shape[2:], np.float32)
    inside = F.average_pooling_2d(_padded(node, ones), size, stride)
    pooled = F.average_pooling_2d(_padded(node, x), size, stride)
    return pooled / F.broadcast_to(inside, pooled.shape)


def _padded(node, x, value=0.0):
    width = [(0, 0), (0, 0)] + [tuple(pad) for pad in node["padding"]]
    return F.pad(x, width, "constant", constant_values=value)


def _over_image(pool):
    """Global pooling: one window, the whole image. F.max would give every tie a gradient."""

    def operation(net, node, inputs, values):
        x = inputs[0]
        return F.reshape(pool(x, x.shape[2:]), x.shape[:2])

    return operation


def _dense(net, node, inputs, values):
    link = net.link(node)
    if is_frozen(node):
        bias = _constant_bias(link)
        return _over_last_axis(lambda x: F.linear(x, link.W.array, bias), inputs[0])
    return _over_last_axis(link, inputs[0])


def _affine(net, node, inputs, values):
    link, x = net.link(node), inputs[0]
    axis = 2 if x.ndim == 3 else 1  # of the channels
    return F.bias(F.scale(x, link.scale, axis), link.offset, axis)


def _proposals(net, node, inputs, values):
    arrays = [cuda.to_cpu(getattr(x, "array", x)) for x in inputs]
    read = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in arrays]
    made = host.call(node, read, chainer.config.train)
    made = [chainer.as_variable(net.xp.asarray(value)) for value in made]
    values.update(zip(extras_of(node), made[1:]))
    return made[0]


def _roialign(net, node, inputs, values):
    """Two products for all regions together: rows first, then columns."""
    image, wy, wx = inputs
    _, channels, height, width = image.shape
    rows, pool = wy.shape[:2]
    image = F.reshape(F.transpose(image[0], (1, 0, 2)), (height, channels * width))
    across = F.matmul(F.reshape(wy, (-1, height)), image)
    across = F.reshape(across, (rows, pool * channels, width))
    cells = F.matmul(across, wx, transb=True)
    return F.transpose(F.reshape(cells, (rows, pool, channels, pool)), (0, 2, 1, 3))


def _over_last_axis(link, x):
    """A link over vectors, applied to every step of a sequence."""
    if x.ndim == 2:
        return link(x)
    return F.reshape(link(F.reshape(x, (-1, x.shape[-1]))), x.shape[:-1] + (-1,))


def _batchnorm(net, node, inputs, values):
    link, x = net.link(node), inputs[0]
    normalise = _over_last_axis if x.ndim == 3 else _apply
    if not chainer.config.train or net.native or node["unbiased"]:
        return normalise(link, x)
    # Chainer keeps the unbiased variance: take the factor n/(n-1) out of what it adds
    old = link.avg_var * node["keep"]
    y = normalise(link, x)
    rows = x.size // link.avg_var.size
    link.avg_var[...] = old + (link.avg_var - old) * ((rows - 1.0) / rows)
    return y


def _apply(link, x):
    return link(x)


def _embedding(net, node, inputs, values):
    y = net.link(node)(inputs[0])
    return F.transpose(y, (0, 3, 1, 2)) if y.ndim == 4 else y  # a board becomes an image


def _lstm(net, node, inputs, values):
    name, x = node["name"], inputs[0]
    hx = cx = None
    if node["initial"]:
        hx, cx = (F.expand_dims(values[source], 0) for source in node["initial"])
    lengths = cuda.to_cpu(values[node["lengths"]]) if node["lengths"] else None
    rows = _rows(x, lengths)
    hy, cy, ys = net.link(node)(hx, cx, rows)
    values[name + ":h"], values[name + ":c"] = hy[0], cy[0]
    if node["output"] == "last":
        return hy[0]
    return F.pad_sequence(ys, length=x.shape[1], padding=0.0) if node["lengths"] else F.stack(ys)


def _rows(x, lengths):
    """The rows of a batch of sequences, each as long as it truly is, cut out in one go."""
    count, steps, features = x.shape
    flat = F.reshape(x, (count * steps, features))
    if lengths is None:
        return list(F.split_axis(flat, count, 0, force_tuple=True))
    # where a row ends, and where the one behind it begins
    cuts = sorted({k * steps + end for k, n in enumerate(lengths) for end in (int(n), steps)})
    places = {start: place for place, start in enumerate([0] + cuts[:-1])}
    parts = F.split_axis(flat, cuts[:-1], 0, force_tuple=True)
    return [parts[places[k * steps]] for k in range(count)]


def _flatten(net, node, inputs, values):
    x = inputs[0]  # methods, which an array has, too: what is not differentiated costs no function
    if x.ndim == 4 and not net.layout.keeps_order(node["name"]):
        x = x.transpose((0, 2, 3, 1))
    return x.reshape((x.shape[0], -1))


def _softmax(net, node, inputs, values):
    ndim = inputs[0].ndim
    return F.softmax(inputs[0], axis=1 if ndim == 4 else ndim - 1)


def _concat(net, node, inputs, values):
    ndim = inputs[0].ndim
    return F.concat(inputs, axis=1 if ndim == 4 else ndim - 1)


OPERATIONS = {
    "conv2d": _conv2d,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": _over_image(F.max_pooling_2d),
    "globalavgpool": _over_image(F.average_pooling_2d),
    "batchnorm": _batchnorm,
    "dense": _dense,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": lambda net, node, inputs, values: F.dropout(inputs[0], node["rate"]),
    "relu": lambda net, node, inputs, values: F.relu(inputs[0]),
    "tanh": lambda net, node, inputs, values: F.tanh(inputs[0]),
    "sigmoid": lambda net, node, inputs, values: F.sigmoid(inputs[0]),
    "softmax": _softmax,
    "flatten": _flatten,
    "add": lambda net, node, inputs, values: F.add(*inputs),
    "concat": _concat,
    "affine": _affine,
    "proposals": _proposals,
    "roialign": _roialign,
}


# ---- weights ------------------------------------------------------------------------------------


def arrays_of(node, link):
    """{canonical parameter: Chainer's parameters or arrays that together are it}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        arrays = {"kernel": [link.W]}
        if node["bias"]:
            arrays["bias"] = [link.b]
        return arrays
    if op == "batchnorm":
        return {
            "gamma": [link.gamma],
            "beta": [link.beta],
            "mean": [link.avg_mean],
            "variance": [link.avg_var],
        }
    if op == "embedding":
        return {"table": [link.W]}
    if op == "affine":
        return {"scale": [link.scale], "offset": [link.offset]}
    # one matrix a gate, in the order i, f, g, o: of the input, then of the state
    return {
        "input_kernel": [getattr(link[0], "w{}".format(k)) for k in range(4)],
        "recurrent_kernel": [getattr(link[0], "w{}".format(k)) for k in range(4, 8)],
        "bias": [getattr(link[0], "b{}".format(k)) for k in range(4)],
    }


def second_bias_of(link):
    """An LSTM of Chainer has two biases: this is the one that the graph has not."""
    return [getattr(link[0], "b{}".format(k)) for k in range(4, 8)]
