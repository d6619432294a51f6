"""Checks of training: each optimiser's formula, the loop, the last batch, repeatability."""

import time

import numpy as np

from bench import data
from bench.ops import host_nodes
from bench.proof import drawn
from bench.proof.compare import Mismatch, compare, compare_values
from bench.proof.noise import FACTOR, UNIT, Copies, largest
from bench.proof.sides import LONG, STEPS


def recipe_steps(sides):
    """The first full batches."""
    return _each(sides.recipe_walk().parameters[:STEPS])


def partial_batch(sides):
    """A last, smaller batch is trained on like any other, after full ones."""
    walk = sides.recipe_walk()
    if len(walk.losses) != len(walk.batches):
        raise Mismatch("{} steps for {} batches".format(len(walk.losses), len(walk.batches)))
    return dict(_each([walk.parameters[STEPS]]), detail="{} rows".format(sides.partial))


def long_run(sides):
    """Nothing changes later on: the learning rate, the coefficients, the optimiser's state.

    Nor where outputs are large, nor in a batch of one row.
    """
    results = sides.recipe_walk().parameters
    found = _each(results[STEPS:LONG] + results[LONG + 1 :])
    return dict(found, detail="{} steps".format(LONG))


def own_batch(sides):
    """A batch of the recipe's own size."""
    walk = sides.recipe_walk()
    outputs = ", ".join(spec["output"] for spec in sides.recipe["losses"])
    pair = walk.losses[LONG], walk.wanted_losses[LONG], walk.loss_spreads[LONG]
    error = compare([pair[0]], [pair[1]], "loss", outputs, spread=pair[2])
    moved = _each([walk.parameters[LONG]])
    detail = "{} of {} rows".format(sides.own_rows(), sides.recipe["batch"])
    return {"error": max(error, moved["error"]), "detail": detail}


def gentle_steps(sides):
    return _each(sides.gentle_walk().parameters)


def optimizer_steps(sides, name):
    walk = sides.optimizer_walk(name)
    return _each(walk.statistics + walk.parameters)


def _each(results):
    """The worst error of all steps; the first Mismatch is raised."""
    for result in results:
        if isinstance(result, Mismatch):
            raise result
    return {"error": max(results)}


# ---- the loop of a trial ------------------------------------------------------------------------

_SMALLER = (1, 100)
"""So many times smaller the loop's steps are made, if the first ones do not agree."""


def batch_order(sides):
    """Every batch once, in the order that the seed gives."""
    _same_generator()
    found = _whatever_the_steps(sides, _same_losses)
    if not host_nodes(sides.graph):
        _long_epoch(sides)
    return found


def _whatever_the_steps(sides, check):
    """Nobody walks along with the loop: in a deep network, where one value falls to the other side
    of a kink, its steps part from single ones for good. Those of small enough steps do not; a loop
    that does something else parts from them all.
    """
    first = None
    for smaller in _SMALLER:
        try:
            return check(sides.gentle_walk(smaller), sides.gentle_epoch(smaller), sides.start())
        except Mismatch as difference:
            first = first or difference
    raise first


def _same_losses(walk, epoch, _start):
    losses, _, _ = epoch
    if len(losses) != len(walk.wanted_losses):
        raise Mismatch("{} steps for {} batches".format(len(losses), len(walk.wanted_losses)))
    worst = 0.0
    for step, got in enumerate(losses):
        # the same release took the same steps, so only rounding can part the two
        wanted, spread = walk.losses[step], 1e-4 * abs(walk.losses[step]) + walk.loss_spreads[step]
        when = "loss of batch {}: ".format(step + 1)
        worst = max(worst, compare([got], [wanted], "loss", spread=spread, when=when))
    return {"error": worst}


_MANY = 24
"""Batches of the long epoch: as many that a loop may read some ahead."""
_APART = 1e-2
"""Of how far a parameter goes in it: one batch in so many is more."""
_TOLD = 0.5
"""Of a step's time, the least that is told of it."""
_clock = time.perf_counter


def _long_epoch(sides):
    """An epoch of many batches is as many single steps, each told when it is done, in its time."""
    model, batches = sides.forgetful(), drawn.Batches(sides.graph, sides.recipe, 27)
    rows = [batches.rows(sides.size) for _ in range(_MANY)] + [batches.rows(sides.partial)]
    single, handles = [], []
    for batch in map(model.prepared, rows):
        start = _clock()
        handles.append(model.train_step(batch))
        model.sync()
        single.append(_clock() - start)
    wanted, ended = [model.losses([handle])[0] for handle in handles], model.weights()
    model.load(sides.start())
    handles, told, early = [], [], []
    times = _Between()

    def on_step(handle, seconds):
        times.told()
        handles.append(handle)
        told.append(seconds)
        if len(handles) in (2, _MANY - 1):  # as a trial does, once a second
            early.append((len(handles) - 1, model.losses([handle])[0]))
        times.began()

    times.began()
    model.train_epoch(times.served(rows), on_step)
    late = _clock()
    model.sync()
    late = _clock() - late
    losses = model.losses(handles)
    if len(losses) != len(rows):
        raise Mismatch("{} steps for {} batches".format(len(losses), len(rows)))
    walk = sides.gentle_walk()
    usual, rounding = float(np.median(np.abs(wanted))), max(walk.loss_spreads)
    for step, (got, loss) in enumerate(zip(losses, wanted)):
        spread, when = 1e-4 * max(abs(loss), usual) + rounding, "loss of batch {} of a long epoch: "
        compare([got], [loss], "loss", spread=spread, when=when.format(step + 1))
    for step, loss in early:
        when = "loss of batch {}, asked for at once: ".format(step + 1)
        compare([loss], [losses[step]], "loss", when=when)
    _went_as_far(walk, sides.start(), model.weights(), ended)
    _told_in_time(*(float(np.median(each)) for each in (told, single, times.steps)), late=late)


