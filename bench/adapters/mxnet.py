"""MXNet: gluon blocks, autograd, gluon.Trainer; hybridised, or imperative. Images are NCHW inside."""

import ctypes
import math
import os
import re

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

from bench.adapters.base import Model
from bench.adapters.channels_first import Layout, kernel_in, kernel_out, value_in
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("hybrid", "imperative")

_RELEASE = tuple(int(part) for part in mx.__version__.split(".")[:2])
_LOWEST = -3e38  # below any value, and within what MXNet reads as a float32


def set_up(options):
    if options.threads and _omp_threads() != options.threads:
        raise Unsupported("MXNet takes its threads from OMP_NUM_THREADS when it is imported")
    try:
        mx.nd.zeros((1,), ctx=_context(options)).wait_to_read()
    except mx.base.MXNetError:
        raise Unsupported("this MXNet sees no GPU")
    mx.random.seed(options.seed)  # before any parameter is drawn


def describe():
    features = {}
    if hasattr(mx, "runtime"):
        enabled = (name for name, f in mx.runtime.Features().items() if f.enabled)
        features = dict.fromkeys(sorted(enabled), True)
    return {
        "framework": "mxnet",
        "version": mx.__version__,
        "threads": _omp_threads(),  # left alone: half of the logical processors
        "kernels": features or {"MKLDNN": _mapped(r"libmkldnn") is not None},
    }


def build(graph, recipe, options):
    return GluonModel(graph, recipe, options)


def _context(options):
    return mx.gpu(0) if options.device == "gpu" else mx.cpu()


def _omp_threads():
    """What the OpenMP library that MXNet is linked with would use now: MXNet itself doesn't tell."""
    library = _mapped(r"lib(gomp|iomp5)")
    return ctypes.CDLL(library).omp_get_max_threads() if library else None


def _mapped(name):
    """The path of a library in this process."""
    with open("/proc/self/maps") as file:
        paths = [line.rstrip().split(" ")[-1] for line in file if "/" in line]
    return next((p for p in paths if re.match(name, os.path.basename(p))), None)


# ---- layers -------------------------------------------------------------------------------------


def _symmetric(padding):
    return all(before == after for before, after in padding)


def _layer(node, features, native, stepwise):
    """The block of a node that has parameters or a mode; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        padding = [p[0] for p in node["padding"]] if _symmetric(node["padding"]) else (0, 0)
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
            own = {"use_sequence_length": True} if _own_lengths(node, native) else {}
            lstm = rnn.LSTM(node["units"], input_size=features, **own)
        if not native:  # two biases would learn twice as fast as the one of the graph
            _bias(lstm, "h2h").grad_req = "null"
        return lstm
    if op == "dropout":
        return nn.Dropout(node["rate"])
    return None


def _own_lengths(node, native):
    """Whether MXNet's LSTM is given the lengths, which it ignores on a CPU without a word."""
    return native and node["lengths"] is not None and _RELEASE >= (1, 7)


def _bias(lstm, kind):
    return lstm.params.get("l0_" * isinstance(lstm, rnn.LSTM) + kind + "_bias")


