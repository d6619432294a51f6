"""The two sides of the proof: the release's model and the reference, with the same batches.

Building and compiling a model can take seconds, so the checks share one without dropout and one
with it. What a check leaves behind is undone by loading the initial weights again; only the
optimiser's state stays, so the trajectory of each optimiser has a model of its own.
"""

import copy
import functools
import itertools

import numpy as np

from bench import data, weights
from bench.proof.kinks import rows_at_kinks
from bench.reference.model import Reference
from bench.trial import options_of

STEPS = 20
ROWS = 6
"""Rows of a batch: few, because the reference is slow; enough for batch normalisation."""
PARTIAL = 3
_TRIES = 20
GENTLE = {"name": "sgd", "lr": 1e-3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.5}
"""Small steps, for what is compared without the reference at its side; all of SGD is in it."""


def once(method):
    """A method whose first answer, or first failure, is kept."""
    name = "_once_" + method.__name__

    @functools.wraps(method)
    def wrapped(self):
        if name not in self.__dict__:
            try:
                self.__dict__[name] = method(self), None
            except Exception as error:
                self.__dict__[name] = None, error
        value, error = self.__dict__[name]
        if error is not None:
            raise error
        return value

    return wrapped


class Sides:
    def __init__(self, job, splits, adapter, folder):
        self.job, self.splits, self.adapter, self.folder = job, splits, adapter, folder
        self.graph, self.recipe = job["graph"], job["recipe"]
        self.plain = without_dropout(job["graph"])
        self.initial = weights.initial_weights(self.graph, job["seed"])
        self.dropouts = [node for node in self.graph["nodes"] if node["op"] == "dropout"]
        self.norms = [node for node in self.graph["nodes"] if node["op"] == "batchnorm"]
        train = splits["train"].rows
        self._order = data.epoch_order(job["seed"], 1, train)
        self.size = min(ROWS, self.recipe["batch"], train)
        self.partial = min(PARTIAL, self.size)

    # ---- batches

    @once
    def batch(self):
        """The first one of the epoch."""
        return next(self.epoch(self.reference()))

    def epoch(self, reference):
        """Full batches, then one that is not; no row at a kink of the reference as it then is."""
        waiting = itertools.cycle(self._order)
        for size in [self.size] * STEPS + [self.partial]:
            rows = np.array(list(itertools.islice(waiting, size)))
            for _ in range(_TRIES):
                batch = self.splits["train"].batch(rows)
                values = reference.activations(batch, training=True)
                near = rows_at_kinks(self.graph, self.recipe, values, batch)
                if not near.any():
                    break
                rows[near] = list(itertools.islice(waiting, int(near.sum())))
            yield batch

    # ---- models

    def _build(self, graph, optimizer=None):
        recipe = dict(self.recipe, optimizer=optimizer or self.recipe["optimizer"])
        return self.adapter.build(graph, recipe, options_of(self.job))

    @once
    def built(self):
        """The release's model without dropout; with what weights is left open."""
        return self._build(self.plain)

    @once
    def _built_whole(self):
        return self._build(self.graph)

    def at_start(self):
        """The release's model without dropout, as it is before training."""
        return self._loaded(self.built())

    def with_dropout(self):
        """The release's model with dropout, as it is before training."""
        return self._loaded(self._built_whole())

    def model(self, optimizer):
        """A new one without dropout, with another optimiser."""
        return self._loaded(self._build(self.plain, optimizer))

    def _loaded(self, model):
        model.load(self.initial)
        return model

    def reference(self, optimizer=None):
        recipe = dict(self.recipe, optimizer=optimizer or self.recipe["optimizer"])
        reference = Reference(self.plain, recipe, self.job["seed"], np.float64)
        reference.load(self.initial)
        return reference

    # ---- what both say of the first batch

    @once
    def values(self):
        return self.at_start().activations(self.batch())

    @once
    def wanted_values(self):
        return self.reference().activations(self.batch())

    @once
    def gradients(self):
        """(loss, gradients)."""
        return self.at_start().gradients(self.batch())

    @once
    def wanted_gradients(self):
        return self.reference().gradients(self.batch())

    # ---- trajectories

    @once
    def recipe_walk(self):
        """Training with the recipe's optimiser."""
        return self._walk(self.at_start(), self.reference())

    def walk(self, optimizer):
        """Training with another one."""
        return self._walk(self.model(optimizer), self.reference(optimizer))

    def _walk(self, model, reference):
        reference.load(self.initial)
        return walk(model, reference, self.epoch(reference), self.initial)

    @once
    def gentle_walk(self):
        return self.walk(GENTLE)

    @once
    def gentle_epoch(self):
        """(losses, weights) of the same steps in the loop that trials use."""
        batches = self.gentle_walk().batches
        model, handles = self.model(GENTLE), []
        model.train_epoch(iter(batches), lambda handle, _seconds: handles.append(handle))
        return model.losses(handles), model.weights()


class Walk:
    """Training of both sides: losses of each step, and how far the weights had gone."""

    def __init__(self):
        self.batches, self.losses, self.wanted_losses = [], [], []
        self.moved, self.wanted_moved = {}, {}
        """{steps: {node: {parameter: displacement}}}"""
        self.weights = None


def walk(model, reference, batches, start):
    """Every step of both from the same weights.

    Two trajectories that start a rounding apart part for good where a relu or a maximum falls to
    the other side, and what then differs says nothing about the formulas. So the reference takes
    each step from where the model stands, with an optimiser state of its own; its steps are added.
    """
    walked, handles = Walk(), []
    gone, here = zeros_like(start), start
    for step, batch in enumerate(batches, 1):
        walked.batches.append(batch)
        walked.wanted_losses.append(reference.train_step(batch))
        handles.append(model.train_step(batch))
        gone = combine(np.add, gone, combine(np.subtract, reference.weights(), here))
        here = model.weights()
        reference.load(here)
        if step in _MARKS:
            walked.moved[step] = combine(np.subtract, here, start)
            walked.wanted_moved[step] = gone
    walked.losses, walked.weights = model.losses(handles), here
    return walked


_MARKS = (1, 2, 3, STEPS, STEPS + 1)


def combine(operation, left, right):
    """An operation on two sets of weights, in float64."""
    return {
        node: {
            name: operation(value.astype(np.float64), right[node][name])
            for name, value in values.items()
        }
        for node, values in left.items()
    }


def zeros_like(weights):
    return combine(np.subtract, weights, weights)


def without_dropout(graph):
    plain = copy.deepcopy(graph)
    for node in plain["nodes"]:
        if node["op"] == "dropout":
            node["rate"] = 0.0
    return plain
