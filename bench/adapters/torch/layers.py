"""The graph as nn modules: one function for each op, and where each layer keeps its weights."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from bench.adapters.channels_first import symmetric
from bench.ops import extras_of, shapes_of, states_read
from bench.weights import is_frozen


class Net(nn.Module):
    """The graph as a module: its layers by node, run in the graph's order."""

    def __init__(self, graph, layout, native, on_host):
        super(Net, self).__init__()
        self.layout, self.native, self.on_host = layout, native, on_host
        self.states_read = states_read(graph)
        self._layers = nn.ModuleDict()
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            if node["op"] in LAYERS:
                source = shapes[node["inputs"][0]]
                layer = LAYERS[node["op"]](node, source[-1] if source else 0, native)
                self._layers[_key(node)] = layer
                for parameter in layer.parameters() if is_frozen(node) else ():
                    parameter.requires_grad = False

    def layer(self, node):
        return self._layers[_key(node)]

    def forward(self, inputs, steps):
        """The values by name that are kept; all others are let go on the way."""
        values = dict(inputs)
        for node, spent in steps:
            read = [values[source] for source in node["inputs"]]
            values[node["name"]] = OPERATIONS[node["op"]](self, node, read, values)
            for name in spent:
                values.pop(name, None)
        return values


def _key(node):
    """A name that no attribute of a module has, whatever the node is called."""
    return "node_" + node["name"]


# ---- layers: what has parameters or a mode ------------------------------------------------------


def _conv2d_layer(node, features, native):
    shape = (features, node["filters"], node["kernel"], node["stride"])
    if symmetric(node["padding"]):
        return nn.Conv2d(*shape, padding=[p[0] for p in node["padding"]], bias=node["bias"])
    layer = PaddedConv2d(*shape, bias=node["bias"])
    layer.around = _torch_padding(node)
    return layer


class PaddedConv2d(nn.Conv2d):
    """With other numbers of zeros before than behind."""

    around = ()

    def forward(self, x):
        return super(PaddedConv2d, self).forward(F.pad(x, self.around))


def _batchnorm_layer(node, features, native):
    norm = nn.BatchNorm2d if len(node["shape"]) == 3 else nn.BatchNorm1d
    if native:
        return norm(features)
    return norm(features, eps=node["epsilon"], momentum=1 - node["keep"])


def _lstm_layer(node, features, native):
    lstm = nn.LSTM(features, node["units"], batch_first=True)
    if not native:  # two biases would learn twice as fast as the one of the graph
        nn.init.constant_(lstm.bias_hh_l0, 0.0)
        lstm.bias_hh_l0.requires_grad = False
    return lstm


class Affine(nn.Module):
    """A factor and an offset a channel that never learn."""

    def __init__(self, features, axes):
        super(Affine, self).__init__()
        shape = (features, 1, 1) if axes == 3 else (features,)  # no step has to turn them
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("offset", torch.zeros(shape))

    def forward(self, x):
        return x * self.scale + self.offset


LAYERS = {
    "conv2d": _conv2d_layer,
    "batchnorm": _batchnorm_layer,
    "dense": lambda node, features, native: nn.Linear(features, node["units"], bias=node["bias"]),
    "embedding": lambda node, features, native: nn.Embedding(node["vocabulary"], node["units"]),
    "lstm": _lstm_layer,
    "affine": lambda node, features, native: Affine(features, len(node["shape"])),
    "dropout": lambda node, features, native: nn.Dropout(node["rate"]),
}


# ---- operations ---------------------------------------------------------------------------------


def _apply_layer(net, node, inputs, values):
    return net.layer(node)(inputs[0])


def _maxpool(net, node, inputs, values):
    x = inputs[0]
    if _pools_with(node["padding"], node["size"]):
        return F.max_pool2d(x, node["size"], node["stride"], [p[0] for p in node["padding"]])
    padded = F.pad(x, _torch_padding(node), value=-math.inf)
    return F.max_pool2d(padded, node["size"], node["stride"])


def _avgpool(net, node, inputs, values):
    x = inputs[0]
    if _pools_with(node["padding"], node["size"]):
        padding = [p[0] for p in node["padding"]]
        return F.avg_pool2d(x, node["size"], node["stride"], padding, count_include_pad=False)
    pads = _torch_padding(node)
    inside = F.avg_pool2d(F.pad(torch.ones_like(x[:1, :1]), pads), node["size"], node["stride"])
    return F.avg_pool2d(F.pad(x, pads), node["size"], node["stride"]) / inside


