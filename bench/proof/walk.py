"""Training of both sides, step by step, every step from the same weights.

Two trajectories that start a rounding apart part for good where a relu or a maximum falls to the
other side, and what then differs says nothing about the formulas. So the reference takes each step
from where the release's model stands, with an optimiser state of its own.

What rounding may do to a step follows from what it may do to the gradients (envelope.py). Where a
gradient is far above its rounding this leaves next to no room; where it is nothing but rounding,
as that of a bias in front of a batch normalisation, Adam makes whole steps of it, and the room is
as wide.
"""

import numpy as np

from bench.ops import trained_nodes
from bench.proof import drawn
from bench.proof.compare import FLOOR, Mismatch, compare_step
from bench.proof.envelope import Envelope
from bench.proof.noise import FACTOR, Copies, largest
from bench.weights import is_frozen

HALF = 4
"""Steps after which the weights are kept."""
_LARGEST_LOSS = 1e8
_LARGEST_WEIGHT = 1e4
"""Beyond these training diverges: float32 ends at 3e38, and a few layers' product is soon there.

A loss that is large from the first step on does not say so: it is held against that one.
"""
_LARGEST_GRADIENT = 1e18
"""Its square is what float32 can just hold."""

_AS_STATED = 3
"""Times that a walk begins again with the recipe's own steps; after that each time with a tenth of
them. Over and over the same first steps show nothing new, and of a long run nothing at all."""
_QUIET, _AUDIBLE = 1e-6, 1e-9
"""A gradient this small beside what it was first is one no more; one this small beside the largest
of all never was."""


