"""Recipes: built by small functions, refused where they do not fit their graph or their data."""

from __future__ import annotations

from typing import Any

import pytest

from dlbench.planning import recipes
from dlbench.planning.graph import Graph, GraphError
from dlbench.workloads import workloads


def _graph() -> dict[str, Any]:
    g = Graph("small")
    x = g.lstm(g.input("x", (3, 4)), 5, name="steps")
    g.outputs(g.dense(g.batchnorm(x, name="norm"), 2, name="logits"), "steps:c")
    return g.to_json()


def _recipe(**changes: Any) -> recipes.Recipe:
    usual: dict[str, Any] = {
        "batch": 4,
        "epochs": 1,
        "optimizer": recipes.sgd(0.1),
        "losses": [recipes.loss("softmax-cross-entropy", "logits", "label")],
        "metrics": [recipes.metric("accuracy", "logits", "label")],
    }
    return recipes.recipe(**{**usual, **changes})


def test_a_fitting_recipe_passes() -> None:
    recipes.check(_graph(), _recipe())
    recipes.check(_graph(), _recipe(losses=[recipes.loss("mean-squared-error", "steps:c", "t")]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"losses": []}, "has no loss"),
        ({"losses": [recipes.loss("hinge", "logits", "label")]}, "no loss 'hinge'"),
        ({"losses": [recipes.loss("mean-squared-error", "norm", "t")]}, "'norm', which is not an"),
        ({"metrics": [recipes.metric("accuracy", "steps", "t")]}, "'steps', which is not an"),
        ({"metrics": [recipes.metric("accuracy", "logits", "a:b")]}, "'a:b' is not made by a node"),
        (
            {"metrics": [recipes.metric("accuracy", "logits", "t", deltas="logits")]},
            "accuracy has no `deltas`",
        ),
        (
            {"losses": [recipes.loss("mean-squared-error", "logits", "t", weight=-1.0)]},
            "'logits' has the weight -1",
        ),
        ({"optimizer": recipes.sgd(0.1, nesterov=True)}, "nesterov needs a momentum"),
        ({"optimizer": recipes.sgd(0.0)}, "lr of 0.0 is outside"),
        ({"optimizer": recipes.adam(0.1, beta2=1.0)}, "beta2 of 1.0 is outside"),
        ({"optimizer": recipes.adam(0.1, beta2=0.9999999)}, "beta2 of 0.9999999 is outside"),
        ({"optimizer": recipes.adam(0.1, beta2=0.0)}, "needs a beta2 above 0"),
        ({"optimizer": recipes.sgd(1e30)}, r"lr of 1e\+30 is outside"),
        ({"optimizer": recipes.adadelta(0.1, epsilon=0.0)}, "epsilon of 0.0 is outside"),
        ({"optimizer": recipes.sgd(float("nan"))}, "lr of nan is outside"),
        ({"batch": 1}, "'norm' has one value a channel in a batch of 1"),
        ({"batch": 0}, "needs a batch and epochs from 1"),
        ({"schedule": {"name": "poly", "warmup": 0}}, "no schedule 'poly'; use constant, step"),
        ({"schedule": recipes.step(0, 0.5)}, "schedule step: every of 0 is outside"),
        ({"schedule": recipes.step(1, 0.0)}, "schedule step: factor of 0.0 is outside"),
        ({"schedule": recipes.cosine(least=1.1)}, "schedule cosine: least of 1.1 is outside"),
        ({"schedule": recipes.inverse(1e-21)}, "decay of 1e-21 is outside"),
        ({"schedule": recipes.inverse(float("nan"))}, "decay of nan is outside"),
        ({"schedule": recipes.constant(warmup=-1)}, "warmup of -1 is outside"),
        ({"clip": 0.0}, "clip of 0.0 is not a norm from"),
        ({"clip": float("inf")}, "clip of inf is not a norm"),
        ({"stopping": recipes.stopping(0)}, "patience from 1"),
        ({"stopping": recipes.stopping(3, validation=1.0)}, "a share in 0..1"),
        ({"stopping": recipes.stopping(3), "metrics": []}, "has no metric that could tell"),
        ({"augment": recipes.augmentation()}, "augment must flip, or crop"),
        ({"augment": recipes.augmentation(flip=True)}, "'small' has no image to augment"),
    ],
)
def test_what_can_not_be_trained_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        recipes.check(_graph(), _recipe(**changes))


def test_a_loss_without_parameters_is_refused() -> None:
    g = Graph("empty")
    g.outputs(g.tanh(g.input("x", (3,)), name="y"))
    spec = recipes.loss("mean-squared-error", "y", "t")
    with pytest.raises(GraphError, match="depends on a parameter"):
        recipes.check(g.to_json(), _recipe(losses=[spec], metrics=[]))


