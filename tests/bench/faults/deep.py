"""Faults in one node in the middle of a deep graph: wider tolerances must not hide them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.reference.layers import OPERATIONS
from bench.reference.model import Reference
from tests.bench.deep_graphs import densenet121, lstm_of_200_steps, recipe_for, resnet50
from tests.bench.faults.every import FAULTS
from tests.bench.faults.fault import Fault, Json
from tests.bench.faults.proving import Case
from tests.bench.random_graphs import arrays_for

BY_NAME = {fault.name: fault for fault in FAULTS}

PLANTED: tuple[tuple[Callable[[], Json], tuple[str, ...]], ...] = (
    (resnet50, (
        "norm forgets the running mean in evaluation",
        "norm adds epsilon outside the root",
        "norm's gradient takes the variance for a constant",
        "norm keeps the variance with the other divisor",
        "convolution passes its gradient back through a flipped kernel",
        "add passes its gradient to the first input alone",
        "weight decay on biases, too",
    )),
    (densenet121, (
        "relu leaks",
        "concat in the other order",
        "norm's gradient takes the mean for a constant",
        "norm swaps keep with its complement",
        "weight decay halved",
        "learning rate drops at step 50",
    )),
    (lstm_of_200_steps, (
        "LSTM with hard sigmoids",
        "LSTM ignores lengths in its gradient",
        "LSTM's gradient does not go back in time",
        "embedding's row 0 never learns",
        "Adam's epsilon ten times too large",
        "gradients pass through float16",
        "predictions with the weights that were loaded",
    )),
)  # fmt: skip


def case_for(architecture: Callable[[], Json]) -> Case:
    graph = architecture()
    recipe = recipe_for(graph)
    return Case(0, graph, recipe, arrays_for(graph, recipe, 80, 1))


def in_one_node(fault: Fault, graph: Json) -> Fault:
    """A fault of an op in the middle one of its nodes alone; any other fault as it is."""
    if fault.model.operations is OPERATIONS:
        return fault
    (op,) = fault.ops
    names = [
        node["name"] for node in graph["nodes"] if node["op"] == op and node.get("kernel") != [1, 1]
    ]
    chosen, passes = names[len(names) // 2], []
    for wrong, right in zip(fault.model.operations[op], OPERATIONS[op], strict=True):

        def taken(node: Json, *given: Any, wrong: Any = wrong, right: Any = right) -> Any:
            return (wrong if node["name"] == chosen else right)(node, *given)

        passes.append(taken)
    operations = {**OPERATIONS, op: tuple(passes)}
    return replace(fault, model=type("InOneNode", (Reference,), {"operations": operations}))
