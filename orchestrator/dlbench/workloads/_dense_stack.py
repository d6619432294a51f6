"""Perceptrons: dense layers one behind the other, each with relu, with or without shortcuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlbench.planning.graph import Graph, Shape


def dense_stack(
    name: str,
    data: str,
    shape: Shape,
    widths: Sequence[int],
    output: str,
    units: int = 1,
    *,
    shortcuts: bool = False,
) -> dict[str, Any]:
    """From the array `data` to `output`, a linear layer of `units`.

    With shortcuts, each layer's input is added to what it gives: as it is where widths match, else
    through a dense layer of its own.
    """
    g = Graph(name)
    x = g.input(data, shape)
    if len(shape) > 1:
        x = g.flatten(x)
    for width in widths:
        y = g.relu(g.dense(x, width))
        if shortcuts:
            y = g.add(y, x if g.shape(x) == (width,) else g.dense(x, width))
        x = y
    g.outputs(g.dense(x, units, name=output))
    return g.to_json()
