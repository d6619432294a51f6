"""What rounding can do to a graph: the measure that the proof's tolerances follow.

A deep or badly conditioned graph makes more of float32's roundings than a shallow one, and a value
at a kink of relu or of a maximum may fall to either side. Instead of one tolerance for all graphs,
the reference is run again in float64 with every value and every gradient moved by about one unit
of float32, leaning to the one and to the other side of each kink, and once in float32 outright.
What these disturbed copies differ by from the exact one is what a right release may differ by,
times a factor; a floor stands below, for graphs in which nothing moves.
"""

import functools

import numpy as np

from bench.reference.layers import OPERATIONS
from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference

FACTOR = 10.0
"""Frameworks sum in other orders than NumPy, and some approximate tanh or exp."""
UNIT = float(np.finfo(np.float32).eps)
LEAN = 4e-6
"""Of a node's largest value: nearer to a kink than this, rounding may decide."""
_NO_TARGET = {"softmax-cross-entropy": -1, "sigmoid-cross-entropy": 0}
"""What to aim at so that of the loss's gradient, p - t, only p is left."""
_NOISE = UNIT * np.random.RandomState(7).normal(size=1 << 19)


class Disturbed(Reference):
    """The reference in float64 with a unit of float32 added to whatever passes."""

    forwards = True
    """Whether values are moved, too, not gradients alone."""

    def __init__(self, graph, recipe, seed, lean):
        self._places = np.random.RandomState(seed)
        self._lean = lean
        self.operations = dict(OPERATIONS)
        self.operations["batchnorm"] = self._norm, self._norm_backward
        for op in ("tanh", "sigmoid", "softmax"):
            self.operations[op] = self._squashing(op), OPERATIONS[op][1]
        forward, backward = OPERATIONS["lstm"]
        self.operations["lstm"] = functools.partial(forward, passed=self._gate), backward
        super(Disturbed, self).__init__(graph, recipe, seed, np.float64, {})

    def _passed(self, name, value):
        return self._gate(value)

    def _returned(self, name, gradient):
        return self._moved(gradient)

    def _loss(self, name, output, target, mask, divisor=None):
        loss, gradient = super(Disturbed, self)._loss(name, output, target, mask, divisor)
        if name in _NO_TARGET:  # x - x and p - 1 of a sure prediction come to next to nothing
            nothing = np.full_like(target, _NO_TARGET[name])
            _, terms = super(Disturbed, self)._loss(name, output, nothing, mask, divisor)
            gradient = gradient + terms * self._noise(terms.size).reshape(terms.shape)
            loss += UNIT * float((terms * np.abs(output)).sum())
        return loss, gradient

    def _gate(self, value):
        return self._moved(value) if self.forwards else value

    def _squashing(self, op):
        """Its slope holds 1 - y, of which next to nothing is left where y is nearly 1."""

        def forward(*arguments):
            value, y = OPERATIONS[op][0](*arguments)
            return value, self._moved(y)

        return forward

    def _norm(self, node, inputs, *given):
        """Its mean is rounded, so that what is left of equal values does not sum up to zero."""
        value, cache = OPERATIONS["batchnorm"][0](node, inputs, *given)
        hat, scale, gamma, training = cache
        if training and self.forwards:
            sizes = np.abs(inputs[0].reshape(-1, len(scale))).mean(axis=0)
            shift = sizes * scale * self._noise(len(scale))
            value, cache = value + gamma * shift, (hat + shift, scale, gamma, training)
        return value, cache

    def _norm_backward(self, node, cache, dy):
        """Its result is a difference that may come to next to nothing: each term is rounded."""
        (dx,), grads = OPERATIONS["batchnorm"][1](node, cache, dy)
        hat, scale, gamma, training = cache
        if training:
            rows = dy.size // dy.shape[-1]
            terms = np.abs(dy) + (np.abs(grads["beta"]) + np.abs(hat * grads["gamma"])) / rows
            terms *= np.abs(gamma * scale)
            dx = dx + terms * self._noise(dx.size).reshape(dx.shape)
        return [dx], grads

    def _moved(self, value):
        flat = value.ravel()
        typical = np.sqrt(flat.dot(flat) / max(flat.size, 1))
        moved = np.abs(flat)
        moved += typical
        moved *= self._noise(flat.size)
        moved += flat
        return moved.reshape(value.shape)

    def _noise(self, size):
        """Normal numbers times a unit: a random stretch of those that were drawn once for all."""
        if size > len(_NOISE):
            return np.resize(_NOISE, size)
        start = self._places.randint(len(_NOISE) - size + 1)
        return _NOISE[start : start + size]


class DisturbedBackward(Disturbed):
    """Only gradients are moved: what stands exactly at a kink stays there."""

    forwards = False

    def __init__(self, graph, recipe, seed):
        super(DisturbedBackward, self).__init__(graph, recipe, seed, 0.0)


class Plain(Reference):
    """The reference in float32. Its losses are summed up one after the other, as old releases sum:
    in a large batch that is less exact than NumPy's sum of sums."""

    def _loss(self, name, output, target, mask, divisor=None):
        return loss_and_gradient(name, output, target, mask, self._lean, divisor, _in_a_row)


def _in_a_row(values):
    return values.ravel().cumsum()[-1]


class Copies:
    """The disturbed copies of one graph: how far they part from the exact reference.

    They are made without weights: each use loads those it is about.
    """

    def __init__(self, graph, recipe):
        self.leaning = [Disturbed(graph, recipe, 5, LEAN), Disturbed(graph, recipe, 6, -LEAN)]
        self.single = Plain(graph, recipe, 1, np.float32, {})
        self.all = self.leaning + [self.single]

    def values(self, weights, batch, exact, training=False):
        """{name: how far rounding can move its values}."""
        spreads = {}
        for copy in self.all:
            copy.load(weights)
            for name, value in copy.activations(batch, training).items():
                spreads[name] = max(spreads.get(name, 0.0), largest(value - exact[name]))
        return spreads

    def backward(self, weights, batch, exact, copies=None):
        """(spread of the loss, of each gradient, of each running statistic)."""
        loss, gradients, state = exact
        spread = 0.0
        parts = {}, {}
        for copy in copies or self.all:
            copy.load(weights)
            other = copy.backward(batch)
            spread = max(spread, abs(other[0] - loss))
            for spreads, own, wanted in zip(parts, other[1:], (gradients, state)):
                for node, values in wanted.items():
                    for name, value in values.items():
                        key = node, name
                        apart = largest(own[node][name] - value)
                        spreads[key] = max(spreads.get(key, 0.0), apart)
        return spread, parts[0], parts[1]


def largest(value):
    return float(np.abs(value).max()) if value.size else 0.0
