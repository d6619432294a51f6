"""What bench computes itself in the middle of a step: the nodes of a graph that run on the host.

One NumPy function for all releases stands between two parts of the model and passes no gradient.
Each adapter calls it its own way. How long it takes in training is kept apart from the step.
"""

import time

import numpy as np

from bench.detection.proposals import output_shapes, propose
from bench.ops import EXTRAS

_MOST = 1000000
_seconds = []


def call(node, inputs, training):
    """The node's value and what else it makes, in the order of `ops.EXTRAS`: new arrays.

    `inputs` are NumPy arrays in the canonical layout, batch first, or what NumPy can read as such.
    """
    start = time.perf_counter()
    made = propose(*[np.asarray(each) for each in inputs], spec=node, training=training)
    values = [made[name] for name in _names(node)]
    if training and len(_seconds) < _MOST:
        _seconds.append(time.perf_counter() - start)
    return values


def shapes_of(node, rows, columns, training):
    """[(shape, dtype)] of what `call` returns for features of so many rows and columns."""
    known = output_shapes(rows, columns, node, training)
    return [known[name] for name in _names(node)]


def _names(node):
    return ("rois",) + EXTRAS[node["op"]]


def take_seconds():
    """The time of each call in training since this was last asked for."""
    taken = list(_seconds)
    del _seconds[: len(taken)]
    return taken
