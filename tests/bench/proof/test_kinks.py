"""Slopes exactly at kinks, also where a maximum stands behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.proof.kinks import rows_at_kinks
from bench.reference import layers
from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from tests.bench.faults.fault import altered
from tests.bench.faults.proving import Case, failures
from tests.bench.random_graphs import arrays_for


def case(loss: str = "softmax-cross-entropy", *, ends_in_maximum: bool = False) -> Case:
    """An image through relu, a maximum and a loss; relu also stands right before the maximum."""
    g = Graph("kinks")
    x = g.conv2d(g.input("image", (6, 6, 2)), 4, 3, padding="same")
    if ends_in_maximum:
        g.outputs(g.globalmaxpool(x, name="logits"))
    else:
        x = g.conv2d(g.relu(x), 4, 3, padding="same")
        g.outputs(g.dense(g.flatten(g.maxpool(g.relu(x), 2)), 4, name="logits"))
    recipe = recipes.recipe(
        batch=6,
        epochs=1,
        optimizer=recipes.sgd(0.01, momentum=0.9),
        losses=[recipes.loss(loss, "logits", "label")],
        metrics=[],
    )
    graph = g.to_json()
    return Case(0, graph, recipe, arrays_for(graph, recipe, 40, 1))


def first_failure(case: Case, model: type[Reference]) -> tuple[str, str]:
    check = next(failures(case, model), {"name": "", "node": ""})
    return check["name"], check["node"] or ""


def test_relu_with_a_slope_at_zero_before_a_maximum() -> None:
    def half(node: Any, inputs: Any, p: Any, context: Any) -> Any:
        y, positive = layers.relu(node, inputs, p, context)
        return y, positive + (inputs[0] == 0) * y.dtype.type(0.5)

    model = altered({"relu": (half, layers.relu_backward)})
    assert first_failure(case(), model) == ("kinks", "conv2d2/bias")


@pytest.mark.parametrize(
    ("loss", "slope"), [("sigmoid-cross-entropy", -0.5), ("mean-absolute-error", 1.0)]
)
def test_a_loss_with_another_slope_at_zero_behind_a_maximum(loss: str, slope: float) -> None:
    class Other(Reference):
        def _loss(self, name: str, output: Any, target: Any, mask: Any, *divisor: Any) -> Any:
            value, gradient = loss_and_gradient(name, output, target, mask)
            zero = output == (target if name == "mean-absolute-error" else 0)
            return value, gradient + zero * output.dtype.type(slope / output.size)

    found = first_failure(case(loss, ends_in_maximum=True), Other)
    assert found == ("kinks", "conv2d1/bias")


@pytest.mark.parametrize("ends_in_maximum", [False, True])
def test_whichever_of_equal_values_a_maximum_chooses(ends_in_maximum: bool) -> None:
    class Choosing(Reference):
        _choice = np.random.RandomState(8)

    chosen = case("mean-absolute-error", ends_in_maximum=ends_in_maximum)
    assert first_failure(chosen, Choosing) == ("", "")


def test_a_value_next_to_equal_maxima_is_near_a_kink() -> None:
    node = {"name": "most", "op": "globalmaxpool", "inputs": ["x"]}
    for third, near in ((1.0, False), (1 - 1e-7, True)):
        x = np.array([1, 1, third, 0]).reshape(1, 2, 2, 1)
        found = rows_at_kinks({"nodes": [node]}, {"losses": []}, {"x": x}, {"x": x})
        assert found.tolist() == [near]


def test_copies_lean_to_the_last_of_nearly_equal_values_and_to_one_in_between() -> None:
    values = np.ones((1, 50, 1))
    contexts = [layers.Context(True, lean=lean) for lean in (1e-6, -1e-6)]
    last, between = (int(layers._largest(values, 1, context)[0, 0]) for context in contexts)
    assert last == 49 and 0 < between < 49
