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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dlbench.planning.graph import (
    LEAST,
    MOST,
    NEAR_ONE,
    GraphError,
    Shape,
    all_shapes,
    count_parameters,
    within,
)
from dlbench.planning.greedy_decoding import GREEDY, check_greedy
from dlbench.planning.image_sizes import at_every_size
from dlbench.planning.regions import (
    DETECTION_METRICS,
    check_boxes,
    check_regions,
    proposals_of,
    reached,
)
from dlbench.planning.targets import check_targets, places_of

Recipe = dict[str, Any]
Optimizer = dict[str, Any]
Schedule = dict[str, Any]
Stopping = dict[str, Any]
Augmentation = dict[str, Any]

LOSSES = (
    "softmax-cross-entropy",
    "sigmoid-cross-entropy",
    "mean-squared-error",
    "mean-absolute-error",
    "smooth-l1",
)
METRICS = (
    "accuracy",
    "binary-accuracy",
    "mean-absolute-error",
    "mean-squared-error",
    "perplexity",
    GREEDY,
    *DETECTION_METRICS,
)


def recipe(
    *,
    batch: int,
    epochs: int,
    shuffle: bool = True,
    warmup: int = 10,
    optimizer: Optimizer,
    schedule: Schedule | None = None,
    clip: float | None = None,
    stopping: Stopping | None = None,
    augment: Augmentation | None = None,
    evaluate: Sequence[str] = ("test",),
    losses: Sequence[Mapping[str, Any]],
    metrics: Sequence[Mapping[str, Any]],
) -> Recipe:
    """How a model is trained and judged; `warmup` steps are timed apart.

    `evaluate`: the splits that the metrics are measured on, `test` and, at the end, `train`.
    """
    return {
        **locals(),
        "evaluate": list(evaluate),
        "losses": [dict(each) for each in losses],
        "metrics": [dict(each) for each in metrics],
    }


def loss(
    name: str,
    output: str,
    target: str,
    *,
    mask: str | None = None,
    weight: float = 1.0,
    divisor: float | None = None,
) -> dict[str, Any]:
    """With a divisor `mask` may hold any weights, and their sum is divided by it."""
    spec = {"name": name, "output": output, "target": target, "mask": mask, "weight": weight}
    return spec if divisor is None else {**spec, "divisor": divisor}


def metric(
    name: str,
    output: str,
    target: str,
    *,
    mask: str | None = None,
    input: str | None = None,
    deltas: str | None = None,
) -> dict[str, Any]:
    """`input`: of greedy-accuracy alone, the graph's input that gets the words that were found.

    `deltas`: of detections alone, the output that moves the regions.
    """
    own = {"name": name, "output": output, "target": target, "mask": mask}
    more = {"input": input, "deltas": deltas}
    return {**own, **{key: value for key, value in more.items() if value is not None}}


def classification(**own: Any) -> Recipe:
    """The recipe of a model that gives each row one label: `logits`, held against `label`."""
    return recipe(
        losses=[loss("softmax-cross-entropy", "logits", "label")],
        metrics=[metric("accuracy", "logits", "label")],
        **own,
    )


def sgd(
    lr: float, *, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    return {"name": "sgd", **locals()}


def adam(
    lr: float,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
) -> Optimizer:
    return {"name": "adam", **locals()}


def adadelta(
    lr: float, *, rho: float = 0.95, epsilon: float = 1e-6, weight_decay: float = 0.0
) -> Optimizer:
    return {"name": "adadelta", **locals()}


def constant(*, warmup: int = 0) -> Schedule:
    """The optimiser's rate, reached in `warmup` steps, each as much higher as the one before."""
    return {"name": "constant", **locals()}


def step(every: int, factor: float, *, warmup: int = 0) -> Schedule:
    """Times `factor` after each `every` epochs."""
    return {"name": "step", **locals()}


def cosine(*, least: float = 0.0, warmup: int = 0) -> Schedule:
    """Half a cosine from the optimiser's rate to `least` of it at the end of the planned steps."""
    return {"name": "cosine", **locals()}


def inverse(decay: float, *, warmup: int = 0) -> Schedule:
    """Over 1 + decay * step: the `decay` of Keras 2's optimisers."""
    return {"name": "inverse", **locals()}


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "constant": constant,
    "step": step,
    "cosine": cosine,
    "inverse": inverse,
}


