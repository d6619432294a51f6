"""The graph, run node by node with NumPy: a contender in float32, the judge in float64."""

import os

import numpy as np

from bench.adapters.base import Model, given
from bench.ops import extras_of, nodes_for, sources, trained_nodes, values_of
from bench.reference.layers import OPERATIONS, Context
from bench.reference.losses import loss_and_gradient
from bench.reference.optimizers import Optimizer
from bench.weights import initial_weights, is_frozen


class Reference(Model):
    path = {"kernels": "numpy im2col + BLAS"}
    operations = OPERATIONS
    """The passes of each op; tests put wrong ones here."""

    def __init__(self, graph, recipe, seed, dtype, weights=None):
        self._graph, self._recipe, self._dtype = graph, recipe, dtype
        self._random = np.random.RandomState(seed)
        self._optimizer = Optimizer(recipe)
        self._trained = trained_nodes(graph, recipe)
        self.load(initial_weights(graph, seed) if weights is None else weights)

    def train_step(self, batch):
        loss, gradients, state = self.backward(batch)
        self.step(gradients, state)
        return loss

    def set_rate(self, rate):
        self._optimizer.rate = rate

    def step(self, gradients, state):
        """Move the weights by these gradients; take over these running statistics."""
        self._optimizer.apply(self._weights, gradients)
        for node, values in state.items():
            self._weights[node].update(values)

    def losses(self, handles):
        return [float(loss) for loss in handles]

    def predict(self, batch):
        nodes = nodes_for(self._graph, self._graph["outputs"])
        values, _ = self._forward(batch, nodes, Context())
        return {name: values[name] for name in self._graph["outputs"]}

    def activations(self, batch, training=False):
        context = Context(training, self._random)
        values, _ = self._forward(batch, self._graph["nodes"], context)
        return {name: values[name] for name in values_of(self._graph)}

    def gradients(self, batch):
        loss, gradients, _ = self.backward(batch)
        return loss, gradients

    def loss(self, batch):
        """The loss of a training step alone."""
        values, _ = self._forward(batch, self._trained, Context(True, self._random))
        losses = self._recipe["losses"]
        return sum(spec["weight"] * self._loss_of(spec, values, batch)[0] for spec in losses)

    def run_forward(self, batch):
        self.loss(batch)

    def run_backward(self, batch):
        self.backward(batch)

    def weights(self):
        return {n: {k: v.copy() for k, v in p.items()} for n, p in self._weights.items()}

    def load(self, weights):
        self._weights = {
            node: {name: np.array(value, self._dtype) for name, value in parameters.items()}
            for node, parameters in weights.items()
        }

    def borrow(self, weights):
        """Use these very arrays: to predict with them, nothing has to be copied."""
        self._weights = weights

    def sync(self):
        pass  # NumPy has returned only when it was done

    def save_native(self, folder):
        flat = {n + "/" + k: v for n, p in self._weights.items() for k, v in p.items()}
        np.savez(os.path.join(folder, "model.npz"), **flat)
        np.savez(os.path.join(folder, "optimizer.npz"), **self._optimizer.state())

    # ---- forward and backward, with room for a subclass to disturb what passes

    def _passed(self, name, value):
        """Every node's value on its way to those who read it."""
        return value

    def _returned(self, name, gradient):
        """Every value's gradient on its way back to the node that made it."""
        return gradient

    def _loss(self, name, output, target, mask, divisor=None):
        return loss_and_gradient(name, output, target, mask, self._lean, divisor)

    _lean = 0.0
    _choice = None

    def _forward(self, batch, nodes, context):
        """Every value by name, and every node's cache."""
        values, caches = {}, {}
        for spec in self._graph["inputs"]:
            value = batch[spec["name"]]
            values[spec["name"]] = (
                value.astype(self._dtype) if spec["dtype"] == "float32" else value
            )
        for node in nodes:
            name, parameters = node["name"], self._weights.get(node["name"], {})
            forward, _ = self.operations[node["op"]]
            if node["op"] == "lstm":
                lengths = values[node["lengths"]] if node["lengths"] else None
                initial = [values[source] for source in node["initial"] or []]
                x = values[node["inputs"][0]]
                sequence, h, c, caches[name] = forward(node, x, parameters, lengths, initial)
                values[name + ":h"] = self._passed(name, h)
                values[name + ":c"] = self._passed(name, c)
                last = node["output"] == "last"
                values[name] = values[name + ":h"] if last else self._passed(name, sequence)
                continue
            inputs = [values[source] for source in node["inputs"]]
            value, caches[name] = forward(node, inputs, parameters, context)
            if node["op"] == "proposals":  # the same function for all: nothing is disturbed
                value, *more = (
                    each.astype(self._dtype) if each.dtype.kind == "f" else each for each in value
                )
                values.update(zip(extras_of(node), more))
                values[name] = value
            else:
                values[name] = self._passed(name, value)
        return values, caches

    def _loss_of(self, spec, values, batch):
        """(loss, its gradient) of one of the recipe's losses."""
        target = given(spec["target"], values, batch)
        mask = given(spec["mask"], values, batch) if spec["mask"] else None
        if target.dtype.kind == "f":
            target = target.astype(self._dtype)
        output = values[spec["output"]]
        return self._loss(spec["name"], output, target, mask, spec.get("divisor"))

    def backward(self, batch):
        """(loss, gradients, new running statistics) of a training step."""
        context = Context(True, self._random, self._lean, self._choice)
        values, caches = self._forward(batch, self._trained, context)
        flowing, total = {}, 0.0
        for spec in self._recipe["losses"]:
            loss, gradient = self._loss_of(spec, values, batch)
            total += spec["weight"] * loss
            _flow(flowing, spec["output"], (spec["weight"] * gradient).astype(self._dtype))
        gradients = {}
        for node in reversed(self._trained):
            name = node["name"]
            if node["op"] == "proposals":
                continue
            if node["op"] == "lstm":
                upstream, grads = self._lstm_backward(node, caches[name], values, flowing)
            else:
                _, backward = self.operations[node["op"]]
                gradient = self._returned(name, flowing.pop(name))
                upstream, grads = backward(node, caches[name], gradient)
            for source, gradient in zip(sources(node), upstream):
                if gradient is not None:
                    _flow(flowing, source, gradient)
            if grads and not is_frozen(node):
                gradients[name] = grads
        return total, gradients, context.state

    def _lstm_backward(self, node, cache, values, flowing):
        name = node["name"]
        h = values[name + ":h"]
        dh = flowing.pop(name + ":h", np.zeros_like(h))
        dc = flowing.pop(name + ":c", np.zeros_like(h))
        dsequence = np.zeros(cache[0].shape[:2] + h.shape[1:], h.dtype)
        if name in flowing:
            if node["output"] == "sequence":
                dsequence = flowing.pop(name)
            else:
                dh = dh + flowing.pop(name)
        flows = [self._returned(name, flow) for flow in (dsequence, dh, dc)]
        _, backward = self.operations["lstm"]
        dx, dh, dc, grads = backward(node, cache, *flows)
        return [dx] + ([dh, dc] if node["initial"] else []), grads


def _flow(flowing, name, gradient):
    flowing[name] = flowing[name] + gradient if name in flowing else gradient
