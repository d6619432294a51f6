"""VGG16 (K. Simonyan, A. Zisserman, 2014), without batch normalisation."""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph

WIDTHS = (64, 128, 256, 512, 512)
_CONVOLUTIONS = (2, 2, 3, 3, 3)


def vgg16(
    name: str, side: int, classes: int, widths: tuple[int, ...] = WIDTHS, hidden: int = 4096
) -> dict[str, Any]:
    """Thirteen 3x3 convolutions in five blocks, each ended by pooling; three dense layers."""
    g = Graph(name)
    x = g.input("image", (side, side, 3))
    for filters, count in zip(widths, _CONVOLUTIONS, strict=True):
        for _ in range(count):
            x = g.relu(g.conv2d(x, filters, 3, padding="same", init="he-normal"))
        x = g.maxpool(x, 2)
    x = g.flatten(x)
    for _ in range(2):
        x = g.dropout(g.relu(g.dense(x, hidden)), 0.5)
    g.outputs(g.dense(x, classes, name="logits"))
    return g.to_json()
