"""The graph as gluon blocks: the net, and the net with its losses. Images are NCHW.

`F` is mx.nd or, while a hybridised block is traced, mx.sym: shapes come from the graph.
"""

import mxnet as mx
from mxnet.gluon import nn, rnn

from bench.adapters.base import cells_read, shapes_of, spent_after
from bench.adapters.channels_first import symmetric
from bench.formats import Unsupported

_RELEASE = tuple(int(part) for part in mx.__version__.split(".")[:2])
_LOWEST = -3e38  # below any value, and within what MXNet reads as a float32


def _layer(node, features, native, stepwise):
    """The block of a node that has parameters or a mode; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        padding = [p[0] for p in node["padding"]] if symmetric(node["padding"]) else (0, 0)
        return nn.Conv2D(
            node["filters"],
            tuple(node["kernel"]),
            tuple(node["stride"]),
            tuple(padding),
            use_bias=node["bias"],
            in_channels=features,
        )
    if op == "dense":
        vector = len(node["shape"]) == 1
        return nn.Dense(node["units"], use_bias=node["bias"], flatten=vector, in_units=features)
    if op == "batchnorm":
        axis = 1 if len(node["shape"]) == 3 else len(node["shape"])
        explicit = {} if native else {"momentum": node["keep"], "epsilon": node["epsilon"]}
        return nn.BatchNorm(axis=axis, in_channels=features, **explicit)
    if op == "embedding":
        return nn.Embedding(node["vocabulary"], node["units"])
    if op == "lstm":
        if stepwise:
            lstm = rnn.LSTMCell(node["units"], input_size=features)
        else:
            own = {"use_sequence_length": True} if own_lengths(node, native) else {}
            lstm = rnn.LSTM(node["units"], input_size=features, **own)
        if not native:  # two biases would learn twice as fast as the one of the graph
            bias(lstm, "h2h").grad_req = "null"
        return lstm
    if op == "dropout" and node["rate"]:  # MKL's generator draws rubbish for a rate of 0
        return nn.Dropout(node["rate"])
    return None


def own_lengths(node, native):
    """Whether MXNet's LSTM is given the lengths, which it ignores on a CPU without a word."""
    return native and node["lengths"] is not None and _RELEASE >= (1, 7)


def bias(lstm, kind):
    return lstm.params.get("l0_" * isinstance(lstm, rnn.LSTM) + kind + "_bias")


