"""The model: one step of training, prediction, weights in and out."""

import os

import numpy as np
import torch

from bench.adapters.base import Model, Prepared, steps_of, weighted_sum
from bench.adapters.channels_first import Layout, value_in
from bench.adapters.torch import tuned
from bench.adapters.torch.host_operator import host_call
from bench.adapters.torch.layers import Net, tensors_of
from bench.adapters.torch.training import clip, correct_adam, corrects_adam, loss_of, optimizer_of
from bench.ops import host_nodes, nodes_for, read_by_losses, trained_nodes, values_of
from bench.weights import is_state


class TorchModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._layout = Layout(graph)
        on_gpu = options.device == "gpu"
        self._device = torch.device("cuda", options.gpu) if on_gpu else torch.device("cpu")
        native = self._native = options.setting == "native"
        compiled = options.variant == "compile"
        on_host = {node["name"]: host_call(node, compiled) for node in host_nodes(graph)}
        self._net = Net(graph, self._layout, native, on_host).to(self._device)
        self._trained = trained_nodes(graph, recipe)
        self._training_steps = steps_of(self._trained, read_by_losses(recipe))
        outputs = graph["outputs"]
        self._prediction_steps = steps_of(nodes_for(graph, outputs), set(outputs))
        self._forward = self._loss_of
        if compiled:
            torch.compiler.reset()  # after a few models in one process it would stop compiling
            # 2.13 loses gradients behind a max-pooling, at some sizes of batch, when the compiler
            # chooses the convolutions' layout
            settings = {} if native else {"options": {"layout_optimization": False}}
            self._forward = torch.compile(self._loss_of, **settings)
        settings = {"fused": True} if tuned.fused(recipe, options) else {}
        self._optimizer = optimizer_of(recipe, list(self._parameters()), native, **settings)
        self._steps = 0
        self._corrects_adam = corrects_adam(recipe, native)
        self.path = {
            "loop": options.variant,
            "layout": "the compiler's" if native and compiled else "NCHW",
            "adam": "epsilon corrected each step" if self._corrects_adam else "as it is",
            "weight decay": "on every parameter" if native else "on kernels and tables",
        }
        if options.variant == "tuned":
            self.path["tuned"] = tuned.tricks(recipe, options)
        if host_nodes(graph):
            self.path["host node"] = "custom operator" if compiled else "called between layers"

    def _parameters(self):
        """(node, canonical name, tensor) of everything that learns."""
        for node in self._trained:
            if not node["parameters"]:
                continue
            layer = self._net.layer(node)
            for name, tensor in sorted(tensors_of(node, layer).items()):
                if not is_state(node, name):
                    yield node, name, tensor
            if node["op"] == "lstm" and layer.bias_hh_l0.requires_grad:
                yield node, _SECOND_BIAS, layer.bias_hh_l0

    def _loss_of(self, batch):
        values = self._net(batch, self._training_steps)
        losses = self._recipe["losses"]
        return weighted_sum((spec["weight"], loss_of(spec, values, batch)) for spec in losses)

    def prepared(self, batch):
        if isinstance(batch, Prepared):
            return batch
        tensors = {k: torch.from_numpy(value_in(v)) for k, v in batch.items()}
        # indices, labels and lengths are int64 in PyTorch: before 1.8 it takes nothing else
        return Prepared((k, t if t.is_floating_point() else t.long()) for k, t in tensors.items())

    def _tensors(self, batch):
        """The batch on the device."""
        tensors = self.prepared(batch)
        if self._device.type == "cpu":
            return dict(tensors)
        return {k: t.to(self._device) for k, t in tensors.items()}

    def train_step(self, batch):
        if not self._net.training:  # it would walk through all layers
            self._net.train()
        self._optimizer.zero_grad()
        loss = self._forward(self._tensors(batch))
        loss.backward()
        clip(self._recipe, self._optimizer, self._native)
        self._steps += 1
        if self._corrects_adam:
            correct_adam(self._optimizer, self._recipe, self._steps)
        self._optimizer.step()
        return loss.detach()

    def set_rate(self, rate):
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def losses(self, handles):
        return torch.stack(list(handles)).tolist()

    def predict(self, batch):
        self._net.eval()
        return self._values(batch, self._prediction_steps, self._graph["outputs"])

    def activations(self, batch, training=False):
        self._net.train(training)
        names = values_of(self._graph)
        return self._values(batch, steps_of(self._graph["nodes"], set(names)), names)

    def _values(self, batch, steps, names):
        with torch.no_grad():
            values = self._net(self._tensors(batch), steps)
        return {
            name: self._layout.value_out(name, values[name].detach().cpu().numpy())
            for name in names
        }

    def gradients(self, batch):
        self._net.train()
        self._optimizer.zero_grad()
        loss = self._loss_of(self._tensors(batch))
        loss.backward()
        gradients = {}
        for node, name, tensor in self._parameters():
            if name != _SECOND_BIAS and tensor.grad is not None:
                value = self._canonical(node, name, tensor.grad)
                gradients.setdefault(node["name"], {})[name] = value
        self._optimizer.zero_grad()
        return loss.item(), gradients

    def run_forward(self, batch):
        self._net.train()
        self._forward(self._tensors(batch)).item()

    def run_backward(self, batch):
        self._net.train()
        self._optimizer.zero_grad()
        self._forward(self._tensors(batch)).backward()
        self.sync()

    def _canonical(self, node, name, tensor):
        return self._layout.parameter_out(node, name, tensor.detach().cpu().numpy())

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
        with torch.no_grad():
            for node in self._nodes_with_weights():
                for name, tensor in tensors_of(node, self._net.layer(node)).items():
                    value = self._layout.parameter_in(node, name, weights[node["name"]][name])
                    tensor.copy_(torch.from_numpy(np.ascontiguousarray(value)))
            for _, tensor in self._second_biases():
                tensor.zero_()

    def sync(self):
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def save_native(self, folder):
        torch.save(self._net.state_dict(), os.path.join(folder, "model.pt"))
        torch.save(self._optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))


_SECOND_BIAS = "second_bias"
"""PyTorch's LSTM has two biases; under `native` both learn."""