def stopping(patience: int, *, validation: float | None = 0.1) -> Stopping:
    """End when the first metric has not improved for `patience` epochs on rows kept for that.

    `validation` is the share of the training rows; None: the data have a split of that name.
    """
    return dict(locals())


def augmentation(*, flip: bool = False, crop: int = 0) -> Augmentation:
    """Images flipped left to right by chance; cut out at random after `crop` pixels of padding."""
    return dict(locals())


OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {"sgd": sgd, "adam": adam, "adadelta": adadelta}

_RANGES: dict[str, tuple[float, float]] = {
    "lr": (LEAST, MOST),
    "momentum": (0.0, NEAR_ONE),
    "beta1": (0.0, NEAR_ONE),
    "beta2": (0.0, NEAR_ONE),
    "rho": (0.0, NEAR_ONE),
    "epsilon": (LEAST, MOST),
    "weight_decay": (0.0, MOST),
}
"""From and to, both included."""


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
    _check_metrics(graph, recipe)
    if not recipe["losses"]:
        raise GraphError(f"The recipe of {graph['name']!r} has no loss.")
    for spec in recipe["losses"]:
        if not within(spec["weight"], 0, MOST):
            raise GraphError(
                f"The loss of {spec['output']!r} has the weight {spec['weight']}; it must be 0, or"
                f" from {LEAST:g} to {MOST:g}."
            )
        divisor = spec.get("divisor")
        if divisor is not None and not (spec["mask"] and 1 / MOST <= divisor <= MOST):
            raise GraphError(
                f"The loss of {spec['output']!r} has the divisor {divisor}; it must be from"
                f" {1 / MOST:g} to {MOST:g}, and needs a mask."
            )
    _check_optimizer(recipe["optimizer"])
    _check_course(graph, recipe)
    if recipe["batch"] < 1 or recipe["epochs"] < 1:
        raise GraphError(f"The recipe of {graph['name']!r} needs a batch and epochs from 1.")
    check_regions(graph, recipe)
    for when, sized in at_every_size(graph):
        check_targets(sized, recipe, when)
    if not count_parameters({**graph, "nodes": _trained(graph, recipe)}):
        raise GraphError(f"No loss of {graph['name']!r} depends on a parameter to train.")
    for when, sized in at_every_size(graph):
        for node in sized["nodes"]:
            if node["op"] == "batchnorm" and math.prod(node["shape"][:-1]) * recipe["batch"] < 2:
                raise GraphError(
                    f"batchnorm {node['name']!r} has one value a channel in a batch of"
                    f" {recipe['batch']}{f' {when}' if when else ''}: it has no variance. Use a"
                    " larger batch."
                )


def _check_metrics(graph: Mapping[str, Any], recipe: Recipe) -> None:
    splits = recipe.get("evaluate", ["test"])
    if "test" not in splits or not set(splits) <= {"test", "train"}:
        raise GraphError(f"evaluate must be test, or test and train, not {', '.join(splits)}.")
    for place, spec in enumerate(recipe["metrics"]):
        if spec["name"] == GREEDY:
            check_greedy(graph, spec)
            if not place:
                raise GraphError(
                    f"{GREEDY} of graph {graph['name']!r} is measured at the end alone, so it"
                    " can't be the first metric, which is measured after each epoch."
                )
        elif spec.get("input") is not None:
            raise GraphError(f"The metric {spec['name']} has no `input`; only {GREEDY} has one.")
        if spec.get("deltas") is not None and spec["name"] not in DETECTION_METRICS:
            raise GraphError(f"The metric {spec['name']} has no `deltas`; only detections have.")
    names = Counter(spec["name"].removeprefix("binary-") for spec in recipe["metrics"])
    if twice := [name for name, often in names.items() if often > 1]:
        raise GraphError(
            f"The metric {twice[0]} of graph {graph['name']!r} is there twice; results have one"
            " value of each name."
        )


def _check_optimizer(optimizer: Optimizer) -> None:
    for name, (low, high) in _RANGES.items():
        value = optimizer.get(name)
        if value is not None and not within(value, low, high):
            raise GraphError(
                f"{optimizer['name']}: {name} of {value} is outside its range, from {low:g} to"
                f" {high:g}."
            )
    if optimizer.get("nesterov") and not optimizer["momentum"]:
        raise GraphError("sgd: nesterov needs a momentum above 0.")
    if optimizer.get("beta1") and not optimizer["beta2"]:
        raise GraphError("adam: a beta1 above 0 needs a beta2 above 0: steps would have no bound.")