def _went_as_far(walk, start, got, wanted):
    """`walk`: of longer steps, whose room for rounding is many times that of these."""
    for node, values in sorted(wanted.items()):
        went = {
            name: value.astype(np.float64) - start[node][name] for name, value in values.items()
        }
        furthest = 0.01 * max(largest(value) for value in went.values())
        for name, value in sorted(values.items()):
            room = 8 * UNIT * _MANY * (np.abs(start[node][name]) + np.abs(value))
            room = room + 0.1 * walk.room.get(node, {}).get(name, 0.0)
            own = got[node][name].astype(np.float64) - start[node][name]
            label, spread = "{}/{}".format(node, name), max(largest(went[name]), furthest)
            spread *= _APART / FACTOR
            when = "a long epoch: "
            compare(own, went[name], "step", label, spread=spread, room=room, when=when)


class _Between:
    """The times between what is told of steps, without those that it takes to serve batches."""

    def __init__(self):
        self.steps, self._began, self._served = [], 0.0, 0.0

    def served(self, batches):
        for batch in batches:
            start = _clock()
            fresh = {name: value.copy() for name, value in batch.items()}
            self._served += _clock() - start
            yield fresh

    def began(self):
        self._began, self._served = _clock(), 0.0

    def told(self):
        self.steps.append(_clock() - self._began - self._served)


def _told_in_time(told, single, between, late):
    """A loop may be quicker than single steps, but what it tells is what its steps take."""
    if told >= _TOLD * single or (told >= _TOLD * between and late <= _MANY * single / 4):
        return
    words = "a step is told to take {:.3g} ms; by itself it takes {:.3g} ms, in the loop {:.3g} ms"
    detail = words.format(1e3 * told, 1e3 * single, 1e3 * between)
    raise Mismatch(detail, told / single, _TOLD)


_ORDER = [982, 400, 420, 557, 520, 397, 699, 910, 993, 214, 948, 706]


def _same_generator():
    """NumPy's frozen generator: the rows' order must be what it is in every other release."""
    got = data.epoch_order(1, 1, 1000)[: len(_ORDER)].tolist()
    if got != _ORDER:
        raise Mismatch("the rows' order begins {} against {}".format(got, _ORDER))


def repeat(sides):
    """The same steps from the same weights lead to the same weights: no update races another."""
    return _whatever_the_steps(sides, _same_weights)


def _same_weights(walk, epoch, start):
    _, ends, _ = epoch
    marks, worst, equal = (start, walk.halfway, walk.weights), 0.0, True
    for when, start, first, again in zip(("first", "second"), marks, marks[1:], ends):
        when = "{} epoch repeated: ".format(when)
        for node, values in sorted(first.items()):
            for name, value in sorted(values.items()):
                room = walk.room.get(node, {}).get(name, 0.0)
                room = room + 8 * UNIT * len(walk.batches) * np.abs(value)
                went = value.astype(np.float64) - start[node][name]
                label = "{}/{}".format(node, name)
                own = again[node][name].astype(np.float64) - start[node][name]
                spread = 1e-3 * largest(went) / FACTOR
                error = compare(own, went, "step", label, spread=spread, room=room, when=when)
                worst = max(worst, error)
                equal = equal and np.array_equal(value, again[node][name])
    return {"error": worst, "detail": "to the last bit" if equal else "within rounding"}


def prediction(sides):
    """After training, predictions are those of the weights that were learnt; of one row, too."""
    _, _, model = sides.gentle_epoch()
    learnt = model.weights()
    reference = sides.reference()
    reference.load(learnt)
    wanted = reference.activations(sides.batch())
    spreads = Copies(sides.plain, sides.recipe).values(learnt, sides.batch(), wanted)
    outputs = {name: wanted[name] for name in sides.graph["outputs"]}
    worst = compare_values(sides.graph, model.predict(sides.batch()), outputs, spreads)
    if host_nodes(sides.graph):  # whose rows are regions
        return {"error": worst}
    last = {name: value[-1:] for name, value in sides.batch().items()}
    alone = {name: value[-1:] for name, value in outputs.items()}
    got = model.predict(last)
    worst = max(worst, compare_values(sides.graph, got, alone, spreads, "one row: "))
    # two batches of the recipe's size, one after the other: neither may take the other's place
    size, pairs = sides.own_rows(), []
    for first in (0, 1):
        got = model.predict(drawn.repeated(sides.batch(), size, first))
        pairs.append((got, drawn.repeated(outputs, size, first)))
    for got, wanted in pairs:
        when = "one of two batches of {} rows: ".format(size)
        worst = max(worst, compare_values(sides.graph, got, wanted, spreads, when))
    # what was predicted for an array says nothing of what the array holds later
    batch = drawn.repeated(sides.batch(), sides.size)
    model.predict(batch)
    for name, value in drawn.repeated(sides.batch(), sides.size, 1).items():
        batch[name][...] = value
    wanted, got = drawn.repeated(outputs, sides.size, 1), model.predict(batch)
    when = "the same arrays with other rows: "
    return {"error": max(worst, compare_values(sides.graph, got, wanted, spreads, when))}
