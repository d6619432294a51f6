"""When two arrays count as equal, and what is said when they do not.

Errors are relative to the largest value of the compared array. A tolerance is the larger of a
floor and what rounding was measured to do to this graph (noise.py), times a factor. The floors are
for float32, where one rounding is 6e-8: a forward pass or a loss is a chain of sums of some hundred
to thousand products each; a gradient is a sum over batch and places of what two such passes gave;
a step adds the optimiser's own roundings. A wrong formula misses by 1e-2 and more.
"""

import numpy as np

from bench.ops import values_of
from bench.proof.noise import FACTOR, UNIT, largest
from bench.weights import is_state

_SHARE = 0.01
"""Of a node's largest gradient or step: what a smaller one of the same node is held against."""
FLOOR = {"forward": 1e-5, "loss": 1e-5, "gradient": 1e-4, "step": 1e-4}


class Mismatch(Exception):
    """The first place where the two differ."""

    def __init__(self, detail, error=None, tolerance=None, node=None):
        super(Mismatch, self).__init__(detail)
        self.fields = {"detail": detail, "error": error, "tolerance": tolerance, "node": node}


def compare(got, wanted, kind, node=None, scale=0.0, spread=0.0, room=0.0, when=""):
    """The error relative to the largest wanted value; raises Mismatch above the tolerance.

    `scale` is what else errors are relative to, `spread` what rounding can do to this array, `room`
    what is allowed besides, for each value.
    """
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        raise Mismatch("{}shape {} against {}".format(when, got.shape, wanted.shape), node=node)
    if not got.size:
        return 0.0
    scale = max(largest(wanted), scale, 1e-12)
    allowed = np.maximum(FLOOR[kind] * scale, FACTOR * spread) + room
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - wanted)
    distance[np.isnan(distance)] = np.inf
    over = distance / allowed
    index = np.unravel_index(int(np.argmax(over)), over.shape)
    if not over[index] <= 1:
        raise Mismatch(
            "{}{:.9g} against {:.9g} at {}".format(
                when, got[index], wanted[index], [int(place) for place in index]
            ),
            float(distance[index] / scale),
            float((allowed + np.zeros_like(distance))[index] / scale),
            node,
        )
    return float(distance.max() / scale)


def compare_values(graph, got, wanted, spreads, when=""):
    """The values of nodes and states, in the graph's order: the first to differ is named."""
    worst = 0.0
    for name in [name for name in values_of(graph) if name in wanted]:
        spread = spreads.get(name, 0.0)
        error = compare(got[name], wanted[name], "forward", name, spread=spread, when=when)
        worst = max(worst, error)
    return worst


def compare_gradients(nodes, got, wanted, spreads, when=""):
    """Every gradient, from the loss backwards: the first to differ is named."""
    worst = 0.0
    for node in reversed(nodes):
        parameters = wanted.get(node["name"], {})
        scale = _SHARE * max([largest(value) for value in parameters.values()] or [0.0])
        for name, value in sorted(parameters.items()):
            label = "{}/{}".format(node["name"], name)
            gradient = got.get(node["name"], {}).get(name)
            if gradient is None:
                raise Mismatch(when + "there is no gradient", node=label)
            spread = spreads.get((node["name"], name), 0.0)
            error = compare(gradient, value, "gradient", label, scale, spread, when=when)
            worst = max(worst, error)
    return worst


def compare_step(nodes, weights, got, wanted, room, when="", statistics=False):
    """How far every parameter went in one step, or every running statistic."""
    worst = 0.0
    for node in nodes:
        moved = {
            name: value
            for name, value in wanted.get(node["name"], {}).items()
            if is_state(node, name) == statistics
        }
        furthest = _SHARE * max([largest(value) for value in moved.values()] or [0.0])
        for name, value in sorted(moved.items()):
            # a float32 weight can't say more about its displacement than its own rounding
            here = weights[node["name"]][name]
            size = np.abs(here) + np.abs(here + value)
            if name == "variance":  # its epsilon is always added: some keep the two as one number
                size = size + node["epsilon"]
                # and some round it before n/(n-1), which is 2 at most, is put on what was added
                size = 2 * size if node["unbiased"] else size
            rounding = 2 * UNIT * size
            allowed = rounding + room[node["name"]][name]
            label = "{}/{}".format(node["name"], name)
            own = got[node["name"]][name]
            error = compare(own, value, "step", label, furthest, room=allowed, when=when)
            worst = max(worst, error)
    return worst
