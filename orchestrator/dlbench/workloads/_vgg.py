"""VGG16 (K. Simonyan, A. Zisserman, 2014), and its form for small images."""

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


def small_vgg16(
    name: str, classes: int, widths: tuple[int, ...] = WIDTHS, hidden: int = 512
) -> dict[str, Any]:
    """For 32x32 images (S. Liu, W. Deng, 2015): batch normalisation after each relu, dropout
    between the convolutions of a block (.3 in the first, .4 in the others), .5 before and after
    the one hidden dense layer."""
    g = Graph(name)
    x = g.input("image", (32, 32, 3))
    for block, (filters, count) in enumerate(zip(widths, _CONVOLUTIONS, strict=True)):
        for k in range(count):
            x = g.batchnorm(g.relu(g.conv2d(x, filters, 3, padding="same", init="he-normal")))
            if k < count - 1:
                x = g.dropout(x, 0.4 if block else 0.3)
        x = g.maxpool(x, 2)
    x = g.dropout(g.flatten(x), 0.5)
    x = g.dropout(g.batchnorm(g.relu(g.dense(x, hidden))), 0.5)
    g.outputs(g.dense(x, classes, name="logits"))
    return g.to_json()
