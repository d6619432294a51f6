"""Rows on which two right answers can differ, and gradients exactly at kinks.

Where an input of relu is zero but for rounding, where two values of a pooling window are equal but
for rounding, or an absolute error is zero but for rounding, one side's gradient flows and the
other's does not, and that says nothing about formulas: such rows are drawn anew.
"""

import numpy as np

from bench.proof.noise import LEAN
from bench.reference.layers import _pad, _windows


def rows_at_kinks(graph, recipe, values, batch):
    """Which rows of the batch stand at a kink, by the reference's values."""
    near = np.zeros(len(next(iter(batch.values()))), bool)
    for node in graph["nodes"]:
        gap = _gap(node, values.get(node["inputs"][0], batch.get(node["inputs"][0])))
        if gap is not None:
            near |= _within(*gap)
    for spec in recipe["losses"]:
        if spec["name"] == "mean-absolute-error":
            output, target = values[spec["output"]], batch[spec["target"]]
            near |= _within(np.abs(output - target), np.abs(output).max())
    return near


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
    if flat.shape[3] < 2:
        return None
    best = np.partition(flat, -2, axis=3)
    with np.errstate(invalid="ignore"):
        return best[:, :, :, -1] - best[:, :, :, -2], np.abs(x).max()
