"""The model: one step of training, prediction, weights in and out."""

import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import rnn

from bench.adapters.base import Model, Prepared
from bench.adapters.channels_first import Layout, shape_for, value_in
from bench.adapters.mxnet.layers import Layers, Net, own_lengths, parameters_of, second_bias
from bench.adapters.mxnet.mixing import mix
from bench.adapters.mxnet.parts import Parts, with_losses
from bench.adapters.mxnet.training import (
    NAG,
    AdaDelta,
    clip,
    correct_adam,
    corrects_adam,
    optimizer_of,
    set_rate,
)
from bench.ops import (
    host_nodes,
    nodes_for,
    read_by_losses,
    trained_nodes,
    values_of,
)
from bench.weights import is_state


class GluonModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout = Layout(graph)
        self._context = mx.gpu(options.gpu) if options.device == "gpu" else mx.cpu()
        self._native = native = options.setting == "native"
        self._layers = Layers(graph, self._layout, native)
        trained = trained_nodes(graph, recipe)
        Part = Net if not host_nodes(graph) else Parts
        self._every = Part(graph, self._layers, graph["nodes"], values_of(graph))
        self._every.initialize(ctx=self._context)
        outputs = graph["outputs"]
        self._prediction = Part(graph, self._layers, nodes_for(graph, outputs), outputs)
        net = Part(graph, self._layers, trained, sorted(read_by_losses(recipe)))
        self._training = with_losses(net, recipe, self._layers.shapes)
        if options.variant == "hybrid":
            self._prediction.hybridize(static_alloc=True, static_shape=True)
            self._training.hybridize(static_alloc=True, static_shape=True)
            self._every.hybridize(False)  # the layers too: they are run one by one
        self._trained = list(self._trained_parameters(trained, native))
        self._optimizer = optimizer_of(recipe, self._trained, native)
        self._trainer = gluon.Trainer([p for _, _, p in self._trained], self._optimizer)
        self._unbiased = [
            node
            for node in trained
            if node["op"] == "batchnorm" and node["unbiased"] and not native
        ]
        self._before = None  # of the running variances, where they are made unbiased
        self._corrects_adam = corrects_adam(recipe, native)
        self._steps = 0
        self.path = self._describe_path(options, native)

    def _describe_path(self, options, native):
        o = self._optimizer
        numbers = ("lr", "wd", "momentum", "beta1", "beta2", "rho", "epsilon")
        lstms = [node for node in self._graph["nodes"] if node["op"] == "lstm"]
        cells = [n["name"] for n in lstms if isinstance(self._layers.of(n), rnn.LSTMCell)]
        host = {"host node": "called between two blocks"} if host_nodes(self._graph) else {}
        return {
            **host,
            "loop": options.variant,
            "layout": "NCHW",
            "optimizer": {key: getattr(o, key) for key in numbers if hasattr(o, key)},
            "adadelta": "with a learning rate" if isinstance(o, AdaDelta) else "as it is",
            "nesterov": "decay in the gradient" if isinstance(o, NAG) else "as it is",
            "adam": "epsilon corrected each step" if self._corrects_adam else "as it is",
            "running variance": "made unbiased each step" if self._unbiased else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "lstm": "fused, "
            + ("with LSTMCell for " + ", ".join(cells) if cells else "throughout"),
            "lengths": "given to MXNet, which ignores them on a CPU"
            if any(own_lengths(node, native) for node in lstms)
            else "taken from the sequence",
        }

    def _trained_parameters(self, nodes, native):
        """(node, canonical name, gluon parameter) of everything that learns."""
        for node in nodes:
            if not node["parameters"]:
                continue
            layer = self._layers.of(node)
            for name, parameter in sorted(parameters_of(node, layer).items()):
                if not is_state(node, name):
                    yield node, name, parameter
            if node["op"] == "lstm" and native:
                yield node, _SECOND_BIAS, second_bias(layer)

    def prepared(self, batch):
        return batch if isinstance(batch, Prepared) else self._on_host(self._training.inputs, batch)

    def _on_host(self, names, batch):
        host = mx.cpu()
        arrays = {name: value_in(batch[name]) for name in names}
        return Prepared((name, mx.nd.array(a, host, a.dtype)) for name, a in arrays.items())

    def _arrays(self, names, batch):
        """Of the batch, on the device."""
        ready = batch if isinstance(batch, Prepared) else self._on_host(names, batch)
        return [ready[name].as_in_context(self._context) for name in names]

    def _loss_of(self, arrays):
        with autograd.record():
            return self._training(*arrays)

    def _loss_and_backward(self, batch):
        arrays = self._arrays(self._training.inputs, batch)
        variances = [self._layers.of(node).running_var.data() for node in self._unbiased]
        if self._before is None:
            self._before = [mx.nd.zeros_like(variance) for variance in variances]
        count = len(variances)
        mix(self._before, [0.0] * count, variances, [1.0] * count)  # a copy
        loss = self._loss_of(arrays)
        loss.backward()
        self._unbias(variances, batch, arrays[0].shape[0])
        return loss

    def _unbias(self, variances, batch, rows):
        """MXNet adds the biased variance: put the factor n/(n-1) on what it added."""
        factors, shares = [], []
        for node in self._unbiased:
            n = rows * int(np.prod(shape_for(self._graph, node, batch)[:-1]))
            factors.append(n / max(1.0, n - 1.0))
            shares.append((1 - factors[-1]) * node["keep"])
        mix(variances, factors, self._before, shares)

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        clip(self._recipe, self._trained, self._native)
        self._steps += 1
        if self._corrects_adam:
            correct_adam(self._optimizer, self._recipe, self._steps)
        self._trainer.step(1)  # the loss is a mean already
        return loss

    def set_rate(self, rate):
        set_rate(self._trainer, self._recipe, rate, self._native)

    def losses(self, handles):
        return [handle.asscalar().item() for handle in handles]

    def predict(self, batch):
        values = self._prediction(*self._arrays(self._prediction.inputs, batch))
        return self._canonical_values(self._graph["outputs"], values)

    def activations(self, batch, training=False):
        arrays = self._arrays(self._every.inputs, batch)
        with autograd.train_mode() if training else autograd.predict_mode():
            values = self._every(*arrays)
        return self._canonical_values(values_of(self._graph), values)

    def _canonical_values(self, names, values):
        return {
            name: self._layout.value_out(name, value.asnumpy())
            for name, value in zip(names, values)
        }

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        gradients = {}
        for node, name, parameter in self._trained:
            if name != _SECOND_BIAS:
                value = self._canonical(node, name, parameter.grad(self._context))
                gradients.setdefault(node["name"], {})[name] = value
        return loss.asscalar().item(), gradients

    def run_forward(self, batch):
        self._loss_of(self._arrays(self._training.inputs, batch))
        self.sync()

    def run_backward(self, batch):
        self._loss_of(self._arrays(self._training.inputs, batch)).backward()
        self.sync()

    def _canonical(self, node, name, array):
        return self._layout.parameter_out(node, name, array.asnumpy())

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _second_biases(self):
        """(node, parameter) of the second bias of each LSTM, where it learns."""
        for node in self._nodes_with_weights():
            if node["op"] == "lstm" and self._native:
                yield node, second_bias(self._layers.of(node))

    def weights(self):
        weights = {
            node["name"]: {
                name: self._canonical(node, name, parameter.data(self._context))
                for name, parameter in parameters_of(node, self._layers.of(node)).items()
            }
            for node in self._nodes_with_weights()
        }
        for node, parameter in self._second_biases():  # the canonical bias is the sum of both
            second = self._canonical(node, "bias", parameter.data(self._context))
            own = weights[node["name"]]
            own["bias"] = own["bias"] + second
        return weights

    def load(self, weights):
        self._before = None  # else what is not a number there would stay
        for node in self._nodes_with_weights():
            for name, parameter in parameters_of(node, self._layers.of(node)).items():
                value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                parameter.set_data(mx.nd.array(value, self._context))
        for _, parameter in self._second_biases():
            parameter.set_data(mx.nd.zeros(parameter.shape, self._context))

    def sync(self):
        mx.nd.waitall()

    def save_native(self, folder):
        self._every.save_parameters(os.path.join(folder, "model.params"))
        self._trainer.save_states(os.path.join(folder, "optimizer.states"))


_SECOND_BIAS = "second_bias"