class Net(nn.HybridBlock):
    """The graph as a block: its layers by node, run in the graph's order.

    `F` is mx.nd or, while a hybridised block is traced, mx.sym: shapes come from the graph.
    """

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self._graph, self._layout, self._native = graph, layout, native
        self._shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
        self._shapes.update((node["name"], node["shape"]) for node in graph["nodes"])
        used = {name for node in graph["nodes"] for name in node["inputs"]}
        used |= {node["lengths"] for node in graph["nodes"] if node.get("lengths")}
        states = {name for node in graph["nodes"] for name in node.get("initial") or []}
        self._passes_cell = {name[:-2] for name in states if name.endswith(":c")}
        self.inputs = [s["name"] for s in graph["inputs"] if s["name"] in used | states]
        self.layers = {}
        for node in graph["nodes"]:
            source = self._shapes[node["inputs"][0]]
            # the fused LSTM gives the cell's state after the last step only, not at a true length
            stepwise = node.get("lengths") and node["name"] in self._passes_cell
            layer = _layer(
                node,
                source[-1] if source else 0,
                native,
                stepwise and not _own_lengths(node, native),
            )
            if layer is not None:
                self.layers[node["name"]] = layer
                self.register_child(layer, node["name"])

    def hybrid_forward(self, F, *arrays):
        values = self.run(F, dict(zip(self.inputs, arrays)))
        return [values[name] for name in self._graph["outputs"]]

    def run(self, F, inputs):
        """Every node's value by name."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(F, node, values)
        return values

    def _run(self, F, node, values):
        op, name = node["op"], node["name"]
        x, shape = values[node["inputs"][0]], self._shapes[node["inputs"][0]]
        if op == "conv2d":
            y = self.layers[name](x if _symmetric(node["padding"]) else _padded(F, node, x))
        elif op == "dense" and len(shape) == 3:
            y = F.transpose(self.layers[name](F.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))
        elif op in ("dense", "embedding", "batchnorm", "dropout"):
            y = self.layers[name](x)
        elif op in ("maxpool", "avgpool"):
            y = _pool(F, node, x)
        elif op in ("globalmaxpool", "globalavgpool"):
            kind = op[len("global") : -len("pool")]
            y = F.Flatten(F.Pooling(x, kernel=(1, 1), global_pool=True, pool_type=kind))
        elif op == "lstm":
            y = self._lstm(F, node, x, values)
        elif op in ("relu", "tanh", "sigmoid"):
            y = F.Activation(x, act_type=op)
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
        if _own_lengths(node, self._native):
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
    if _symmetric(node["padding"]):
        pad = tuple(p[0] for p in node["padding"])
    elif kind == "max":
        x = _padded(F, node, x, _LOWEST)
    else:
        one = F.ones_like(F.slice_axis(F.slice_axis(x, 0, 0, 1), 1, 0, 1))
        inside = F.Pooling(_padded(F, node, one), **window)
        return F.broadcast_div(F.Pooling(_padded(F, node, x), **window), inside)
    return F.Pooling(x, pad=pad, count_include_pad=False, **window)


# ---- weights ------------------------------------------------------------------------------------


def _parameters(node, layer):
    """{canonical parameter: gluon parameter}."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        found = {"kernel": layer.weight}
        if node["bias"]:
            found["bias"] = layer.bias
        return found
    if op == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.running_mean,
            "variance": layer.running_var,
        }
    if op == "embedding":
        return {"table": layer.weight}
    fused = "l0_" * isinstance(layer, rnn.LSTM)
    return {
        "input_kernel": layer.params.get(fused + "i2h_weight"),
        "recurrent_kernel": layer.params.get(fused + "h2h_weight"),
        "bias": _bias(layer, "i2h"),
    }


def _to_mxnet(node, name, value, layout):
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_in(value)
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_in(node["name"], value).T
    return value.T if name in ("input_kernel", "recurrent_kernel") else value


def _from_mxnet(node, name, array, layout):
    value = array.asnumpy()
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_out(value)
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_out(node["name"], value.T)
    return value.T.copy() if name in ("input_kernel", "recurrent_kernel") else value


# ---- loss and optimiser -------------------------------------------------------------------------


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


