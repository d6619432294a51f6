"""Which graphs can be decoded: each refusal says what is in the way."""

from __future__ import annotations

from typing import Any

import pytest

from dlbench.planning import recipes
from dlbench.planning.graph import Graph, GraphError
from dlbench.workloads import workloads

Json = dict[str, Any]


def _decoder(kind: str = "") -> Json:
    """A small encoder and decoder; `kind`: what is wrong with it."""
    g = Graph("small")
    source = g.input("source", (5,), "int32")
    words = g.input("words", (4,), "int32")
    g.input("pixels", (4, 3))
    g.input("length", (), "int32")
    encoded = g.lstm(g.embedding(source, 9, 6), 6, name="encoder")
    x = g.embedding(words, 6 if kind == "vocabulary" else 7, 6, name="own")
    initial = {
        "state": ("summary:h", "summary:c"),
        "flat": ("squeezed", "squeezed"),
    }.get(kind, ("encoder:h", "encoder:c"))
    if kind == "state":
        g.lstm(x, 6, output="sequence", name="summary")
    if kind == "flat":
        g.dense(g.flatten(x), 6, name="squeezed")
    read = g.embedding(source, 9, 6) if kind == "unread" else x
    y = g.lstm(read, 6, initial=initial, output="sequence", name="decoder")
    if kind == "stacked":
        y = g.lstm(g.batchnorm(g.add(g.tanh(y), y)), 6, output="sequence")
    logits = g.dense(g.dropout(y, 0.1), 7, name="logits")
    last = g.dense(encoded, 7, name="last")
    g.outputs(logits, last)
    return g.to_json()


def _check(graph: Json, metrics: list[Json] | None = None, **changes: Any) -> None:
    own = {"mask": None, "input": "words", **changes}
    place = own.pop("output", "logits"), "target"
    greedy = recipes.metric("greedy-accuracy", *place, **own)
    recipe = recipes.recipe(
        batch=4,
        epochs=1,
        optimizer=recipes.sgd(0.1),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "target")],
        metrics=metrics or [recipes.metric("accuracy", "logits", "target"), greedy],
    )
    recipes.check(graph, recipe)


@pytest.mark.parametrize("kind", ["", "stacked"])
def test_decoders_that_can_be_decoded(kind: str) -> None:
    _check(_decoder(kind))


def test_the_translation_is_decoded() -> None:
    names = [metric["name"] for metric in workloads()["manythings-lstm"].recipe["metrics"]]
    assert names == ["accuracy", "perplexity", "greedy-accuracy"]


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("", {"input": None}, "needs `input`"),
        ("", {"input": "other"}, "needs `input`"),
        ("", {"input": "pixels"}, "'pixels', which is not a row of whole numbers"),
        ("", {"input": "length"}, "'length', which is not a row of whole numbers"),
        (
            "",
            {"input": "source"},
            "each of the 5 places of 'source'; 'logits' has the shape [4, 7]",
        ),
        ("", {"output": "last"}, "each of the 4 places of 'words'; 'last' has the shape [7]"),
        ("vocabulary", {}, "chooses among 7 words, of which embedding 'own' can read 6"),
        ("state", {}, "but 'summary' reads all of 'words' at once, and 'logits' depends on it"),
        ("flat", {}, "reads all of 'words' at once, and 'logits' depends on it"),
    ],
)
def test_what_cannot_be_decoded(kind: str, changes: Json, words: str) -> None:
    with pytest.raises(GraphError) as error:
        _check(_decoder(kind), **changes)
    assert words in str(error.value)


def test_a_decoder_that_reads_something_else() -> None:
    g = Graph("deaf")
    words, heard = g.input("words", (4,), "int32"), g.input("heard", (4,), "int32")
    g.embedding(words, 7, 3)
    g.outputs(g.dense(g.embedding(heard, 7, 3), 7, name="logits"))
    with pytest.raises(GraphError, match="'logits' does not depend on 'words'"):
        _check(g.to_json())


def test_it_is_not_what_is_measured_after_each_epoch() -> None:
    greedy = recipes.metric("greedy-accuracy", "logits", "target", input="words")
    with pytest.raises(GraphError, match="can't be the first metric"):
        _check(_decoder(), [greedy])


def test_other_metrics_have_no_input_and_each_name_comes_once() -> None:
    one = recipes.metric("accuracy", "logits", "target")
    with pytest.raises(GraphError, match="accuracy has no `input`"):
        _check(_decoder(), [{**one, "input": "words"}])
    with pytest.raises(GraphError, match="accuracy of graph 'small' is there twice"):
        _check(_decoder(), [one, one])


@pytest.mark.parametrize("splits", [("train",), (), ("test", "validation")])
def test_metrics_are_measured_on_test_rows_and_training_rows_alone(splits: tuple[str, ...]) -> None:
    recipe = {**workloads()["mnist-mlp"].recipe, "evaluate": list(splits)}
    with pytest.raises(GraphError, match="evaluate must be test, or test and train"):
        recipes.check(workloads()["mnist-mlp"].graph, recipe)