class Walk:
    """What both sides did, compared step by step."""

    def __init__(self, sides, model, reference, graph, recipe, many=None):
        """`many`: a batch of many rows, which tells whether the graph still learns."""
        self._nodes = trained_nodes(graph, recipe)
        self._frozen = {node["name"] for node in graph["nodes"] if is_frozen(node)}
        self._names = {node["name"] for node in self._nodes} - self._frozen
        self.model, self.reference = model, reference
        self._copies = Copies(graph, recipe)
        self.recipe = recipe
        self._envelope = Envelope(recipe)
        self._relative, self._sizes = {True: {}, False: {}}, set()
        self._handles = []
        self._new_model = lambda recipe: sides.loaded(graph, recipe)
        self.weights = self._start = sides.start()
        self.began_again = 0
        """How often training diverged or died, and both sides went back to the first weights."""
        self._died = 0
        self._many, self._first_sizes, self._learning = many, None, None
        self.halfway = None
        """The weights after HALF steps."""
        self.batches = []
        self.parameters, self.statistics = [], []
        """For each step the error of what moved, or the Mismatch."""
        self.room = None
        """What rounding may have done to each parameter up to now."""
        self.losses, self.wanted_losses, self.loss_spreads = [], [], []

    def step(self, batch, clear, in_loop=False):
        """One step of both; `clear`: no row of the batch stands at a kink.

        `in_loop`: the release takes it as an epoch of the trial's own loop, after a prediction.
        Neither may touch the optimiser's state.
        """
        exact, again = self._begins_again_if_lost(batch)
        self._set_rate()
        here, clear = self.weights, clear and not again
        copies = self._copies_for(batch, clear)
        loss_spread, spreads = self._spreads(here, batch, exact, clear, copies)
        before = self._envelope.copy()
        wanted, room = self._steps(here, exact, spreads)
        self._handles.append(self._epoch(batch) if in_loop else [self.model.train_step(batch)])
        self.weights = self.model.weights()
        self.reference.load(self.weights)  # where the next batch is drawn to keep from kinks
        self.batches.append(batch)
        if len(self.batches) == HALF:
            self.halfway = self.weights
        self.wanted_losses.append(exact[0])
        moved = _combined(np.subtract, self.weights, here)
        results = self._results(here, moved, wanted, room)
        differs = any(isinstance(result, Mismatch) for result in results)
        if (differs or self._loss_differs(loss_spread)) and len(copies) < len(self._copies.all):
            # what rounding did to other steps is no measure of this one: it is measured
            loss_spread, spreads = self._spreads(here, batch, exact, clear, self._copies.all)
            self._envelope = before
            wanted, room = self._steps(here, exact, spreads)
            results = self._results(here, moved, wanted, room)
        self.loss_spreads.append(loss_spread)
        self.parameters.append(results[0])
        self.statistics.append(results[1])
        self.room = room if self.room is None else _combined(np.add, self.room, room)

    def leap(self, weights):
        """Go on from other weights; what the optimisers remember stays."""
        self.model.load(weights)
        self.weights = self.model.weights()
        self.reference.load(self.weights)

    def _set_rate(self):
        """With a schedule, another learning rate for each step."""
        if self.recipe.get("schedule"):
            rate = drawn.rate(self.recipe, len(self.batches))
            self.model.set_rate(rate)
            self._envelope.set_rate(rate)

    def _epoch(self, batch):
        handles = []
        self.model.predict(batch)
        self.model.train_epoch(iter([batch]), lambda handle, _seconds: handles.append(handle))
        if len(handles) != 1:
            raise Mismatch("{} steps in an epoch of one batch".format(len(handles)))
        return handles

    def _results(self, here, moved, wanted, room):
        """(of the parameters, of the running statistics): the error, or the Mismatch."""
        when = "after step {}: ".format(len(self.batches))
        return [
            self._compared(here, moved, wanted, room, when, statistics)
            for statistics in (False, True)
        ]

    def _loss_differs(self, spread):
        """Whether the last step's loss, as it is told now; what is told in the end is compared."""
        told, wanted = self.model.losses(self._handles[-1])[-1], self.wanted_losses[-1]
        return not abs(told - wanted) <= max(FLOOR["loss"] * abs(wanted), FACTOR * spread)

    def _compared(self, here, moved, wanted, room, when, statistics):
        try:
            if not statistics:
                self._left_alone(moved, when)
            return compare_step(self._nodes, here, moved, wanted, room, when, statistics)
        except Mismatch as difference:
            return difference

    def _left_alone(self, moved, when):
        """What no loss reaches does not move, nor does what is frozen."""
        for node, values in sorted(moved.items()):
            for name, value in sorted(values.items()):
                if node not in self._names and largest(value):
                    why = "it is frozen" if node in self._frozen else "no loss reaches it"
                    detail = "{}, and yet it moved by {:.3g}".format(why, largest(value))
                    raise Mismatch(when + detail, node="{}/{}".format(node, name))

    def ended(self):
        # each by itself: the loop's handles may be of another kind than those of single steps
        for handles in self._handles:
            self.losses += self.model.losses(handles)
        self._handles = []
        return self

    def _begins_again_if_lost(self, batch):
        """The loss, gradients and statistics at the present weights, or at the first ones again.

        Where the recipe's steps are too long for the graph, soon nothing would be finite, or it
        dies: a layer's relus have all ended at 0, nothing learns and nothing shows any more.
        Steps are made shorter at once where it died, and where it diverged a few times.
        """
        exact = self.reference.backward(batch)
        diverged = self._diverged(exact)
        died = not diverged and self._died < _AS_STATED and self._has_died(exact[1])
        if not (diverged or died):
            return exact, False
        self.ended()
        self.began_again += 1
        self._died += died
        if died or self.began_again > _AS_STATED:
            slower = dict(self.recipe["optimizer"], lr=self.recipe["optimizer"]["lr"] / 10)
            self.recipe = dict(self.recipe, optimizer=slower)
        self.model, self.weights = self._new_model(self.recipe), self._start
        self._envelope = Envelope(self.recipe)
        self.reference.load(self.weights)
        return self.reference.backward(batch), True

    def _diverged(self, exact):
        size, slope = (
            max([largest(v) for values in each.values() for v in values.values()] or [0.0])
            for each in (self.weights, exact[1])
        )
        first = abs(self.wanted_losses[0]) if self.wanted_losses else np.inf
        finite = size < _LARGEST_WEIGHT and slope < _LARGEST_GRADIENT
        return not (abs(exact[0]) < max(_LARGEST_LOSS, 1e4 * first) and finite)

    def _has_died(self, gradients):
        """Whether a parameter that learnt at the first weights does not any more, on many rows."""
        sizes = _sizes_of(gradients)
        if self._many is None or self._first_sizes is None:
            self._first_sizes = sizes
            return False
        if not _quieter(sizes, self._first_sizes):
            return False  # in few rows all of a layer may be 0 by chance
        now = _sizes_of(self.reference.backward(self._many)[1])
        if self._learning is None:
            self.reference.load(self._start)
            self._learning = _sizes_of(self.reference.backward(self._many)[1])
            self.reference.load(self.weights)
        return _quieter(now, self._learning)

    def _copies_for(self, batch, clear):
        """The disturbed copies that run along: in a few steps, and at each new size of batch."""
        number, rows = len(self.batches), len(batch[next(iter(batch))])
        new = rows not in self._sizes
        self._sizes.add(rows)
        if not (new or number < 4 or number % (4 if number < 20 else 10) == 0):
            return []
        if clear and self.batches:
            return [self._copies.leaning[number % 2], self._copies.single]
        return self._copies.all

    def _spreads(self, here, batch, exact, clear, copies):
        """(what rounding can do to the loss, {(node, parameter): to gradients and statistics}).

        Without copies that are run along it is twice the most that it did up to now.
        """
        loss, gradients, state = exact
        spread, measured, doubt = 0.0, ({}, {}), 2.0
        if copies:
            spread, *measured = self._copies.backward(here, batch, exact, copies)
            doubt = 1.0
        # what kinks do to a batch says nothing of one that keeps clear of them
        relative = self._relative[clear]
        relative[None] = max(relative.get(None, 0.0), spread / max(abs(loss), 1e-12))
        spreads = {}
        for part, values in zip(measured, (gradients, state)):
            for node, parameters in values.items():
                for name, value in parameters.items():
                    key, size = (node, name), max(largest(value), 1e-30)
                    own, lost = part.get(key, 0.0), relative.get((key, "lost"), 0.0)
                    if FACTOR * own < size:
                        relative[key] = max(relative.get(key, 0.0), own / size)
                    else:  # its size is chance: it says nothing of the rounding to come
                        lost = relative[key, "lost"] = max(lost, own)
                    estimate = max(relative.get(key, 0.0) * size, lost * (size <= FACTOR * lost))
                    spreads[key] = max(own, doubt * estimate)
        return max(spread, doubt * relative[None] * abs(loss)), spreads

    def _steps(self, here, exact, spreads):
        """(how far each parameter should go, what rounding may add to or take from that)."""
        _, gradients, state = exact
        wanted, room = self._envelope.steps(here, gradients, spreads)
        for node, values in state.items():
            for name, value in values.items():
                wanted.setdefault(node, {})[name] = value - here[node][name]
                room.setdefault(node, {})[name] = FACTOR * spreads[node, name]
        return wanted, room


def _sizes_of(gradients):
    """{(node, parameter): the largest of its gradient}."""
    return {
        (node, name): largest(value)
        for node, values in gradients.items()
        for name, value in values.items()
    }


def _quieter(now, first):
    """Whether a gradient that was one has become next to nothing."""
    audible = _AUDIBLE * max(first.values() or [0.0])
    return any(now[key] <= _QUIET * size for key, size in first.items() if size > audible)


def _combined(operation, left, right):
    """An operation on two sets of weights, in float64; what only one side has is left out."""
    return {
        node: {
            name: operation(np.asarray(value, np.float64), right[node][name])
            for name, value in values.items()
            if name in right.get(node, {})
        }
        for node, values in left.items()
    }
