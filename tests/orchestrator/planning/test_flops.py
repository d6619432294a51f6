"""The arithmetic of a forward pass, counted by hand."""

from __future__ import annotations

import pytest

from dlbench.planning.flops import FORMULAS, flops, flops_by_node
from dlbench.planning.graph import Graph
from dlbench.workloads import workloads


def test_images() -> None:
    g = Graph("g")
    x = g.input("image", (5, 5, 2))
    x = g.conv2d(x, 4, 3, name="conv")  # 3x3 places
    x = g.batchnorm(x, name="norm")
    y = g.conv2d(x, 4, 1, bias=False, name="plain")
    x = g.relu(g.add(x, y, y, name="sum"), name="relu")
    g.maxpool(x, 2, stride=1, name="pool")
    g.globalavgpool(x, name="mean")
    g.outputs(g.dense(g.flatten("pool", name="flat"), 10, name="dense"), "mean")
    assert flops_by_node(g.to_json()) == {
        "conv": 36 * (2 * 9 * 2 + 1),
        "norm": 2 * 36,
        "plain": 36 * 2 * 4,
        "sum": 2 * 36,
        "relu": 36,
        "pool": 16 * 4,
        "mean": 36,
        "flat": 0,
        "dense": 10 * (2 * 16 + 1),
    }
    assert flops(g.to_json()) == sum(flops_by_node(g.to_json()).values())


def test_sequences() -> None:
    g = Graph("g")
    x = g.embedding(g.input("tokens", (7,), "int32"), 50, 3, name="table")
    g.lstm(x, 4, name="lstm")
    g.outputs(g.dense("lstm:c", 2, name="dense"))
    assert flops_by_node(g.to_json()) == {
        "table": 0,
        "lstm": 7 * 4 * (8 * (3 + 4) + 13),
        "dense": 2 * (2 * 4 + 1),
    }


@pytest.mark.parametrize(
    ("name", "multiply_adds"),
    # published for 224x224: 15.5 G (VGG16); the convolutions at 32x32 are (32/224)^2 of it
    [("cifar10-vgg16", 15.347e9 / 49), ("cifar10-resnet18", 0.556e9)],
)
def test_published_arithmetic(name: str, multiply_adds: float) -> None:
    assert flops(workloads()[name].graph) == pytest.approx(2 * multiply_adds, rel=0.07)


def test_every_op_has_a_formula() -> None:
    used = {node["op"] for w in workloads().values() for node in w.graph["nodes"]}
    assert used <= FORMULAS.keys()
    assert all(hasattr(Graph, op) for op in FORMULAS)
