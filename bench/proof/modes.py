"""Checks of the two modes: what is on in training and off in evaluation."""

import numpy as np

from bench import weights
from bench.proof.compare import TOLERANCE, Mismatch, compare, compare_nodes
from bench.proof.sides import ROWS


def evaluation(sides):
    """With dropout in the graph: none of it, twice the same, and nothing is changed by it."""
    batch, wanted = sides.batch(), sides.wanted_values()
    model = sides.with_dropout()
    worst = compare_nodes(sides.graph, model.activations(batch), wanted, "forward")
    first, again = model.predict(batch), model.predict(batch)
    for name in sides.graph["outputs"]:
        worst = max(worst, compare(first[name], wanted[name], "forward", name))
        if not np.array_equal(first[name], again[name]):
            raise Mismatch("two evaluations of one batch differ", node=name)
    found = model.weights()
    if weights.digest(found) != weights.digest(sides.initial):
        raise Mismatch("evaluation changed the weights or the running statistics")
    return {"error": worst}


def dropout(sides):
    """Training drops the stated share of what is not zero and scales the rest by 1/(1-rate)."""
    batch = sides.splits["train"].batch(np.arange(4 * ROWS))
    found = sides.with_dropout().activations(batch, training=True)
    worst = 0.0
    for node in sides.dropouts:
        source = node["inputs"][0]
        before = found[source] if source in found else batch[source]
        worst = max(worst, _dropped(node, before, found[node["name"]]))
    _steps_drop(sides)
    return {"error": worst, "detail": "share dropped, against the stated one"}


def _dropped(node, before, after):
    """How far the share of one node is from the stated one."""
    name, rate = node["name"], node["rate"]
    live = before != 0
    kept = after[live] != 0
    if not kept.size:
        raise Mismatch("there is nothing to drop: all values are zero", node=name)
    # five standard deviations of a binomial share, and never finer than 1 %
    room = max(0.01, 5 * np.sqrt(rate * (1 - rate) / kept.size))
    share = 1 - float(kept.mean())
    if abs(share - rate) > room:
        detail = "drops {:.3f}, stated {:.3f}".format(share, rate)
        raise Mismatch(detail, abs(share - rate), room, name)
    if not np.allclose(after[live][kept], before[live][kept] / (1 - rate), rtol=1e-5):
        raise Mismatch("what is kept is not scaled by 1/(1-rate)", node=name)
    return abs(share - rate)


def _steps_drop(sides):
    """Real training steps drop, too, and each time something else."""
    plain, _ = sides.wanted_gradients()
    losses = []
    for _ in range(5):
        model = sides.with_dropout()
        model.predict(sides.batch())  # an evaluation in between must not leave its mode behind
        losses.append(model.losses([model.train_step(sides.batch())])[0])
    names = ", ".join(node["name"] for node in sides.dropouts)
    if max(abs(loss - plain) for loss in losses) <= TOLERANCE["loss"] * abs(plain):
        detail = "a training step's loss is {:.9g}, as without dropout".format(losses[0])
        raise Mismatch(detail, node=names)
    if max(losses) == min(losses):
        raise Mismatch("every training step drops the same", node=names)


def batchnorm(sides):
    """The running statistics after each of the first training steps."""
    walked, worst = sides.recipe_walk(), 0.0
    for step in (1, 2, 3):
        for node in sides.norms:
            for name in ("mean", "variance"):
                got, wanted = (
                    moved[step][node["name"]][name] + sides.initial[node["name"]][name]
                    for moved in (walked.moved, walked.wanted_moved)
                )
                label, when = "{}/{}".format(node["name"], name), "after step {}: ".format(step)
                worst = max(worst, compare(got, wanted, "step", label, when=when))
    return {"error": worst}
