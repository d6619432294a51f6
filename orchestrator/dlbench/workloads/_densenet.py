"""DenseNet-121 (G. Huang et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlbench.planning.graph import Graph

_INIT = "he-normal"
_STEM = ((3, 3), (3, 3))
_AROUND = ((1, 1), (1, 1))


def densenet121(
    name: str, classes: int, growth: int = 32, layers_a_block: Sequence[int] = (6, 12, 24, 16)
) -> dict[str, Any]:
    """Four blocks in which each layer reads all before it; between them half the channels."""
    g = Graph(name)
    x = g.input("image", (32, 32, 3))
    x = g.conv2d(x, 2 * growth, 7, stride=2, padding=_STEM, bias=False, init=_INIT)
    x = g.maxpool(g.relu(g.batchnorm(x)), 3, stride=2, padding=_AROUND)
    for block, layers in enumerate(layers_a_block):
        if block:
            x = g.conv2d(g.relu(g.batchnorm(x)), g.shape(x)[-1] // 2, 1, bias=False, init=_INIT)
            x = g.avgpool(x, 2)
        for _ in range(layers):
            y = g.conv2d(g.relu(g.batchnorm(x)), 4 * growth, 1, bias=False, init=_INIT)
            y = g.conv2d(g.relu(g.batchnorm(y)), growth, 3, padding=_AROUND, bias=False, init=_INIT)
            x = g.concat(x, y)
    x = g.globalavgpool(g.relu(g.batchnorm(x)))
    g.outputs(g.dense(x, classes, name="logits"))
    return g.to_json()
