"""How much arithmetic one row's forward pass takes: one formula for each op.

Of a graph with regions one image's: what reads regions counts once for each of them.

A multiplication and an addition count as one each, so a multiply-add counts as 2, also where it
meets padding. What is counted is the pass in evaluation, with every step of a sequence. An
activation counts as 1. A training step takes about three times as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dlbench.planning.graph import Shape, all_shapes
from dlbench.planning.regions import regions_of

FORMULAS = {
    "conv2d": "output values x (2 x kernel height x width x input channels, and 1 for a bias)",
    "dense": "output values x (2 x input width, and 1 for a bias)",
    "lstm": "steps x units x (8 x (input width + units) + 13)",
    "maxpool": "output values x window",
    "avgpool": "output values x window",
    "globalmaxpool": "input values",
    "globalavgpool": "input values",
    "batchnorm": "2 x values",
    "affine": "2 x values",
    "proposals": "0",
    "roialign": "2 x rows of cells x map width x channels x (map height + columns of cells)",
    "add": "values x (terms - 1)",
    "relu": "values",
    "tanh": "values",
    "sigmoid": "values",
    "softmax": "4 x values",
    "embedding": "0",
    "dropout": "0",
    "flatten": "0",
    "concat": "0",
}
"""In words, by op: what `flops_of` computes."""


_EACH_VALUE = {"batchnorm": 2, "affine": 2, "relu": 1, "tanh": 1, "sigmoid": 1, "softmax": 4}


def flops(graph: Mapping[str, Any]) -> int:
    """The arithmetic of the whole graph, for one row."""
    return sum(flops_by_node(graph).values())


def flops_by_node(graph: Mapping[str, Any]) -> dict[str, int]:
    shapes = all_shapes(graph)
    counted, regions, rows = {}, regions_of(graph), 1
    for node in graph["nodes"]:
        counted[node["name"]] = _flops_of(node, shapes[node["inputs"][0]])
        if node["op"] == "proposals":
            rows = node["proposals_evaluation"]
        if node["name"] in regions:
            counted[node["name"]] *= rows
    return counted


def _flops_of(node: Mapping[str, Any], read: Shape) -> int:
    """Of one node, whose first input has the shape `read`."""
    op = node["op"]
    values: int = math.prod(node["shape"])
    if op in ("conv2d", "dense"):
        kernel: list[int] = node["parameters"]["kernel"]["shape"]
        return values * (2 * math.prod(kernel[:-1]) + int(node["bias"]))
    if op == "lstm":
        steps, width = read
        return int(steps * node["units"] * (8 * (width + node["units"]) + 13))
    if op in ("maxpool", "avgpool"):
        window: list[int] = node["size"]
        return values * math.prod(window)
    if op in ("globalmaxpool", "globalavgpool"):
        return math.prod(read)
    if op == "roialign":
        down, _, channels = node["shape"]
        height, width = read[:2]
        return int(2 * down * width * channels * (height + node["shape"][1]))
    if op == "add":
        return values * (len(node["inputs"]) - 1)
    return values * _EACH_VALUE.get(op, 0)
