"""Rows on which two right answers can differ, and gradients exactly at kinks.

Where an input of relu is zero but for rounding, where two values of a pooling window are equal but
for rounding, or an absolute error is zero but for rounding, one side's gradient flows and the
other's does not, and that says nothing about formulas: such rows are drawn anew.
"""

import numpy as np

from bench import host
from bench.ops import host_nodes
from bench.proof.noise import LEAN, largest
from bench.reference.layers import _pad, _windows


def rows_at_kinks(graph, recipe, values, batch):
    """Which rows of the batch stand at a kink, by the reference's values."""
    near = np.zeros(len(next(iter(batch.values()))), bool)
    for node in graph["nodes"]:
        gap = _gap(node, values.get(node["inputs"][0], batch.get(node["inputs"][0])))
        if gap is not None:
            close = _within(*gap)
            # where rows are regions, they are those of the one image
            near |= close if len(close) == len(near) else close.any()
    for spec in recipe["losses"]:
        if spec["name"] == "mean-absolute-error":
            output, target = values[spec["output"]], batch[spec["target"]]
            near |= _within(np.abs(output - target), np.abs(output).max())
    return near | regions_at_ties(graph, values, batch)


_DRAWS = 4
"""Times that a host node is asked again, with its inputs moved a little."""
_APART = 0.02
"""Pixels, and anything else that it makes: other regions are further apart than this."""


def regions_at_ties(graph, values, batch):
    """Whether a host node chooses other regions when scores and deltas move by a rounding.

    It sorts and compares: two scores or an overlap and its threshold may be equal but for rounding.
    What is exactly equal stays so, and is told apart by its place.
    """
    nodes = host_nodes(graph)
    read = [[values.get(name, batch.get(name)) for name in node["inputs"]] for node in nodes]
    return any(_decides_by_rounding(node, inputs) for node, inputs in zip(nodes, read))


def _decides_by_rounding(node, inputs):
    random = np.random.RandomState(8)
    for training in (True, False):
        chosen = host.call(node, inputs, training)
        for _ in range(_DRAWS):
            moved = [_moved(value, random) for value in inputs[:2]] + list(inputs[2:])
            other = host.call(node, moved, training)
            # the boxes, the labels and so on; the matrices follow from the boxes
            pairs = zip(chosen[:1] + chosen[3:], other[:1] + other[3:])
            if max(largest(one - another) for one, another in pairs) > _APART:
                return True
    return False


def _moved(value, random):
    """Each value a little away, equal ones by the same."""
    different, places = np.unique(value, return_inverse=True)
    noise = random.normal(0, 2 * LEAN * largest(value), len(different))
    return (different + noise)[places.reshape(-1)].reshape(value.shape)


def _within(distance, largest):
    # exactly zero is no matter of rounding: it comes of zeros, and stands so on both sides
    close = (distance > 0) & (distance <= LEAN * largest)
    return close.reshape(len(close), -1).any(axis=1)


def _gap(node, x):
    """(distance from the nearest kink, the largest value) for each value of the node."""
    if node["op"] == "relu":
        return np.abs(x), np.abs(x).max()
    if node["op"] == "maxpool":
        windows = _windows(_pad(x, node["padding"], -np.inf), node["size"], node["stride"])
        flat = windows.reshape(windows.shape[:3] + (-1, x.shape[-1]))
    elif node["op"] == "globalmaxpool":
        flat = x.reshape(len(x), 1, 1, -1, x.shape[-1])
    else:
        return None
    best = flat.max(axis=3, keepdims=True)
    # equal ones are no matter of rounding, as where all that a window sees is padding; the next is
    following = np.where(flat == best, -np.inf, flat).max(axis=3)
    with np.errstate(invalid="ignore"):
        return best[:, :, :, 0] - following, np.abs(x).max()
