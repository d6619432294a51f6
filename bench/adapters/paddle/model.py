"""The model: one step of training, prediction, weights in and out."""

import os

import numpy as np
import paddle

from bench.adapters.base import Model, Prepared, weighted_sum
from bench.adapters.channels_first import Layout, shape_for, value_in
from bench.adapters.paddle.layers import Net, parameter_in, parameter_out, tensors_of
from bench.adapters.paddle.parts import Parts
from bench.adapters.paddle.training import (
    clip,
    loss_of,
    move_epsilon,
    moves_epsilon,
    optimizer_of,
)
from bench.ops import (
    host_nodes,
    nodes_for,
    read_by_losses,
    trained_nodes,
    values_of,
)
from bench.weights import is_state


class PaddleModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe, self._device = graph, recipe, options.device
        self._layout = Layout(graph)
        self._native = options.setting == "native"
        self._trained = trained_nodes(graph, recipe)
        purposes = {
            "train": (self._trained, read_by_losses(recipe)),
            "predict": (nodes_for(graph, graph["outputs"]), set(graph["outputs"])),
            "show": (graph["nodes"], set(values_of(graph))),
        }
        static = options.variant == "static"
        self._parts = Parts(graph, purposes) if static and host_nodes(graph) else None
        programs = self._parts.programs if self._parts else purposes
        self._net = Net(graph, self._layout, self._native, programs)
        if static:
            # whole or not at all: left alone, Paddle runs eagerly what it can't trace or finds
            # too small, and says nothing
            self._net = paddle.jit.to_static(self._net, full_graph=True)
        self._unbiased = [
            node for node in self._trained if node.get("unbiased") and not self._native
        ]
        self._optimizer = optimizer_of(recipe, self._parameters(), self._native)
        self._steps = 0
        self._moves_epsilon = moves_epsilon(recipe, self._native)
        rule = type(self._optimizer).__name__
        self.path = {
            "loop": "static program for each size of batch" if static else "eager",
            "layout": "NCHW",
            "softmax-cross-entropy": "Paddle's; a row's loss is cut off at 64, its gradient is not"
            if self._native
            else "Paddle's; where it cuts a row's loss off at 64, the rest is added",
            "lstm": "nn.LSTM's kernel, lengths inside",
            "optimizer": rule + (", Paddle's defaults" if self._native else ", explicit"),
            "batchnorm": "Paddle's defaults, biased"
            if self._native
            else "variance corrected if unbiased",
            "weight decay": "on every parameter" if self._native else "on kernels and tables",
        }
        if host_nodes(graph):
            places = "programs: one before it, one behind it" if static else "layers"
            self.path["host node"] = "called between " + places

    def _parameters(self):
        """(node, canonical name, tensor) of everything that learns."""
        for node in self._trained:
            if not node["parameters"]:
                continue
            layer = self._net.layer(node)
            for name, tensor in sorted(tensors_of(node, layer).items()):
                if not is_state(node, name):
                    yield node, name, tensor
            if node["op"] == "lstm" and self._native:
                yield node, _SECOND_BIAS, layer.bias_hh_l0

    def prepared(self, batch):
        """Paddle is of a CPU here: there is nothing to bring to a device."""
        if isinstance(batch, Prepared):
            return batch
        return Prepared((k, paddle.to_tensor(value_in(v))) for k, v in batch.items())

    def _inputs(self, arrays):
        return {spec["name"]: arrays[spec["name"]] for spec in self._graph["inputs"]}

    def _run(self, inputs, purpose):
        if self._parts:
            return self._parts.run(self._net, inputs, purpose)
        return self._net(inputs, purpose)

    def _loss_of(self, batch):
        self._net.train()
        tensors = self.prepared(batch)
        values = self._run(self._inputs(tensors), "train")
        losses, native = self._recipe["losses"], self._native
        return weighted_sum(
            (spec["weight"], loss_of(spec, values, tensors, native)) for spec in losses
        )

    def _loss_and_backward(self, batch):
        kept = [self._variance(node) * node["keep"] for node in self._unbiased]
        batch = self.prepared(batch)
        loss = self._loss_of(batch)
        loss.backward()
        rows = len(next(iter(batch.values())))
        for node, old in zip(self._unbiased, kept):
            # Paddle keeps the biased variance: put the factor n/(n-1) into what it has added
            shape = shape_for(self._graph, node, batch)
            n = rows * int(np.prod(shape[:-1]))
            variance = self._variance(node)
            paddle.assign(old + (variance - old) * (n / (n - 1.0)), variance)
        return loss

    def _variance(self, node):
        return self._net.layer(node)._variance

    def train_step(self, batch):
        loss = self._loss_and_backward(batch)
        clip(self._recipe, self._parameters(), self._native)
        self._steps += 1
        if self._moves_epsilon:
            move_epsilon(self._optimizer, self._recipe, self._steps)
        self._optimizer.step()
        self._net.clear_gradients()
        return loss.detach()

    def set_rate(self, rate):
        self._optimizer.set_lr(rate)

    def losses(self, handles):
        return paddle.stack(list(handles)).tolist()

    def predict(self, batch):
        self._net.eval()
        return self._values(batch, "predict")

    def activations(self, batch, training=False):
        (self._net.train if training else self._net.eval)()
        return self._values(batch, "show")

    def _values(self, batch, purpose):
        with paddle.no_grad():
            values = self._run(self.prepared(self._inputs(batch)), purpose)
        return {name: self._layout.value_out(name, value.numpy()) for name, value in values.items()}

    def gradients(self, batch):
        loss = self._loss_and_backward(batch)
        gradients = {}
        for node, name, tensor in self._parameters():
            if name != _SECOND_BIAS:
                value = self._canonical(node, name, tensor.grad)
                gradients.setdefault(node["name"], {})[name] = value
        self._net.clear_gradients()
        return float(loss), gradients

    def run_forward(self, batch):
        float(self._loss_of(batch))

    def run_backward(self, batch):
        self._loss_of(batch).backward()
        self.sync()
        self._net.clear_gradients()

    def _canonical(self, node, name, tensor):
        return parameter_out(self._layout, node, name, tensor.numpy())

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def _second_biases(self):
        """(node, tensor) of the second bias of each LSTM, where it learns."""
        for node in self._nodes_with_weights():
            if node["op"] == "lstm" and self._native:
                yield node, self._net.layer(node).bias_hh_l0

    def weights(self):
        weights = {
            node["name"]: {
                name: self._canonical(node, name, tensor)
                for name, tensor in tensors_of(node, self._net.layer(node)).items()
            }
            for node in self._nodes_with_weights()
        }
        for node, tensor in self._second_biases():  # the canonical bias is the sum of both
            own = weights[node["name"]]
            own["bias"] = own["bias"] + self._canonical(node, "bias", tensor)
        return weights

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, tensor in tensors_of(node, self._net.layer(node)).items():
                value = parameter_in(self._layout, node, name, weights[node["name"]][name])
                tensor.set_value(np.ascontiguousarray(value))
        for _, tensor in self._second_biases():
            tensor.set_value(np.zeros(tensor.shape, np.float32))

    def sync(self):
        if self._device == "gpu":
            paddle.device.synchronize()

    def save_native(self, folder):
        paddle.save(self._net.state_dict(), os.path.join(folder, "model.pdparams"))
        paddle.save(self._optimizer.state_dict(), os.path.join(folder, "optimizer.pdopt"))


_SECOND_BIAS = "second_bias"
"""Paddle's LSTM has two biases; under `native` both learn."""
