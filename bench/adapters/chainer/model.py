"""The model: one step of training, prediction, weights in and out."""

import os

import chainer
import numpy as np
from chainer.backends import cuda

from bench.adapters.base import Model, Prepared, steps_of, weighted_sum
from bench.adapters.chainer.layers import Net, arrays_of, second_bias_of
from bench.adapters.chainer.training import (
    AdaDelta,
    NesterovAG,
    array_of,
    correct_adam,
    corrects_adam,
    loss_of,
    optimizer_of,
    set_rate,
)
from bench.adapters.channels_first import Layout, value_in
from bench.ops import host_nodes, nodes_for, read_by_losses, trained_nodes, values_of
from bench.weights import is_state


class ChainerModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout = Layout(graph)
        self._native = options.setting == "native"
        self._net = Net(graph, self._layout, self._native)
        if options.device == "gpu":
            self._net.to_gpu(options.gpu)
        self._trained = trained_nodes(graph, recipe)
        self._training_steps = steps_of(self._trained, read_by_losses(recipe))
        outputs = graph["outputs"]
        self._prediction_steps = steps_of(nodes_for(graph, outputs), set(outputs))
        self._optimizer = optimizer_of(recipe, self._net, self._parameters(), self._native)
        self._steps = 0
        self._corrects_adam = corrects_adam(recipe, self._native)
        rule = self._optimizer
        corrected = self._corrects_adam or isinstance(rule, (NesterovAG, AdaDelta))
        self.path = {
            "loop": options.variant,
            "layout": "NCHW",
            "optimizer": dict(rule.hyperparam.get_dict(), name=type(rule).__name__),
            "formula": "corrected" if corrected else "as it is",
            "weight decay": "on every parameter" if self._native else "on kernels and tables",
            "lstm": "NStepLSTM over ragged rows",
        }
        if host_nodes(graph):
            self.path["host node"] = "called between layers"

    def _parameters(self):
        """(node, canonical name, Chainer's parameters) of everything that learns."""
        for node in self._trained:
            if not node["parameters"]:
                continue
            link = self._net.link(node)
            for name, parameters in sorted(arrays_of(node, link).items()):
                if not is_state(node, name):
                    yield node, name, parameters
            if node["op"] == "lstm" and self._native:
                # else it stays: two biases would learn twice as fast as the one of the graph
                yield node, _SECOND_BIAS, second_bias_of(link)

    def prepared(self, batch):
        if isinstance(batch, Prepared):
            return batch
        return Prepared((name, value_in(value)) for name, value in batch.items())

    def _arrays(self, batch):
        """The batch on the device."""
        return {name: self._net.xp.asarray(v) for name, v in self.prepared(batch).items()}

    def _loss_of(self, batch):
        arrays = self._arrays(batch)
        values = self._net(arrays, self._training_steps)
        losses = self._recipe["losses"]
        return weighted_sum((spec["weight"], loss_of(spec, values, arrays)) for spec in losses)

    def _loss_and_backward(self, batch):
        loss = self._loss_of(batch)
        self._net.cleargrads()
        loss.backward()
        return loss.array

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        self._steps += 1
        if self._corrects_adam:
            correct_adam(self._optimizer, self._recipe, self._steps)
        self._optimizer.update()
        return loss

    def set_rate(self, rate):
        set_rate(self._optimizer, rate, self._native)

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        return self._values(batch, self._prediction_steps, self._graph["outputs"], training=False)

    def activations(self, batch, training=False):
        names = values_of(self._graph)
        return self._values(batch, steps_of(self._graph["nodes"], set(names)), names, training)

    def _values(self, batch, steps, names, training):
        with chainer.using_config("train", training), chainer.no_backprop_mode():
            values = self._net(self._arrays(batch), steps)
        return {
            name: self._layout.value_out(name, cuda.to_cpu(array_of(values[name])))
            for name in names
        }

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        gradients = {}
        for node, name, parameters in self._parameters():
            if name != _SECOND_BIAS:
                value = self._canonical(node, name, [each.grad for each in parameters])
                gradients.setdefault(node["name"], {})[name] = value
        return float(loss), gradients

    def run_forward(self, batch):
        self._loss_of(batch)
        self.sync()

    def run_backward(self, batch):
        self._loss_and_backward(batch)
        self.sync()

    def _canonical(self, node, name, arrays):
        value = np.concatenate([cuda.to_cpu(array) for array in arrays])
        return self._layout.parameter_out(node, name, value)

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _second_biases(self):
        """(node, arrays) of the second bias of each LSTM, where it learns."""
        for node in self._nodes_with_weights():
            if node["op"] == "lstm" and self._native:
                yield node, [_array(each) for each in second_bias_of(self._net.link(node))]

    def weights(self):
        weights = {
            node["name"]: {
                name: self._canonical(node, name, [_array(each) for each in arrays])
                for name, arrays in arrays_of(node, self._net.link(node)).items()
            }
            for node in self._nodes_with_weights()
        }
        for node, arrays in self._second_biases():  # the canonical bias is the sum of both
            own = weights[node["name"]]
            own["bias"] = own["bias"] + self._canonical(node, "bias", arrays)
        return weights

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, arrays in arrays_of(node, self._net.link(node)).items():
                value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                for each, part in zip(arrays, np.split(value, len(arrays))):
                    _array(each)[...] = self._net.xp.asarray(part)
        for _, arrays in self._second_biases():
            for array in arrays:
                array[...] = 0

    def sync(self):
        if self._net.xp is not np:
            cuda.Stream.null.synchronize()

    def save_native(self, folder):
        chainer.serializers.save_npz(os.path.join(folder, "model.npz"), self._net)
        chainer.serializers.save_npz(os.path.join(folder, "optimizer.npz"), self._optimizer)


def _array(each):
    """Of a parameter that learns, or the running statistic itself."""
    return each.array if isinstance(each, chainer.Parameter) else each


_SECOND_BIAS = "second_bias"
"""Chainer's LSTM has two biases; under `native` both learn."""
