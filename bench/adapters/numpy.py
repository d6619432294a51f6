"""NumPy: the reference itself, as a contender in float32 and as the judge in float64."""

import os

import numpy as np

from bench.adapters.base import Model
from bench.reference import layers, lstm
from bench.reference.losses import loss_and_gradient
from bench.reference.optimizers import Optimizer
from bench.weights import initial_weights

VARIANTS = ("numpy",)


def set_up(options):
    if options.device != "cpu":
        raise ValueError("NumPy has no GPU")


def describe():
    return {"framework": "numpy", "version": np.__version__, "threads": _blas_threads()}


def _blas_threads():
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name):
            return int(os.environ[name])
    return len(os.sched_getaffinity(0))


def build(graph, recipe, options):
    return Reference(graph, recipe, options.seed, np.float32)


class Reference(Model):
    """The graph, run node by node."""

    path = {"kernels": "numpy im2col + BLAS"}

    def __init__(self, graph, recipe, seed, dtype):
        self._graph, self._recipe, self._dtype = graph, recipe, dtype
        self._random = np.random.RandomState(seed)
        self._optimizer = Optimizer(recipe)
        self._nodes = {node["name"]: node for node in graph["nodes"]}
        self.load(initial_weights(graph, seed))

    def train_step(self, batch):
        loss, gradients, context = self._backward(batch)
        self._optimizer.apply(self._weights, gradients)
        for node, values in context.state.items():
            self._weights[node].update(values)
        return loss

    def losses(self, handles):
        return [float(loss) for loss in handles]

    def predict(self, batch):
        values, _ = self._forward(batch, layers.Context())
        return {name: values[name] for name in self._graph["outputs"]}

    def activations(self, batch, training=False):
        values, _ = self._forward(batch, layers.Context(training, self._random))
        return {name: values[name] for name in self._nodes}

    def gradients(self, batch):
        loss, gradients, _ = self._backward(batch)
        return loss, gradients

    def weights(self):
        return {n: {k: v.copy() for k, v in p.items()} for n, p in self._weights.items()}

    def load(self, weights):
        self._weights = {
            node: {name: np.array(value, self._dtype) for name, value in parameters.items()}
            for node, parameters in weights.items()
        }

    def sync(self):
        pass  # NumPy has returned only when it was done

    def save_native(self, folder):
        flat = {f"{n}/{k}": v for n, p in self._weights.items() for k, v in p.items()}
        np.savez(os.path.join(folder, "model.npz"), **flat)

    def _forward(self, batch, context):
        """Every value by name, and every node's cache."""
        values, caches = {}, {}
        for spec in self._graph["inputs"]:
            value = batch[spec["name"]]
            values[spec["name"]] = (
                value.astype(self._dtype) if spec["dtype"] == "float32" else value
            )
        for node in self._graph["nodes"]:
            name = node["name"]
            parameters = self._weights.get(name, {})
            inputs = [values[source] for source in node["inputs"]]
            if node["op"] == "lstm":
                initial = (
                    [values[source] for source in node["initial"]] if node["initial"] else None
                )
                lengths = values[node["lengths"]] if node["lengths"] else None
                sequence, h, c, caches[name] = lstm.forward(
                    node, inputs[0], parameters, lengths, initial
                )
                values[name] = sequence if node["output"] == "sequence" else h
                values[name + ":h"], values[name + ":c"] = h, c
            else:
                values[name], caches[name] = layers.forward(node, inputs, parameters, context)
        return values, caches

    def _backward(self, batch):
        context = layers.Context(True, self._random)
        values, caches = self._forward(batch, context)
        flowing, total = {}, 0.0
        for spec in self._recipe["losses"]:
            target = batch[spec["target"]]
            mask = batch[spec["mask"]] if spec["mask"] else None
            if target.dtype.kind == "f":
                target = target.astype(self._dtype)
            loss, gradient = loss_and_gradient(spec["name"], values[spec["output"]], target, mask)
            total += spec["weight"] * loss
            _flow(flowing, spec["output"], (spec["weight"] * gradient).astype(self._dtype))
        gradients = {}
        for node in reversed(self._graph["nodes"]):
            name = node["name"]
            if node["op"] == "lstm":
                upstream, grads = self._lstm_backward(node, caches[name], values, flowing)
            elif name in flowing:
                upstream, grads = layers.backward(node, caches[name], flowing.pop(name))
            else:
                continue
            for source, gradient in zip(node["inputs"] + (node.get("initial") or []), upstream):
                if gradient is not None:
                    _flow(flowing, source, gradient)
            if grads:
                gradients[name] = grads
        return total, gradients, context

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
        dx, dh, dc, grads = lstm.backward(node, cache, dsequence, dh, dc)
        return [dx] + ([dh, dc] if node["initial"] else []), grads


def _flow(flowing, name, gradient):
    flowing[name] = flowing[name] + gradient if name in flowing else gradient
