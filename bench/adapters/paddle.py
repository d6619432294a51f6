"""PaddlePaddle: nn layers, eager or as a static program, paddle.optimizer. Images are NCHW inside.

Its kernels on a CPU are its own around MKL's matrix product; oneDNN is in the wheel, but off.
"""

import ctypes
import os

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

from bench.adapters.base import Model, shapes_of, spent_after
from bench.adapters.channels_first import Layout, kernel_in, kernel_out, value_in
from bench.formats import Unsupported
from bench.libraries import find
from bench.weights import is_decayed, is_state

VARIANTS = ("eager", "static")


def set_up(options):
    if options.device == "gpu" and not paddle.device.cuda.device_count():
        raise Unsupported("this PaddlePaddle sees no CUDA device, or was built without CUDA")
    paddle.set_device("gpu" if options.device == "gpu" else "cpu")
    if options.threads:
        # of OpenMP and MKL; FLAGS_paddle_num_threads changes nothing, whenever it is set
        paddle.base.core.set_num_threads(options.threads)
    # a static program's operators run side by side if left alone, on threads of their own
    paddle.set_flags({"FLAGS_new_executor_serial_run": bool(options.threads)})
    paddle.seed(options.seed)  # before any layer draws its weights


def describe():
    cuda = paddle.device.is_compiled_with_cuda()
    return {
        "framework": "paddlepaddle",
        "version": paddle.__version__,
        "threads": _threads(),  # left alone: one, Paddle sets OMP_NUM_THREADS itself
        "kernels": {
            "onednn": paddle.get_flags("FLAGS_use_onednn")["FLAGS_use_onednn"],
            "mkl": find(r"libmklml") is not None,
            "cuda": paddle.version.cuda() if cuda else None,
            "cudnn": paddle.device.get_cudnn_version() if cuda else None,
        },
        "build": paddle.version.commit,
    }


def _threads():
    """Of the OpenMP that Paddle and MKL use; GNU's is in the process too, for oneDNN alone."""
    library = find(r"libiomp5")
    return ctypes.CDLL(library).omp_get_max_threads() if library else None


def build(graph, recipe, options):
    return PaddleModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _padding(node):
    """[top, bottom, left, right]: Paddle's layers take uneven padding as it is."""
    return node["padding"][0] + node["padding"][1]


def _layer(node, features, native):
    """The layer of a node that has parameters or a mode; None for a pure function."""
    op = node["op"]
    if op == "conv2d":
        return nn.Conv2D(
            features,
            node["filters"],
            node["kernel"],
            node["stride"],
            _padding(node),
            bias_attr=None if node["bias"] else False,
        )
    if op == "dense":
        return nn.Linear(features, node["units"], bias_attr=None if node["bias"] else False)
    if op == "batchnorm":
        explicit = {} if native else {"momentum": node["keep"], "epsilon": node["epsilon"]}
        if len(node["shape"]) == 3:
            return nn.BatchNorm2D(features, **explicit)
        return nn.BatchNorm1D(features, data_format="NLC", **explicit)
    if op == "embedding":
        return nn.Embedding(node["vocabulary"], node["units"])
    if op == "lstm":
        if native:
            return nn.LSTM(features, node["units"])
        # two biases would learn twice as fast as the one of the graph, so the second stays at
        # zero; without it Paddle would loop in Python, and if frozen the kernel's gradient fails
        zero = paddle.ParamAttr(initializer=nn.initializer.Constant(0.0))
        return nn.LSTM(features, node["units"], bias_hh_attr=zero)
    if op == "dropout":
        return nn.Dropout(node["rate"])
    return None


