"""A right adapter to put one fault into, and the checks of the certificate that then fail.

The adapter is NumPy's own in float32: what it computes is right but for the one fault. A fault is a
subclass of `Faulty`, a changed graph, recipe or loss; `failures` says which checks notice it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench import data, verify
from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference
from dlbench import formats
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.workloads import find as find_workload

Json = dict[str, Any]
Faults = dict[str, Json]


def job_of(workload: str, **changes: Any) -> tuple[Json, Path]:
    """The job that asks for a certificate of the workload, and the folder of its data."""
    chosen = find_workload(workload)
    prepared = store.prepare_proof(find_dataset(chosen.dataset))
    job = {
        "v": formats.VERSION, "id": "faulty", "action": "verify", "framework": "numpy",
        "version": "0", "adapter": "numpy", "variant": "numpy", "device": "cpu",
        "setting": "matched", "seed": 1, "threads": None, "graph": chosen.proof_graph,
        "recipe": chosen.recipe, "budget": {"epochs": 1, "steps": None},
        "data": prepared.to_job(), "save": False, **changes,
    }  # fmt: skip
    return json.loads(json.dumps(job)), prepared.folder


def certificate(
    job: Json, folder: Path, adapter: Any, splits: Any = None, until: str = ""
) -> list[Json]:
    """The checks' results, as far as the one named `until`."""
    splits = splits or data.load(str(folder), job["data"], job["graph"], job["recipe"])
    done = []
    for check in verify.checks(job, splits, adapter, str(folder)):
        done.append(check)
        if check["name"] == until:
            break
    return done


def failed(checks: list[Json]) -> Faults:
    """The checks that did not pass, by name, in their order."""
    return {check["name"]: check for check in checks if not check["passed"]}


class Faulty(Reference):
    """The reference in float32; a fault overrides one thing."""

    def __init__(self, graph: Json, recipe: Json, options: Any) -> None:
        super().__init__(graph, recipe, options.seed, np.float32)


def adapter(
    kind: type[Faulty] = Faulty,
    graph: Callable[[Json], Json] = lambda graph: graph,
    recipe: Callable[[Json], Json] = lambda recipe: recipe,
) -> SimpleNamespace:
    """One that builds `kind` from the graph and the recipe as it understands them."""
    return SimpleNamespace(
        set_up=lambda options: None,
        build=lambda g, r, options: kind(graph(copy.deepcopy(g)), recipe(dict(r)), options),
    )


def failures(workload: str, faulty: SimpleNamespace, until: str = "") -> Faults:
    """The checks that did not pass with this adapter, as far as the one named `until`."""
    job, folder = job_of(workload)
    return failed(certificate(job, folder, faulty, until=until))


def changed(name: str, **attributes: Any) -> Callable[[Json], Json]:
    """The graph with other attributes of one node, and all shapes that follow from them."""

    def change(graph: Json) -> Json:
        shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
        for node in graph["nodes"]:
            if node["name"] == name:
                node.update(attributes)
            _reshape(node, [shapes[source] for source in node["inputs"]])
            shapes[node["name"]] = node["shape"]
        return graph

    return change


def _reshape(node: Json, inputs: list[list[int]]) -> None:
    op, x = node["op"], inputs[0]
    parameters = node["parameters"]
    if op in ("conv2d", "maxpool", "avgpool"):
        size = node["kernel"] if op == "conv2d" else node["size"]
        extent = [
            (x[axis] + sum(node["padding"][axis]) - size[axis]) // node["stride"][axis] + 1
            for axis in (0, 1)
        ]
        node["shape"] = [*extent, node["filters"] if op == "conv2d" else x[2]]
        if op == "conv2d":
            parameters["kernel"]["shape"] = [*size, x[2], node["filters"]]
    elif op == "dense":
        parameters["kernel"]["shape"][0] = x[-1]
    elif op == "flatten":
        node["shape"] = [int(np.prod(x))]
    elif op == "concat":
        node["shape"] = [*x[:-1], sum(shape[-1] for shape in inputs)]
    elif op in ("relu", "dropout", "batchnorm", "tanh", "sigmoid", "add"):
        node["shape"] = x
    if op in ("conv2d", "dense") and not node["bias"]:
        parameters.pop("bias", None)


def with_loss(function: Callable[..., tuple[float, np.ndarray]]) -> type[Faulty]:
    """An adapter whose loss is `function(right, name, output, target, mask)`."""

    class Lossy(Faulty):
        def _loss(self, name: str, output: Any, target: Any, mask: Any, *divisor: Any) -> Any:
            return function(loss_and_gradient, name, output, target, mask)

    return Lossy
