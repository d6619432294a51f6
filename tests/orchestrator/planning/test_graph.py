"""Shapes and parameter counts of graphs, and graphs that can't be built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlbench.planning.graph import Graph, GraphError
from dlbench.workloads import workloads


def test_flattened_sizes_of_the_study() -> None:
    def flattened(name: str) -> list[int]:
        nodes = workloads()[name].graph["nodes"]
        return next(node["shape"] for node in nodes if node["op"] == "flatten")

    assert flattened("mnist-cnn") == [9216]
    assert flattened("cifar10-cnn") == [2304]


def test_same_padding_puts_the_odd_one_at_the_end() -> None:
    g = Graph("g")
    g.input("x", (8, 8, 1))
    g.conv2d("x", 1, 3, stride=2, padding="same", name="even")
    g.maxpool("x", 2, stride=1, padding="same", name="pool")
    g.outputs("even")
    nodes = {node["name"]: node for node in g.to_json()["nodes"]}
    assert nodes["even"]["padding"] == [[0, 1], [0, 1]]
    assert nodes["even"]["shape"] == [4, 4, 1]
    assert nodes["pool"]["shape"] == [8, 8, 1]


def test_state_of_an_lstm_can_be_passed_on() -> None:
    g = Graph("g")
    x = g.input("x", (5, 3))
    g.lstm(x, 4, name="first")
    g.lstm(x, 4, initial=("first:h", "first:c"), output="sequence", name="second")
    g.dense(g.concat("first:c", "second:h"), 2)
    with pytest.raises(GraphError, match="does not have 6 units"):
        g.lstm(x, 6, initial=("first:h", "first:c"))


def test_lists_are_as_good_as_tuples() -> None:
    def built(pair: type) -> dict[str, Any]:
        g = Graph("g")
        x = g.input("x", pair((4, 5, 1)))
        x = g.conv2d(x, 2, pair((3, 2)), padding=pair((pair((1, 0)), pair((0, 0)))))
        state = g.input("s", pair((3,)))
        g.lstm(g.input("r", pair((2, 2))), 3, initial=pair((state, state)))
        g.outputs(g.add(g.flatten(x), g.flatten(x)), "lstm1")
        return g.to_json()

    assert built(list) == built(tuple)


def test_a_node_without_a_name_gets_one_that_is_free() -> None:
    g = Graph("g")
    x = g.dense(g.input("dense1", (3,)), 3, name="dense2")
    assert [g.dense(x, 3), g.dense(x, 3), g.tanh(x)] == ["dense3", "dense4", "tanh1"]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda g: g.conv2d("nowhere", 1, 3), "not known"),
        (lambda g: g.conv2d("x", 1, 9), "would have the shape"),
        (lambda g: g.relu("x", name="x"), "used twice"),
        (lambda g: g.add("x", g.flatten("x")), "equal shapes"),
        (lambda g: g.lstm("x", 3), "not a sequence"),
        (lambda g: g.dense("x", 3), "1x1 conv2d"),
        (lambda g: g.to_json(), "no outputs"),
    ],
)
def test_impossible_graphs(build, words: str) -> None:
    g = Graph("g")
    g.input("x", (4, 4, 1))
    with pytest.raises(GraphError, match=words):
        build(g)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda g: g.maxpool("image", 3, padding=((3, 0), (0, 0))), "would see padding alone"),
        (lambda g: g.avgpool("image", 2, padding=((0, 2), (0, 0))), "would see padding alone"),
        (lambda g: g.conv2d("image", 2, 3, padding=((-1, 0), (0, 0))), "can't be negative"),
        (lambda g: g.conv2d("image", 0, 3), "filters must be 1 or more"),
        (lambda g: g.conv2d("image", 2, 3, stride=0), "stride must be 1 or more"),
        (lambda g: g.dropout("image", 1.0), "rate of 1.0"),
        (lambda g: g.dropout("image", -0.1), "rate of -0.1"),
        (lambda g: g.batchnorm("image", epsilon=0.0), "epsilon from 1e-12"),
        (lambda g: g.relu("tokens"), "only an embedding reads them"),
        (lambda g: g.embedding("image", 5, 2), "not an int32 input"),
        (lambda g: g.dense("image", 3), "use a 1x1 conv2d"),
        (lambda g: g.lstm("rows", 3, lengths="tokens"), "not an int32 input of one number"),
        (lambda g: g.lstm("rows", 3, initial=("rows", "rows")), "does not have 3 units"),
        (lambda g: g.outputs("image"), "is an input of the graph"),
        (lambda g: g.outputs("y", "y"), "named twice"),
        (lambda g: g.input("b", (1, 2, 3, 4)), r"can't have the shape \[1, 2, 3, 4\]"),
        (lambda g: g.input("b", (), "float32"), r"can't have the shape \[\]"),
        (lambda g: g.input("b", (2,), "float64"), "use float32 or int32"),
        (lambda g: g.relu("rows", name="1st"), "not a plain name"),
        (lambda g: g.relu("rows", name="n" * 201), "not a plain name: .* at most 200"),
        (lambda g: g.relu("rows", name="y"), "'y' is used twice"),
        (lambda g: g.input("b", (2.0,)), "input: shape must be a list, each a whole number"),
        (lambda g: g.dense("rows", 2.5), "dense: units must be a whole number, not 2.5"),
        (lambda g: g.dense("rows", True), "dense: units must be a whole number, not True"),
        (lambda g: g.dense("rows", np.int64(2)), "dense: units must be a whole number"),
        (lambda g: g.dense("rows", 2, bias="no"), "dense: bias must be true or false"),
        (lambda g: g.add("rows", 3), "add: xs must be a string, not 3"),
        (lambda g: g.conv2d("image", 2, (3, 3, 3)), "conv2d: kernel must be a whole number or"),
        (lambda g: g.conv2d("image", 2, 3, padding=((1, 0),)), "conv2d: padding must be"),
        (lambda g: g.conv2d("image", 2, 3, padding=((1,), (1,))), "conv2d: padding must be"),
        (lambda g: g.maxpool("image", 2, padding=((1, 0), (0, 0), (0, 0))), "padding must be"),
        (lambda g: g.dense("rows", 2, init="uniform-1e30"), "with any bound from 1e-20 to"),
        (lambda g: g.dropout("rows", 1e-30), "a rate of 1e-30"),
        (lambda g: g.batchnorm("rows", keep=1e-30), "keep must be 0, or from 1e-20"),
    ],
)
def test_what_the_formats_do_not_allow_is_refused(build, words: str) -> None:
    g = Graph("refused")
    g.input("image", (5, 5, 2))
    g.input("tokens", (4,), "int32")
    g.input("rows", (4, 3))
    g.relu("rows", name="y")
    with pytest.raises(GraphError, match=words):
        build(g)
