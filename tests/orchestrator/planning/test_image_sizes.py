"""A graph that some size of its images does not fit is refused, with the node's name."""

from __future__ import annotations

import pytest

from dlbench.planning import recipes
from dlbench.planning.graph import Graph, GraphError


def check(g: Graph, output: str) -> None:
    g.outputs(output)
    recipe = recipes.recipe(
        batch=2, epochs=1, optimizer=recipes.sgd(0.1), metrics=[],
        losses=[recipes.loss("softmax-cross-entropy", output, "label")],
    )  # fmt: skip
    recipes.check(g.to_json(), recipe)


def test_a_convolution_that_leaves_no_pixel() -> None:
    g = Graph("small")
    x = g.input("image", (8, 8, 1), sizes=((8, 8), (9, 2)))
    with pytest.raises(GraphError, match="'conv2d1' has no pixel left when 'image' is 9 by 2"):
        check(g, g.globalavgpool(g.conv2d(x, 2, 3)))


def test_an_image_of_another_size_beside_it() -> None:
    g = Graph("mixed")
    x = g.input("image", (8, 8, 1), sizes=((8, 8), (9, 9)))
    y = g.conv2d(g.input("other", (8, 8, 1)), 1, 1)
    with pytest.raises(GraphError, match="'add1' reads image, conv2d1, which have different sizes"):
        check(g, g.globalavgpool(g.add(x, y)))


def test_sizes_that_fit() -> None:
    g = Graph("fits")
    x = g.input("image", (8, 8, 1), sizes=((8, 8), (9, 5), (4, 12)))
    y = g.globalmaxpool(g.conv2d(g.input("other", (3, 3, 1)), 2, 3))
    x = g.add(x, g.conv2d(x, 1, 3, padding=((1, 1), (1, 1))))
    check(g, g.add(g.globalavgpool(g.conv2d(x, 2, 3, stride=2)), y))