def _check_course(graph: Mapping[str, Any], recipe: Recipe) -> None:
    """What changes in the course of training: rate, gradients' size, rows, end."""
    schedule, clip = recipe.get("schedule"), recipe.get("clip")
    if schedule is not None:
        name, kinds = schedule.get("name"), ", ".join(SCHEDULES)
        if name not in SCHEDULES:
            raise GraphError(f"There is no schedule {name!r}; use {kinds}.")
        for key, (low, high) in _COURSE.items():
            if key in schedule and not within(schedule[key], low, high):
                raise GraphError(
                    f"schedule {name}: {key} of {schedule[key]} is outside its range,"
                    f" from {low:g} to {high:g}."
                )
    if clip is not None and not LEAST <= clip <= MOST:
        raise GraphError(f"clip of {clip} is not a norm from {LEAST:g} to {MOST:g}.")
    stop = recipe.get("stopping")
    if stop is not None:
        if not recipe["metrics"]:
            raise GraphError(f"{graph['name']!r} has no metric that could tell when to stop.")
        share = stop["validation"]
        if stop["patience"] < 1 or not (share is None or 0 < share < 1):
            raise GraphError(f"stopping needs a patience from 1 and a share in 0..1, not {stop}.")
    augment = recipe.get("augment")
    if augment is not None:
        if augment["crop"] < 0 or not (augment["flip"] or augment["crop"]):
            raise GraphError(f"augment must flip, or crop by 1 or more: {augment}.")
        if proposals_of(graph):
            raise GraphError(f"{graph['name']!r} can't augment: boxes would not move along.")
        if not any(len(spec["shape"]) == 3 for spec in graph["inputs"]):
            raise GraphError(f"{graph['name']!r} has no image to augment.")


_COURSE: dict[str, tuple[float, float]] = {
    "warmup": (0, MOST),
    "every": (1, MOST),
    "factor": (LEAST, MOST),
    "least": (0.0, 1.0),
    "decay": (0.0, MOST),
}


def _trained(graph: Mapping[str, Any], recipe: Recipe) -> list[dict[str, Any]]:
    """The nodes that some loss depends on."""
    wanted = reached(graph, [spec["output"] for spec in recipe["losses"]], through=True)
    return [node for node in graph["nodes"] if node["name"] in wanted]


def rows_trained(recipe: Recipe, rows: int) -> int:
    """How many of the training rows are trained on: some may be kept to tell when to stop."""
    share = (recipe.get("stopping") or {}).get("validation")
    return rows - (round(rows * share) if share else 0)


def check_data(
    graph: Mapping[str, Any], recipe: Recipe, shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse training data that do not fit; `shapes` are those of the arrays, rows first."""
    check_arrays(graph, recipe, shapes)
    if not proposals_of(graph):
        _check_rows(graph, recipe, next(iter(shapes.values()))[0])


def check_arrays(
    graph: Mapping[str, Any], recipe: Recipe, shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse arrays of a split that are missing or of another shape."""
    if proposals_of(graph):
        check_boxes(graph, shapes)
        return
    own = all_shapes(graph)
    exact = {spec["name"]: own[spec["name"]] for spec in graph["inputs"]}
    targets: dict[str, Shape] = {}
    for spec in (*recipe["losses"], *recipe["metrics"]):
        places = targets[spec["target"]] = places_of(spec, own)
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


def _check_rows(graph: Mapping[str, Any], recipe: Recipe, rows: int) -> None:
    left = rows_trained(recipe, rows)
    if (recipe.get("stopping") or {}).get("validation") and not 0 < left < rows:
        share = recipe["stopping"]["validation"]
        raise GraphError(
            f"{share:g} of {rows} rows can't be kept to tell when to stop (stopping.validation)."
        )
    rows = left
    last = rows % recipe["batch"] or recipe["batch"]
    for node in graph["nodes"]:
        if node["op"] == "batchnorm" and math.prod(node["shape"][:-1]) * last < 2:
            raise GraphError(
                f"{rows} rows in batches of {recipe['batch']} leave one row for the last batch, in"
                f" which batchnorm {node['name']!r} has no variance. Use another batch size."
            )
