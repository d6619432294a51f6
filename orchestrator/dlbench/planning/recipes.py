"""Training recipes, built from small functions, and what makes a recipe fit its graph.

    recipe(
        batch=128,
        epochs=15,
        optimizer=sgd(lr=0.01, momentum=0.5),
        losses=[loss("softmax-cross-entropy", "logits", "label")],
        metrics=[metric("accuracy", "logits", "label")],
    )

bench/FORMATS.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dlbench.planning.graph import GraphError, count_parameters

Recipe = dict[str, Any]
Optimizer = dict[str, Any]

LOSSES = (
    "softmax-cross-entropy",
    "sigmoid-cross-entropy",
    "mean-squared-error",
    "mean-absolute-error",
)
METRICS = (
    "accuracy",
    "binary-accuracy",
    "mean-absolute-error",
    "mean-squared-error",
    "perplexity",
)
_BY_CLASS = ("softmax-cross-entropy", "accuracy", "perplexity")
"""Their targets are whole numbers, one for each place of the output's last axis."""


def recipe(
    *,
    batch: int,
    epochs: int,
    optimizer: Optimizer,
    losses: Sequence[Mapping[str, Any]],
    metrics: Sequence[Mapping[str, Any]],
    shuffle: bool = True,
    warmup: int = 10,
) -> Recipe:
    """How a model is trained and judged; `warmup` steps are timed apart."""
    return {
        "batch": batch,
        "epochs": epochs,
        "shuffle": shuffle,
        "warmup": warmup,
        "optimizer": optimizer,
        "losses": [dict(each) for each in losses],
        "metrics": [dict(each) for each in metrics],
    }


def loss(
    name: str, output: str, target: str, *, mask: str | None = None, weight: float = 1.0
) -> dict[str, Any]:
    return {"name": name, "output": output, "target": target, "mask": mask, "weight": weight}


def metric(name: str, output: str, target: str, *, mask: str | None = None) -> dict[str, Any]:
    return {"name": name, "output": output, "target": target, "mask": mask}


