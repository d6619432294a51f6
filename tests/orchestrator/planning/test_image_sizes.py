"""A graph that some size of its images does not fit is refused, with the node's name."""

from __future__ import annotations

import pytest

from dlbench.planning import recipes
from dlbench.planning.graph import Graph, GraphError


def check(g: Graph, output: str, batch: int = 2) -> None:
    g.outputs(output)
    recipe = recipes.recipe(
        batch=batch, epochs=1, optimizer=recipes.sgd(0.1), metrics=[],
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


def test_a_norm_of_one_value() -> None:
    g = Graph("norm")
    x = g.conv2d(g.input("image", (6, 6, 1), sizes=((6, 6), (3, 3))), 2, 3)
    x = g.globalavgpool(g.batchnorm(x))
    words = "'batchnorm1' has one value a channel in a batch of 1 when 'image' is 3 by 3"
    with pytest.raises(GraphError, match=words):
        check(g, x, batch=1)
    check(g, x)


def test_a_target_that_fits_one_size_alone() -> None:
    g = Graph("target")
    g.input("label", (8, 8), "int32")
    with pytest.raises(
        GraphError, match=r"the shape \[8, 8\], not \[9, 5\] when 'image' is 9 by 5"
    ):
        check(g, g.conv2d(g.input("image", (8, 8, 1), sizes=((8, 8), (9, 5))), 2, 1))


def test_sizes_that_fit() -> None:
    g = Graph("fits")
    x = g.input("image", (8, 8, 1), sizes=((8, 8), (9, 5), (4, 12)))
    y = g.globalmaxpool(g.conv2d(g.input("other", (3, 3, 1)), 2, 3))
    x = g.add(x, g.conv2d(x, 1, 3, padding=((1, 1), (1, 1))))
    check(g, g.add(g.globalavgpool(g.conv2d(x, 2, 3, stride=2)), y))