_FITTING = {"x": (8, 3, 4), "label": (8,)}


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"x": (8, 3, 4)}, "no array 'label'"),
        ({"x": (8, 4, 3), "label": (8,)}, r"'x' has rows of the shape \[4, 3\].* needs \[3, 4\]"),
        ({"x": (9, 3, 4), "label": (9,)}, "9 rows in batches of 4 leave one row"),
    ],
)
def test_data_that_do_not_fit_are_refused(shapes: dict[str, Any], words: str) -> None:
    recipes.check_data(_graph(), _recipe(), _FITTING)
    with pytest.raises(GraphError, match=words):
        recipes.check_data(_graph(), _recipe(), shapes)


def test_a_mask_has_the_shape_of_what_it_selects() -> None:
    g = Graph("masked")
    g.outputs(g.dense(g.input("x", (3, 4)), 1, name="y"))
    spec = recipes.loss("mean-squared-error", "y", "t", mask="m")
    recipe = _recipe(losses=[spec], metrics=[])
    recipes.check_data(g.to_json(), recipe, {"x": (8, 3, 4), "t": (8, 3), "m": (8, 3, 1)})
    with pytest.raises(GraphError, match=r"'m' has rows of the shape \[3\]"):
        recipes.check_data(g.to_json(), recipe, {"x": (8, 3, 4), "t": (8, 3, 1), "m": (8, 3)})


def test_every_shipped_workload_has_a_recipe_that_fits() -> None:
    for workload in workloads().values():
        recipes.check(workload.graph, workload.recipe)


def test_a_target_that_is_an_input_has_the_shape_of_the_output() -> None:
    g = Graph("coder")
    x = g.input("x", (3,))
    g.outputs(g.dense(x, 2, name="out"))
    narrow = recipes.recipe(
        batch=2, epochs=1, optimizer=recipes.sgd(0.1), metrics=[],
        losses=[recipes.loss("mean-squared-error", "out", "x")],
    )  # fmt: skip
    with pytest.raises(GraphError, match=r"'out' is compared with the input 'x'.*\[3\], not \[2\]"):
        recipes.check(g.to_json(), narrow)


def _held_against(*specs: dict[str, Any], batch: int = 4) -> None:
    """Check these losses on a graph with inputs of each kind and three outputs."""
    g = Graph("kinds")
    rows, word = g.input("rows", (4, 3)), g.input("words", (4,), "int32")
    g.input("x", (4,))
    length = g.input("length", (), "int32")
    g.embedding(length, 1, 2)
    g.dense(rows, 5, name="each")
    g.dense(g.flatten(g.embedding(word, 9, 2)), 4, name="four")
    g.dense(g.lstm(rows, 2, lengths=length if "length" in str(specs) else None), 1, name="one")
    g.batchnorm("x", name="spare")
    g.outputs("each", "four", "one")
    recipes.check(g.to_json(), _recipe(losses=list(specs), metrics=[], batch=batch))


_CLASSES, _NUMBERS = "softmax-cross-entropy", "mean-squared-error"


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ([recipes.loss(_CLASSES, "each", "x")], "'x': it is float32, and must be int32"),
        ([recipes.loss(_NUMBERS, "four", "words")], "'words': it is int32, and must be float32"),
        (
            [recipes.loss(_CLASSES, "each", "y"), recipes.loss(_NUMBERS, "four", "y")],
            "mean-squared-error of 'four' is compared with 'y', and so is the softmax-cross-entropy"
            " of 'each'",
        ),
        (
            [recipes.loss(_NUMBERS, "four", "y"), recipes.loss(_NUMBERS, "one", "y")],
            "'one' is compared with 'y'.* needs another shape",
        ),
        (
            [recipes.loss(_NUMBERS, "four", "t", mask="m"),
             recipes.loss(_NUMBERS, "one", "u", mask="m")],
            "'one' is compared with 'm'",
        ),
        ([recipes.loss(_CLASSES, "one", "length")], "'length' holds the lengths of 'lstm1'"),
    ],
)  # fmt: skip
def test_an_array_has_one_kind_and_one_shape(specs: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        _held_against(*specs)


def test_an_input_may_be_a_target_or_a_mask() -> None:
    _held_against(
        recipes.loss(_CLASSES, "each", "words", mask="words"),
        recipes.loss(_NUMBERS, "four", "x", mask="x"),
        recipes.loss("sigmoid-cross-entropy", "four", "x"),
    )


def test_a_norm_that_no_loss_reaches_needs_two_values_too() -> None:
    with pytest.raises(GraphError, match="'spare' has one value a channel in a batch of 1"):
        _held_against(recipes.loss(_NUMBERS, "four", "t"), batch=1)
