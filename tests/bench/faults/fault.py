"""What a fault is: an altered model, the graphs that it fits, and what a right finding names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.reference.layers import OPERATIONS
from bench.reference.model import Reference

Json = dict[str, Any]
Needs = Callable[[Json, Json], bool]

STEPS = (
    "recipe-steps", "partial-batch", "long-run", "own-batch", "sgd-nesterov-decay-steps",
    "adam-decay-steps", "adadelta-decay-steps",
)  # fmt: skip
"""The checks that compare how far parameters go."""


@dataclass(frozen=True)
class Fault:
    name: str
    model: type[Reference]
    checks: tuple[str, ...]
    """Those that may be the first to fail."""
    ops: tuple[str, ...] = ()
    """A node that is named has one of these ops; none: any node will do."""
    upstream: bool = False
    """... or such a node depends on it: wrong gradients show in the parameters before the fault."""
    parameters: tuple[str, ...] = ()
    """A parameter that is named is one of these; none: any will do."""
    needs: Needs = lambda graph, recipe: True
    """Whether a graph and a recipe contain what is altered."""
    drops: bool = False
    """Whether it is about dropout; the effect of all others is judged with dropout switched off."""
    timing: bool = False
    """Whether it alters no number at all, only when things are done."""
    steps: int = 6
    """After how many steps its effect is judged."""


def adapter(model: type[Reference]) -> SimpleNamespace:
    """An adapter, as `bench.verify` wants it, that builds this kind of model in float32."""
    return SimpleNamespace(
        VARIANTS=("numpy",),
        set_up=lambda options: None,
        describe=lambda: {"framework": "numpy", "version": np.__version__, "threads": 1},
        build=lambda graph, recipe, options: model(graph, recipe, options.seed, np.float32),
    )


def some(op: str, fits: Callable[[Json], bool] = lambda node: True) -> Needs:
    """Whether the graph has a node of this op that fits."""
    return lambda graph, recipe: any(node["op"] == op and fits(node) for node in graph["nodes"])


def altered(operations: dict[str, Any]) -> type[Reference]:
    """The reference with other passes of some ops."""
    return type("Altered", (Reference,), {"operations": {**OPERATIONS, **operations}})


def forward_fault(name: str, op: str, forward: Callable[..., Any], **others: Any) -> Fault:
    """A wrong value; the backward pass is left alone."""
    model = altered({op: (forward, OPERATIONS[op][1])})
    return Fault(name, model, **{"checks": ("forward",), "ops": (op,), "needs": some(op), **others})


def backward_fault(name: str, op: str, backward: Callable[..., Any], **others: Any) -> Fault:
    """Right values, and a wrong gradient."""
    model = altered({op: (OPERATIONS[op][0], backward)})
    return Fault(
        name, model, **{"checks": ("gradients",), "ops": (op,), "needs": some(op), **others}
    )


def attribute_fault(name: str, op: str, change: Callable[[Json], Json], **others: Any) -> Fault:
    """An attribute of a node is misunderstood, forward and backward."""
    forward, backward = OPERATIONS[op]
    model = altered({op: (
        lambda node, *given: forward({**node, **change(node)}, *given),
        lambda node, *given: backward({**node, **change(node)}, *given),
    )})  # fmt: skip
    fits = some(op, lambda node: change(node) != {key: node[key] for key in change(node)})
    return Fault(name, model, **{"checks": ("forward",), "ops": (op,), "needs": fits, **others})