class Net(nn.Layer):
    """The graph as a layer: its layers by node, run in the graph's order."""

    def __init__(self, graph, layout, native):
        super(Net, self).__init__()
        self._graph, self._layout = graph, layout
        self._spent = spent_after(graph)
        self.layers = nn.LayerDict()
        shapes = shapes_of(graph)
        for node in graph["nodes"]:
            source = shapes[node["inputs"][0]]
            layer = _layer(node, source[-1] if source else 0, native)
            if layer is not None:
                self.layers[node["name"]] = layer

    def forward(self, inputs, keep=False):
        """The outputs by name; with `keep` every node's value."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(node, values)
            for name in () if keep else self._spent[node["name"]]:
                values.pop(name, None)
        return values if keep else {name: values[name] for name in self._graph["outputs"]}

    @paddle.jit.not_to_static  # its conditions are all about the graph: nothing to translate
    def _run(self, node, values):
        op, name = node["op"], node["name"]
        x = values[node["inputs"][0]]
        if op in ("conv2d", "dense", "embedding", "batchnorm", "dropout"):
            y = self.layers[name](x)
        elif op == "maxpool":
            y = F.max_pool2d(x, node["size"], node["stride"], _padding(node))
        elif op == "avgpool":
            y = F.avg_pool2d(x, node["size"], node["stride"], _padding(node))
        elif op == "globalavgpool":
            y = F.adaptive_avg_pool2d(x, 1).flatten(1)
        elif op == "globalmaxpool":  # equal values would share the gradient of max()
            y = F.adaptive_max_pool2d(x, 1).flatten(1)
        elif op == "lstm":
            y = self._lstm(node, x, values)
        elif op in ("relu", "tanh", "sigmoid"):
            y = getattr(F, op)(x)
        elif op == "flatten":
            if x.ndim == 4 and not self._layout.keeps_order(name):
                x = x.transpose([0, 2, 3, 1])
            y = x.flatten(1)
        elif op == "add":
            y = sum((values[source] for source in node["inputs"][1:]), x)
        elif op == "concat":
            y = paddle.concat([values[s] for s in node["inputs"]], axis=1 if x.ndim == 4 else -1)
        else:
            raise Unsupported("no {} in the PaddlePaddle adapter".format(op))
        values[name] = y

    def _lstm(self, node, x, values):
        name = node["name"]
        initial = None
        if node["initial"]:
            initial = tuple(values[source].unsqueeze(0) for source in node["initial"])
        lengths = values[node["lengths"]] if node["lengths"] else None
        # with lengths it ends at the true last step, and gives zeros behind it
        sequence, (h, c) = self.layers[name](x, initial, lengths)
        values[name + ":h"], values[name + ":c"] = h[0], c[0]
        return h[0] if node["output"] == "last" else sequence


# ---- weights ------------------------------------------------------------------------------------


def _tensors(node, layer):
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
    return {
        "input_kernel": layer.weight_ih_l0,
        "recurrent_kernel": layer.weight_hh_l0,
        "bias": layer.bias_ih_l0,
    }


def _to_paddle(node, name, value, layout):
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_in(value)
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_in(node["name"], value)
    return value.T if name in ("input_kernel", "recurrent_kernel") else value


def _from_paddle(node, name, tensor, layout):
    value = np.array(tensor.numpy())  # a copy, else it would change with the tensor
    if node["op"] == "conv2d" and name == "kernel":
        return kernel_out(value)
    if node["op"] == "dense" and name == "kernel":
        return layout.dense_out(node["name"], value)
    return value.T if name in ("input_kernel", "recurrent_kernel") else value


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec, values, batch):
    output, target = values[spec["output"]], batch[spec["target"]]
    function = {
        "softmax-cross-entropy": F.cross_entropy,
        "sigmoid-cross-entropy": F.binary_cross_entropy_with_logits,
        "mean-squared-error": F.mse_loss,
        "mean-absolute-error": F.l1_loss,
    }[spec["name"]]
    if spec["mask"] is None:
        return function(output, target)
    places = function(output, target, reduction="none")
    mask = batch[spec["mask"]].astype(places.dtype)
    return (places * mask).sum() / mask.sum()


def _optimizer(recipe, trained, native):
    o = recipe["optimizer"]
    # a decay of 0.0 would be computed and added; None is not
    decay = o.get("weight_decay", 0.0) or None
    groups = [{"params": [], "weight_decay": decay}, {"params": [], "weight_decay": None}]
    for _, name, tensor in trained:
        groups[0 if native or is_decayed(name) else 1]["params"].append(tensor)
    groups = [group for group in groups if group["params"]]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return paddle.optimizer.SGD(o["lr"], groups)
        return paddle.optimizer.Momentum(o["lr"], o["momentum"], groups, o["nesterov"])
    adam = o["name"] == "adam"
    rule = paddle.optimizer.Adam if adam else paddle.optimizer.Adadelta
    names = ("beta1", "beta2", "epsilon") if adam else ("rho", "epsilon")
    explicit = {} if native else {name: o[name] for name in names}
    return rule(o["lr"], parameters=groups, **explicit)


# ---- model --------------------------------------------------------------------------------------


class PaddleModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe, self._device = graph, recipe, options.device
        self._layout = Layout(graph)
        native = options.setting == "native"
        self._net = Net(graph, self._layout, native)
        static = options.variant == "static"
        if static:
            # whole or not at all: left alone, Paddle runs eagerly what it can't trace or finds
            # too small, and says nothing
            self._net = paddle.jit.to_static(self._net, full_graph=True)
        self._native = native
        self._unbiased = [node for node in graph["nodes"] if node.get("unbiased") and not native]
        self._optimizer = _optimizer(recipe, list(self.trained()), native)
        rule = type(self._optimizer).__name__
        self.path = {
            "loop": "static program for each size of batch" if static else "eager",
            "layout": "NCHW",
            "lstm": "nn.LSTM's kernel, lengths inside",
            "optimizer": "{}, {}".format(rule, "Paddle's defaults" if native else "explicit"),
            "batchnorm": "Paddle's defaults, biased" if native else "variance helped if unbiased",
            "weight decay": "on every parameter" if native else "on kernels and tables",
        }

    def trained(self):
        """(node, canonical name, tensor) of everything that learns."""
        for node in self._nodes_with_weights():
            layer = self._net.layers[node["name"]]
            for name, tensor in sorted(_tensors(node, layer).items()):
                if not is_state(node, name):
                    yield node, name, tensor
            if node["op"] == "lstm" and self._native:
                yield node, "second_bias", layer.bias_hh_l0

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _inputs(self, tensors):
        return {spec["name"]: tensors[spec["name"]] for spec in self._graph["inputs"]}

    def _loss_of(self, batch):
        tensors = {name: paddle.to_tensor(value_in(value)) for name, value in batch.items()}
        values = self._net(self._inputs(tensors))
        return sum(spec["weight"] * _loss(spec, values, tensors) for spec in self._recipe["losses"])

    def _loss_and_backward(self, batch):
        self._net.train()
        kept = [self._variance(node) * node["keep"] for node in self._unbiased]
        loss = self._loss_of(batch)
        loss.backward()
        rows = len(next(iter(batch.values())))
        for node, old in zip(self._unbiased, kept):
            # Paddle keeps the biased variance: put the factor n/(n-1) into what it has added
            n = rows * int(np.prod(node["shape"][:-1]))
            variance = self._variance(node)
            paddle.assign(old + (variance - old) * (n / (n - 1.0)), variance)
        return loss

    def _variance(self, node):
        return self._net.layers[node["name"]]._variance

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        self._optimizer.step()
        self._net.clear_gradients()
        return loss.detach()

    def losses(self, handles):
        return paddle.stack(list(handles)).tolist()

    def _values(self, batch, keep=False):
        tensors = {name: paddle.to_tensor(value_in(v)) for name, v in self._inputs(batch).items()}
        with paddle.no_grad():
            return self._net(tensors, keep)

    def _out(self, name, value):
        return self._layout.value_out(name, value.numpy())

    def predict(self, batch):
        self._net.eval()
        values = self._values(batch)
        return {name: self._out(name, values[name]) for name in self._graph["outputs"]}

    def activations(self, batch, training=False):
        (self._net.train if training else self._net.eval)()
        values = self._values(batch, keep=True)
        names = [node["name"] for node in self._graph["nodes"]]
        return {name: self._out(name, values[name]) for name in names}

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        found = {}
        for node, name, tensor in self.trained():
            if name != "second_bias":
                grads = found.setdefault(node["name"], {})
                grads[name] = _from_paddle(node, name, tensor.grad, self._layout)
        self._net.clear_gradients()
        return float(loss), found

    def weights(self):
        return {
            node["name"]: {
                name: _from_paddle(node, name, tensor, self._layout)
                for name, tensor in _tensors(node, self._net.layers[node["name"]]).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, tensor in _tensors(node, self._net.layers[node["name"]]).items():
                value = _to_paddle(node, name, weights[node["name"]][name], self._layout)
                tensor.set_value(np.ascontiguousarray(value))

    def sync(self):
        if self._device == "gpu":
            paddle.device.synchronize()

    def save_native(self, folder):
        paddle.save(self._net.state_dict(), os.path.join(folder, "model.pdparams"))
        paddle.save(self._optimizer.state_dict(), os.path.join(folder, "optimizer.pdopt"))
