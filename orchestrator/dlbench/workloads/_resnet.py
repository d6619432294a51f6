"""ResNets (K. He et al., 2015). No convolution has a bias; the normalisation behind it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlbench.planning.graph import Graph

WIDTHS = (64, 128, 256, 512)
_AROUND = ((1, 1), (1, 1))


def resnet18(name: str, classes: int, widths: Sequence[int] = WIDTHS) -> dict[str, Any]:
    """For small images: a 3x3 convolution in front, no pooling; two basic blocks a stage."""
    g = Graph(name)
    x = g.relu(_normalised(g, g.input("image", (32, 32, 3)), widths[0], 3))
    for stage, width in enumerate(widths):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = g.relu(_normalised(g, x, width, 3, stride))
            x = _joined(g, _normalised(g, y, width, 3), x, stride)
    g.outputs(g.dense(g.globalavgpool(x), classes, name="logits"))
    return g.to_json()


def resnet50(
    name: str,
    classes: int,
    widths: Sequence[int] = WIDTHS,
    blocks_a_stage: Sequence[int] = (3, 4, 6, 3),
) -> dict[str, Any]:
    """For large images: 7x7 with stride 2 and pooling in front; bottleneck blocks.

    The stride is in the 3x3 convolution of a block, not in the 1x1 in front of it.
    """
    g = Graph(name)
    x = g.relu(_normalised(g, g.input("image", (32, 32, 3)), widths[0], 7, 2))
    x = g.maxpool(x, 3, stride=2, padding=_AROUND)
    for stage, (width, blocks) in enumerate(zip(widths, blocks_a_stage, strict=True)):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = g.relu(_normalised(g, x, width, 1))
            y = g.relu(_normalised(g, y, width, 3, stride))
            x = _joined(g, _normalised(g, y, 4 * width, 1), x, stride)
    g.outputs(g.dense(g.globalavgpool(x), classes, name="logits"))
    return g.to_json()


def _normalised(g: Graph, x: str, filters: int, kernel: int, stride: int = 1) -> str:
    """A convolution with as much padding on all sides as keeps the size at stride 1."""
    half = kernel // 2
    around = ((half, half), (half, half))
    convolved = g.conv2d(
        x, filters, kernel, stride=stride, padding=around, bias=False, init="he-normal"
    )
    return g.batchnorm(convolved)


def _joined(g: Graph, y: str, x: str, stride: int) -> str:
    """The block's way and the shortcut, which has a 1x1 convolution where shapes differ."""
    if g.shape(x) != g.shape(y):
        x = _normalised(g, x, g.shape(y)[-1], 1, stride)
    return g.relu(g.add(y, x))