def _pools_with(padding, size):
    """Whether PyTorch's pooling takes this padding: equal on both sides, at most half a window."""
    return symmetric(padding) and all(pad[0] <= k // 2 for pad, k in zip(padding, size))


def _torch_padding(node):
    (top, bottom), (left, right) = node["padding"]
    return (left, right, top, bottom)


def _embedding(net, node, inputs, values):
    y = net.layer(node)(inputs[0])
    if y.dim() == 4:  # a board becomes an image; see `value_in` for why one channel is special
        batch, height, width, channels = y.shape
        if channels == 1:
            return y.reshape(batch, 1, height, width)
        return y.permute(0, 3, 1, 2).contiguous()
    return y


def _batchnorm(net, node, inputs, values):
    layer, x = net.layer(node), inputs[0]
    if x.dim() == 3:
        return _normalise(net, node, layer, x.transpose(1, 2)).transpose(1, 2)
    return _normalise(net, node, layer, x)


def _normalise(net, node, layer, x):
    if not layer.training or net.native or node["unbiased"]:
        return layer(x)
    # PyTorch keeps the unbiased variance: it is caught in buffers of its own, and the factor
    # n/(n-1) is taken out before it is added to the running one
    mean, variance = torch.zeros_like(layer.running_mean), torch.zeros_like(layer.running_var)
    y = F.batch_norm(x, mean, variance, layer.weight, layer.bias, True, 1.0, layer.eps)
    rows = x.numel() / x.shape[1]
    with torch.no_grad():
        keep = node["keep"]
        layer.running_mean.mul_(keep).add_(mean * (1 - keep))
        layer.running_var.mul_(keep).add_(variance * ((1 - keep) * (rows - 1) / rows))
    return y


def _lstm(net, node, inputs, values):
    layer, name, x = net.layer(node), node["name"], inputs[0]
    initial = None
    if node["initial"]:
        initial = tuple(values[source].unsqueeze(0).contiguous() for source in node["initial"])
    lengths = values[node["lengths"]] if node["lengths"] else None
    if lengths is not None and name + ":c" in net.states_read:
        sequence, (h, c) = _packed(layer, x, lengths, initial)
    else:
        # the true last output is gathered: causal, so padding can't reach it; this way
        # PyTorch's fused kernel runs, which packed sequences do not get on a CPU
        sequence, (h, c) = layer(x, initial)
        if lengths is not None:
            last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, node["units"])
            h = sequence.gather(1, last).transpose(0, 1)
    values[name + ":h"], values[name + ":c"] = h[0], c[0]
    if node["output"] == "last":
        return h[0]
    if lengths is not None:
        steps = torch.arange(x.shape[1], device=x.device, dtype=lengths.dtype)
        sequence = sequence * (steps < lengths.unsqueeze(1)).unsqueeze(2).to(x.dtype)
    return sequence


def _packed(layer, x, lengths, initial):
    """An LSTM over packed sequences, sorted by hand: PyTorch 1.0 takes no other order."""
    _, order = torch.sort(lengths, descending=True)
    back = torch.sort(order)[1]
    packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths[order].cpu(), batch_first=True)
    if initial is not None:
        initial = tuple(state[:, order].contiguous() for state in initial)
    out, (h, c) = layer(packed, initial)
    sequence = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0]
    return sequence[back], (h[:, back], c[:, back])


def _flatten(net, node, inputs, values):
    x = inputs[0]
    if x.dim() == 4 and not net.layout.keeps_order(node["name"]):
        x = x.permute(0, 2, 3, 1).contiguous()
    return x.reshape(x.shape[0], -1)


def _softmax(net, node, inputs, values):
    return F.softmax(inputs[0], dim=1 if inputs[0].dim() == 4 else -1)


def _concat(net, node, inputs, values):
    return torch.cat(inputs, dim=1 if inputs[0].dim() == 4 else -1)


def _proposals(net, node, inputs, values):
    read = [x.detach().permute(0, 2, 3, 1) if x.dim() == 4 else x for x in inputs]
    made = net.on_host[node["name"]](read, net.training)
    values.update(zip(extras_of(node), made[1:]))
    return made[0]


def _roialign(net, node, inputs, values):
    """Two products for all regions together: rows first, then columns."""
    (image,), wy, wx = inputs
    channels, height, width = image.shape
    rows, pool = wy.shape[:2]
    across = wy.reshape(-1, height).mm(image.transpose(0, 1).reshape(height, -1))
    cells = across.reshape(rows, pool * channels, width).bmm(wx.transpose(1, 2))
    return cells.reshape(rows, pool, channels, pool).transpose(1, 2).contiguous()


OPERATIONS = {
    "conv2d": _apply_layer,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "globalmaxpool": lambda net, node, inputs, values: inputs[0].flatten(2).max(2)[0],
    "globalavgpool": lambda net, node, inputs, values: inputs[0].mean((2, 3)),
    "batchnorm": _batchnorm,
    "dense": _apply_layer,
    "embedding": _embedding,
    "lstm": _lstm,
    "dropout": _apply_layer,
    "relu": lambda net, node, inputs, values: F.relu(inputs[0]),
    "tanh": lambda net, node, inputs, values: torch.tanh(inputs[0]),
    "sigmoid": lambda net, node, inputs, values: torch.sigmoid(inputs[0]),
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
            "mean": layer.running_mean,
            "variance": layer.running_var,
        }
    if op == "embedding":
        return {"table": layer.weight}
    if op == "affine":
        return {"scale": layer.scale.view(-1), "offset": layer.offset.view(-1)}
    return {
        "input_kernel": layer.weight_ih_l0,
        "recurrent_kernel": layer.weight_hh_l0,
        "bias": layer.bias_ih_l0,
    }
