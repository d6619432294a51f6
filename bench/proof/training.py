"""Checks of training: each optimiser's formula, the loop, the last batch, repeatability."""

import numpy as np

from bench import data
from bench.ops import host_nodes
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
    """Nothing changes later on: the learning rate, the coefficients, the optimiser's state."""
    return dict(_each(sides.recipe_walk().parameters[STEPS:LONG]), detail="{} steps".format(LONG))


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
    return _whatever_the_steps(sides, _same_losses)


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
    if not host_nodes(sides.graph):  # whose rows are regions
        last = {name: value[-1:] for name, value in sides.batch().items()}
        alone = {name: value[-1:] for name, value in outputs.items()}
        got = model.predict(last)
        worst = max(worst, compare_values(sides.graph, got, alone, spreads, "one row: "))
    return {"error": worst}