def sgd(
    lr: float, *, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    return {
        "name": "sgd",
        "lr": lr,
        "momentum": momentum,
        "nesterov": nesterov,
        "weight_decay": weight_decay,
    }


def adam(
    lr: float,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
) -> Optimizer:
    return {
        "name": "adam",
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "epsilon": epsilon,
        "weight_decay": weight_decay,
    }


def adadelta(
    lr: float, *, rho: float = 0.95, epsilon: float = 1e-6, weight_decay: float = 0.0
) -> Optimizer:
    return {
        "name": "adadelta",
        "lr": lr,
        "rho": rho,
        "epsilon": epsilon,
        "weight_decay": weight_decay,
    }


OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {"sgd": sgd, "adam": adam, "adadelta": adadelta}

_RANGES: dict[str, tuple[float, float]] = {
    "lr": (0.0, math.inf),
    "momentum": (0.0, 1.0),
    "beta1": (0.0, 1.0),
    "beta2": (0.0, 1.0),
    "rho": (0.0, 1.0),
    "epsilon": (0.0, math.inf),
    "weight_decay": (0.0, math.inf),
}
"""From (included) to (excluded); `lr` and `epsilon` must be above 0."""


def check(graph: Mapping[str, Any], recipe: Recipe) -> None:
    """Refuse a recipe that can't train this graph, in a sentence that names the node."""
    outputs = set(graph["outputs"])
    for kind, specs, known in (
        ("loss", recipe["losses"], LOSSES),
        ("metric", recipe["metrics"], METRICS),
    ):
        for spec in specs:
            if spec["name"] not in known:
                raise GraphError(f"There is no {kind} {spec['name']!r}; use {', '.join(known)}.")
            if spec["output"] not in outputs:
                raise GraphError(
                    f"The {kind} {spec['name']} reads {spec['output']!r}, which is not an output"
                    f" of graph {graph['name']!r}."
                )
    if not recipe["losses"]:
        raise GraphError(f"The recipe of {graph['name']!r} has no loss.")
    for spec in recipe["losses"]:
        if not (math.isfinite(spec["weight"]) and spec["weight"] >= 0):
            raise GraphError(f"The loss of {spec['output']!r} has the weight {spec['weight']}.")
    _check_optimizer(recipe["optimizer"])
    if recipe["batch"] < 1 or recipe["epochs"] < 1:
        raise GraphError(f"The recipe of {graph['name']!r} needs a batch and epochs from 1.")
    trained = _trained(graph, recipe)
    if not count_parameters({**graph, "nodes": trained}):
        raise GraphError(f"No loss of {graph['name']!r} depends on a parameter to train.")
    for node in trained:
        if node["op"] == "batchnorm" and math.prod(node["shape"][:-1]) * recipe["batch"] < 2:
            raise GraphError(
                f"batchnorm {node['name']!r} has one value a channel in a batch of"
                f" {recipe['batch']}: it has no variance. Use a larger batch."
            )


def _check_optimizer(optimizer: Optimizer) -> None:
    for name, (low, high) in _RANGES.items():
        value = optimizer.get(name)
        if value is None:
            continue
        above = value > low if name in ("lr", "epsilon") else value >= low
        if not (above and value < high):
            raise GraphError(f"{optimizer['name']}: {name} of {value} is outside its range.")
    if optimizer.get("nesterov") and not optimizer["momentum"]:
        raise GraphError("sgd: nesterov needs a momentum above 0.")


def _trained(graph: Mapping[str, Any], recipe: Recipe) -> list[dict[str, Any]]:
    """The nodes that some loss depends on."""
    wanted = {spec["output"].partition(":")[0] for spec in recipe["losses"]}
    for node in reversed(graph["nodes"]):
        if node["name"] in wanted:
            read = [*node["inputs"], *(node.get("initial") or ())]
            wanted.update(name.partition(":")[0] for name in read)
    return [node for node in graph["nodes"] if node["name"] in wanted]


def check_data(
    graph: Mapping[str, Any], recipe: Recipe, shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse data that do not fit; `shapes` are those of a split's arrays, rows first."""
    own = {spec["name"]: tuple(spec["shape"]) for spec in graph["inputs"]}
    inputs = set(own)
    for node in graph["nodes"]:
        own[node["name"]] = tuple(node["shape"])
        if node["op"] == "lstm":
            own[f"{node['name']}:h"] = own[f"{node['name']}:c"] = (node["units"],)
    exact = {name: own[name] for name in inputs}
    targets: dict[str, tuple[int, ...]] = {}
    for spec in (*recipe["losses"], *recipe["metrics"]):
        places = own[spec["output"]]
        places = places[:-1] if spec["name"] in _BY_CLASS else places
        targets[spec["target"]] = places
        if spec["mask"] is not None:
            # another shape would be stretched over the values instead of selecting them
            exact[spec["mask"]] = places
    for name, wanted in {**targets, **exact}.items():
        if name not in shapes:
            raise GraphError(f"The data have no array {name!r}, which {graph['name']!r} reads.")
        row = shapes[name][1:]
        # a target of one number a row may leave out an axis of size 1
        fits = row == wanted if name in exact else math.prod(row) == math.prod(wanted)
        if not fits:
            raise GraphError(
                f"The array {name!r} has rows of the shape {list(row)}; {graph['name']!r} needs"
                f" {list(wanted)}."
            )
    rows = next(iter(shapes.values()))[0]
    last = rows % recipe["batch"] or recipe["batch"]
    for node in _trained(graph, recipe):
        if node["op"] == "batchnorm" and math.prod(node["shape"][:-1]) * last < 2:
            raise GraphError(
                f"{rows} rows in batches of {recipe['batch']} leave one row for the last batch, in"
                f" which batchnorm {node['name']!r} has no variance. Use another batch size."
            )
