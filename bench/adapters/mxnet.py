"""MXNet: gluon blocks (mxnet_layers), autograd, gluon.Trainer; hybridised, or imperative."""

import math
import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import rnn

from bench.adapters.base import Model
from bench.adapters.channels_first import Layout, value_in
from bench.adapters.mxnet_layers import Net, Training, bias, own_lengths
from bench.formats import Unsupported
from bench.libraries import find, openmp_threads
from bench.weights import is_decayed, is_state

VARIANTS = ("hybrid", "imperative")


def set_up(options):
    if options.threads and openmp_threads() != options.threads:
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
        "threads": openmp_threads(),  # left alone: half of the logical processors
        "kernels": features or {"MKLDNN": find(r"libmkldnn") is not None},
    }


def build(graph, recipe, options):
    return GluonModel(graph, recipe, options)


def _context(options):
    return mx.gpu(0) if options.device == "gpu" else mx.cpu()


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
        "bias": bias(layer, "i2h"),
    }


# ---- optimiser ----------------------------------------------------------------------------------


class AdaDelta(mx.optimizer.AdaDelta):
    """MXNet's, with the learning rate that it leaves out and coupled weight decay."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        grad = grad * self.rescale_grad + self._get_wd(index) * weight
        squares, deltas = state
        squares[:] = self.rho * squares + (1 - self.rho) * mx.nd.square(grad)
        root = mx.nd.sqrt(deltas + self.epsilon) / mx.nd.sqrt(squares + self.epsilon)
        delta = root * grad
        deltas[:] = self.rho * deltas + (1 - self.rho) * mx.nd.square(delta)
        weight[:] -= self._get_lr(index) * delta


class NAG(mx.optimizer.NAG):
    """MXNet's, with the weight decay in the gradient: since 1.6 it stands beside the momentum."""

    def update_multi_precision(self, index, weight, grad, state):
        decayed = grad + self._get_wd(index) / self.rescale_grad * weight
        wd, self.wd = self.wd, 0.0
        super(NAG, self).update_multi_precision(index, weight, decayed, state)
        self.wd = wd


def _optimizer(recipe, native):
    o, kinds = recipe["optimizer"], mx.optimizer
    common = {"learning_rate": o["lr"], "wd": o.get("weight_decay", 0.0)}
    if o["name"] == "sgd":
        helped = NAG if common["wd"] and not native else kinds.NAG
        return (helped if o["nesterov"] else kinds.SGD)(momentum=o["momentum"], **common)
    if o["name"] == "adam":
        explicit = {} if native else {name: o[name] for name in ("beta1", "beta2", "epsilon")}
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
        o = self._optimizer
        kinds = ("lr", "wd", "momentum", "beta1", "beta2", "rho", "epsilon")
        given_lengths = [n for n in self._graph["nodes"] if n["op"] == "lstm"]
        cells = [n for n, layer in self._net.layers.items() if isinstance(layer, rnn.LSTMCell)]
        return {
            "loop": options.variant,
            "layout": "NCHW",
            "optimizer": {key: getattr(o, key) for key in kinds if hasattr(o, key)},
            "adadelta": "with a learning rate" if isinstance(o, AdaDelta) else "as it is",
            "nesterov": "decay in the gradient" if isinstance(o, NAG) else "as it is",
            "adam": "epsilon helped each step" if self._helps_adam else "as it is",
            "running variance": "made unbiased each step" if self._unbiased else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "lstm": "fused, "
            + ("with LSTMCell for " + ", ".join(cells) if cells else "throughout"),
            "lengths": "given to MXNet, which ignores them on a CPU"
            if any(own_lengths(node, native) for node in given_lengths)
            else "taken from the sequence",
        }

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
            values = self._net.run(mx.nd, dict(zip(self._net.inputs, arrays)), keep=True)
        return {
            node["name"]: self._layout.value_out(node["name"], values[node["name"]].asnumpy())
            for node in self._graph["nodes"]
        }

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        found = {}
        for node, name, parameter in self._trained:
            value = self._layout.parameter_out(node, name, parameter.grad(self._context).asnumpy())
            found.setdefault(node["name"], {})[name] = value
        return loss.asscalar().item(), found

    def weights(self):
        return {
            node["name"]: {
                name: self._layout.parameter_out(
                    node, name, parameter.data(self._context).asnumpy()
                )
                for name, parameter in _parameters(node, self._layer(node)).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, parameter in _parameters(node, self._layer(node)).items():
                value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                parameter.set_data(mx.nd.array(value, self._context))

    def sync(self):
        mx.nd.waitall()

    def save_native(self, folder):
        self._net.save_parameters(os.path.join(folder, "model.params"))
        self._trainer.save_states(os.path.join(folder, "optimizer.states"))