class AdaDelta(mx.optimizer.AdaDelta):
    """MXNet's, with the learning rate that it leaves out and weight decay as part of the gradient."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        grad = grad * self.rescale_grad + self._get_wd(index) * weight
        squares, deltas = state
        squares[:] = self.rho * squares + (1 - self.rho) * mx.nd.square(grad)
        root = mx.nd.sqrt(deltas + self.epsilon) / mx.nd.sqrt(squares + self.epsilon)
        delta = root * grad
        deltas[:] = self.rho * deltas + (1 - self.rho) * mx.nd.square(delta)
        weight[:] -= self._get_lr(index) * delta


def _optimizer(recipe, native):
    o, kinds = recipe["optimizer"], mx.optimizer
    common = {"learning_rate": o["lr"], "wd": o.get("weight_decay", 0.0)}
    if o["name"] == "sgd":
        return (kinds.NAG if o["nesterov"] else kinds.SGD)(momentum=o["momentum"], **common)
    if o["name"] == "adam":
        explicit = {} if native else {"beta1": o["beta1"], "beta2": o["beta2"]}
        return kinds.Adam(**dict(common, **explicit))
    if native:
        return kinds.AdaDelta(**common)
    plain = o["lr"] == 1.0 and not common["wd"]
    return (kinds.AdaDelta if plain else AdaDelta)(rho=o["rho"], epsilon=o["epsilon"], **common)


# ---- model --------------------------------------------------------------------------------------


class GluonModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout, self._context = Layout(graph), _context(options)
        native = options.setting == "native"
        self._net = Net(graph, self._layout, native)
        self._training = Training(self._net, recipe)
        self._training.initialize(ctx=self._context)
        if options.variant == "hybrid":
            self._training.hybridize(static_alloc=True, static_shape=True)
        self._trained = [
            (node, name, parameter)
            for node in self._nodes_with_weights()
            for name, parameter in sorted(_parameters(node, self._layer(node)).items())
            if not is_state(node, name)
        ]
        if not native:  # gluon decays biases, gamma and beta too
            for _, name, parameter in self._trained:
                parameter.wd_mult = 1.0 if is_decayed(name) else 0.0
        self._optimizer = _optimizer(recipe, native)
        self._trainer = gluon.Trainer(self._training.collect_params(), self._optimizer)
        norms = [node for node in graph["nodes"] if node["op"] == "batchnorm"]
        self._unbiased = [] if native else [node for node in norms if node["unbiased"]]
        self._helps_adam = recipe["optimizer"]["name"] == "adam" and not native
        self._steps = 0
        self.path = self._chosen(options, native)

    def _chosen(self, options, native):
        kind = type(self._optimizer)
        cells = [n for n, layer in self._net.layers.items() if isinstance(layer, rnn.LSTMCell)]
        path = {
            "loop": options.variant,
            "static_alloc": options.variant == "hybrid",
            "layout": "NCHW",
            "optimizer": kind.__name__ + (" with a learning rate" if kind is AdaDelta else ""),
            "adam": "epsilon helped each step" if self._helps_adam else "as it is",
            "running variance": "made unbiased each step" if self._unbiased else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "lstm": {"fused": "RNN operator", "by steps, for the cell's state": cells},
        }
        if any(_own_lengths(node, native) for node in self._graph["nodes"] if "lengths" in node):
            path["lstm lengths"] = "given to MXNet, which ignores them on a CPU"
        if native:
            settings = ("lr", "wd", "momentum", "beta1", "beta2", "rho", "epsilon")
            path["defaults"] = {
                key: getattr(self._optimizer, key)
                for key in settings
                if hasattr(self._optimizer, key)
            }
        return path

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _layer(self, node):
        return self._net.layers[node["name"]]

    def _arrays(self, names, batch):
        return [
            mx.nd.array(value_in(batch[name]), self._context, batch[name].dtype) for name in names
        ]

    def _loss_and_backward(self, batch):
        arrays = self._arrays(self._training.inputs, batch)
        before = [self._layer(node).running_var.data().copy() for node in self._unbiased]
        with autograd.record():
            loss = self._training(*arrays)
        loss.backward()
        for node, old in zip(self._unbiased, before):
            self._unbias(node, old, arrays[0].shape[0])
        return loss

    def _unbias(self, node, old, batch):
        """MXNet adds the biased variance: put the factor n/(n-1) on what it added."""
        rows = batch * int(np.prod(node["shape"][:-1]))
        factor = rows / max(1.0, rows - 1.0)
        variance = self._layer(node).running_var.data()
        variance *= factor
        variance -= old * ((factor - 1) * node["keep"])

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        if self._helps_adam:
            self._help_adam()
        self._trainer.step(1)  # the loss is a mean already
        return loss

    def _help_adam(self):
        self._steps += 1
        o = self._recipe["optimizer"]
        self._optimizer.epsilon = o["epsilon"] * math.sqrt(1 - o["beta2"] ** self._steps)

    def losses(self, handles):
        return [handle.asscalar().item() for handle in handles]

    def predict(self, batch):
        values = self._net(*self._arrays(self._net.inputs, batch))
        return {
            name: self._layout.value_out(name, value.asnumpy())
            for name, value in zip(self._graph["outputs"], values)
        }

    def activations(self, batch, training=False):
        arrays = self._arrays(self._net.inputs, batch)
        with autograd.train_mode() if training else autograd.predict_mode():
            values = self._net.run(mx.nd, dict(zip(self._net.inputs, arrays)))
        return {
            node["name"]: self._layout.value_out(node["name"], values[node["name"]].asnumpy())
            for node in self._graph["nodes"]
        }

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        found = {}
        for node, name, parameter in self._trained:
            value = _from_mxnet(node, name, parameter.grad(self._context), self._layout)
            found.setdefault(node["name"], {})[name] = value
        return loss.asscalar().item(), found

    def weights(self):
        return {
            node["name"]: {
                name: _from_mxnet(node, name, parameter.data(self._context), self._layout)
                for name, parameter in _parameters(node, self._layer(node)).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, parameter in _parameters(node, self._layer(node)).items():
                value = _to_mxnet(node, name, weights[node["name"]][name], self._layout)
                parameter.set_data(mx.nd.array(value, self._context))

    def sync(self):
        mx.nd.waitall()

    def save_native(self, folder):
        self._net.save_parameters(os.path.join(folder, "model.params"))
        self._trainer.save_states(os.path.join(folder, "optimizer.states"))