class Net(nn.HybridBlock):
    """The graph as a block: its layers by node, run in the graph's order."""

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self._graph, self._layout, self._native = graph, layout, native
        self._spent = spent_after(graph)
        self._shapes = shapes_of(graph)
        used = {name for node in graph["nodes"] for name in node["inputs"]}
        used |= {node["lengths"] for node in graph["nodes"] if node.get("lengths")}
        used |= {name for node in graph["nodes"] for name in node.get("initial") or []}
        cells = cells_read(graph)
        self.inputs = [s["name"] for s in graph["inputs"] if s["name"] in used]
        self.layers = {}
        for node in graph["nodes"]:
            source = self._shapes[node["inputs"][0]]
            # the fused LSTM gives the cell's state after the last step only, not at a true length
            stepwise = node.get("lengths") and node["name"] in cells
            layer = _layer(
                node,
                source[-1] if source else 0,
                native,
                stepwise and not own_lengths(node, native),
            )
            if layer is not None:
                self.layers[node["name"]] = layer
                self.register_child(layer, node["name"])

    def hybrid_forward(self, F, *arrays):
        values = self.run(F, dict(zip(self.inputs, arrays)))
        return [values[name] for name in self._graph["outputs"]]

    def run(self, F, inputs, keep=False):
        """The outputs by name; with `keep` every node's value."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(F, node, values)
            for name in () if keep else self._spent[node["name"]]:
                values.pop(name, None)
        return values

    def _run(self, F, node, values):
        op, name = node["op"], node["name"]
        x, shape = values[node["inputs"][0]], self._shapes[node["inputs"][0]]
        if op == "conv2d":
            y = self.layers[name](x if symmetric(node["padding"]) else _padded(F, node, x))
        elif op in ("dense", "embedding", "batchnorm", "dropout"):
            y = self.layers[name](x) if name in self.layers else x
        elif op in ("maxpool", "avgpool"):
            y = _pool(F, node, x)
        elif op in ("globalmaxpool", "globalavgpool"):
            kind = op[len("global") : -len("pool")]
            y = F.Flatten(F.Pooling(x, kernel=(1, 1), global_pool=True, pool_type=kind))
        elif op == "lstm":
            y = self._lstm(F, node, x, values)
        elif op == "relu":
            y = F.Activation(x, act_type=op)
        elif op in ("tanh", "sigmoid"):
            y = getattr(F, op)(x)  # MKL-DNN's Activation is good to 1e-5 only in evaluation
        elif op == "flatten":
            if len(shape) == 3 and not self._layout.keeps_order(name):
                x = F.transpose(x, (0, 2, 3, 1))
            y = F.Flatten(x)
        elif op == "add":
            y = F.add_n(*[values[source] for source in node["inputs"]])
        elif op == "concat":
            axis = 1 if len(shape) == 3 else len(shape)
            y = F.concat(*[values[source] for source in node["inputs"]], dim=axis)
        else:
            raise Unsupported("no {} in the MXNet adapter".format(op))
        values[name] = y

    def _lstm(self, F, node, x, values):
        layer, name = self.layers[node["name"]], node["name"]
        lengths = F.cast(values[node["lengths"]], "float32") if node["lengths"] else None
        true = {"sequence_length": lengths, "use_sequence_length": lengths is not None}
        initial = [values[source] for source in node["initial"]] if node["initial"] else None
        if isinstance(layer, rnn.LSTMCell):
            steps = self._shapes[node["inputs"][0]][0]
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
        if own_lengths(node, self._native):
            sequence, (h, c) = layer(x, states, lengths)
            h = F.squeeze(h, axis=0)
        else:
            sequence, (_, c) = layer(x, states)
            h = F.SequenceLast(sequence, **true)  # causal, so padding can't reach it
        values[name + ":h"], values[name + ":c"] = h, F.squeeze(c, axis=0)
        if node["output"] == "last":
            return h
        if lengths is not None:
            sequence = F.SequenceMask(sequence, value=0.0, **true)
        return F.swapaxes(sequence, dim1=0, dim2=1)


def _padded(F, node, x, value=0.0):
    (top, bottom), (left, right) = node["padding"]
    width = (0, 0, 0, 0, top, bottom, left, right)
    return F.pad(x, mode="constant", pad_width=width, constant_value=value)


def _pool(F, node, x):
    kind, pad = node["op"][: -len("pool")], (0, 0)
    window = {"kernel": tuple(node["size"]), "stride": tuple(node["stride"]), "pool_type": kind}
    if symmetric(node["padding"]):
        pad = tuple(p[0] for p in node["padding"])
    elif kind == "max":
        x = _padded(F, node, x, _LOWEST)
    else:
        one = F.ones_like(F.slice_axis(F.slice_axis(x, 0, 0, 1), 1, 0, 1))
        inside = F.Pooling(_padded(F, node, one), **window)
        return F.broadcast_div(F.Pooling(_padded(F, node, x), **window), inside)
    return F.Pooling(x, pad=pad, count_include_pad=False, **window)


# ---- losses -------------------------------------------------------------------------------------


class Training(nn.HybridBlock):
    """The net with its losses behind it: what is recorded, and traced as one."""

    def __init__(self, net, recipe):
        super(Training, self).__init__()
        self.net, self._losses = net, recipe["losses"]
        self.inputs = list(net.inputs)
        for spec in self._losses:
            for name in (spec["target"], spec["mask"]):
                if name is not None and name not in self.inputs:
                    self.inputs.append(name)

    def hybrid_forward(self, F, *arrays):
        batch = dict(zip(self.inputs, arrays))
        values = self.net.run(F, {name: batch[name] for name in self.net.inputs})
        parts = [_loss(F, s, values[s["output"]], batch) * s["weight"] for s in self._losses]
        return parts[0] if len(parts) == 1 else F.add_n(*parts)


def _loss(F, spec, output, batch):
    target, name = batch[spec["target"]], spec["name"]
    if name == "softmax-cross-entropy":
        places = -F.pick(F.log_softmax(output, axis=-1), target, axis=-1)
    elif name == "sigmoid-cross-entropy":
        softplus = F.Activation(-F.abs(output), act_type="softrelu")
        places = F.relu(output) - output * target + softplus
    elif name == "mean-squared-error":
        places = F.square(output - target)
    else:
        places = F.abs(output - target)
    if spec["mask"] is None:
        return F.mean(places)
    mask = F.cast(batch[spec["mask"]], "float32")
    return F.sum(places * mask) / F.sum(mask)
