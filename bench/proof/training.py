"""Checks of training: each optimiser's formula, the loop, the last batch, repeatability."""

import numpy as np

from bench import data
from bench.proof.compare import Mismatch, compare, compare_moved
from bench.proof.sides import STEPS, combine

# Large coefficients, so that a wrong formula shows at once; Adam's epsilon not so small that it
# makes whole steps of gradients that are next to nothing.
OPTIMIZERS = (
    {
        "name": "adam",
        "lr": 1e-2,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 0.1,
        "weight_decay": 0.0,
    },
    {"name": "adadelta", "lr": 1.0, "rho": 0.95, "epsilon": 1e-3, "weight_decay": 0.0},
)


def recipe_steps(sides):
    return _same(sides, sides.recipe_walk())


def gentle_steps(sides):
    return _same(sides, sides.gentle_walk())


def optimizer_steps(sides, optimizer):
    return _same(sides, sides.walk(optimizer))


def _same(sides, walked):
    """The weights after 1 and after 20 steps, as displacements from where they began."""
    worst = 0.0
    for step, kind in ((1, "step"), (STEPS, "steps")):
        when = "after step {}: ".format(step)
        pair = walked.moved[step], walked.wanted_moved[step]
        worst = max(worst, compare_moved(sides.graph, sides.initial, pair[0], pair[1], kind, when))
    return {"error": worst}


def partial_batch(sides):
    """A last, smaller batch is trained on like any other, after full ones."""
    walked, last = sides.recipe_walk(), STEPS + 1
    if len(walked.losses) != last:
        raise Mismatch("{} steps for {} batches".format(len(walked.losses), last))
    error = compare(walked.losses[STEPS:], walked.wanted_losses[STEPS:], "step")
    got = combine(np.subtract, walked.moved[last], walked.moved[STEPS])
    wanted = combine(np.subtract, walked.wanted_moved[last], walked.wanted_moved[STEPS])
    error = max(error, compare_moved(sides.graph, sides.initial, got, wanted, "steps"))
    return {"error": error, "detail": "{} rows".format(sides.partial)}


def batch_order(sides):
    """The loop of a trial: every batch once, in the order that the seed gives."""
    _same_generator()
    losses, _ = sides.gentle_epoch()
    wanted = sides.gentle_walk().wanted_losses
    if len(losses) != len(wanted):
        raise Mismatch("{} steps for {} batches".format(len(losses), len(wanted)))
    worst = 0.0
    for step, pair in enumerate(zip(losses, wanted), 1):
        when = "loss of batch {}: ".format(step)
        worst = max(worst, compare([pair[0]], [pair[1]], "steps", when=when))
    return {"error": worst}


_ORDER = [982, 400, 420, 557, 520, 397, 699, 910, 993, 214, 948, 706]


def _same_generator():
    """NumPy's frozen generator: the rows' order must be what it is in every other release."""
    found = data.epoch_order(1, 1, 1000)[: len(_ORDER)].tolist()
    if found != _ORDER:
        raise Mismatch("the rows' order begins {} against {}".format(found, _ORDER))


def repeat(sides):
    """The same steps from the same weights lead to the same place: no update races another."""
    first, (_, again) = sides.gentle_walk().weights, sides.gentle_epoch()
    moved = [combine(np.subtract, end, sides.initial) for end in (again, first)]
    worst = compare_moved(sides.graph, sides.initial, moved[0], moved[1], "steps", "repeated: ")
    equal = all(
        np.array_equal(value, again[node][name])
        for node, values in first.items()
        for name, value in values.items()
    )
    return {"error": worst, "detail": "to the last bit" if equal else "within rounding"}
