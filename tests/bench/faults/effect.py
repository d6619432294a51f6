"""Whether a fault changes anything in a graph: the faulty model against the right one, directly.

A mask of ones, dropout of zeros, a padding that nobody reads: there a fault is none. Both models
go through what a trial goes through, from the same weights with the same rows. A fault matters
where some number differs by more than three times the floor that the certificate states, and by
more than thirty times what float32 and float64 differ by in either model: a gradient that is zero
but for rounding in both is none that a fault has changed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bench.proof import drawn
from bench.proof.compare import FLOOR
from bench.reference.model import Reference
from tests.bench.faults.fault import Fault, Json

_FLOORS = 3.0
_ROUNDINGS = 30.0
_STEPS = 6
_ZERO = ("bias", "beta", "mean", "table")

Behaviour = dict[str, tuple[str, np.ndarray]]
"""By what it is: its kind, as in the certificate's floors, and the numbers."""


def matters(fault: Fault, graph: Json, recipe: Json, rows: Json) -> bool:
    """`rows`: arrays of inputs, targets and masks, at least as many as twice the batch."""
    if fault.timing:
        return True
    used = drawn.redrawn(graph, 31) if fault.drops else drawn.without_dropout(graph)
    with np.errstate(all="ignore"):
        behaves = partial(
            _behaviour, graph=used, recipe=recipe, rows=rows, steps=fault.steps,
            others=_other_optimizers(used, recipe, rows, fault.steps),
        )  # fmt: skip
        right, exact = (behaves(Reference, dtype=kind) for kind in (np.float32, np.float64))
        try:
            faulty, widened = (behaves(fault.model, dtype=kind) for kind in (np.float32, "f8"))
        except (ValueError, IndexError):
            return True  # it does not even run
    return any(
        _apart(kind, faulty[what][1], value, exact[what][1], widened[what][1])
        for what, (kind, value) in right.items()
    )


def _apart(kind: str, faulty: Any, right: Any, exact: Any, widened: Any) -> bool:
    if faulty.shape != right.shape:
        return True
    if not right.size:
        return False
    both = np.isnan(faulty) & np.isnan(right)  # where training diverges in any case
    difference = np.where(both, 0, np.abs(np.asarray(faulty, np.float64) - right))
    rounding = max(_largest(right, exact), _largest(faulty, widened))
    room = max(_FLOORS * FLOOR[kind] * np.abs(right).max(), _ROUNDINGS * rounding, 1e-9)
    return difference.max() != 0 and not difference.max() <= room


def _largest(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one, np.float64) - other).max())


def _other_optimizers(graph: Json, recipe: Json, rows: Json, steps: int) -> Json:
    """One of each kind, with coefficients that fit the right model's gradients."""
    if steps > _STEPS:  # what shows late is proven with the recipe's own optimiser alone
        return {}
    start, batch = _start(graph), _batches(rows, recipe["batch"], steps)[0]
    model = Reference(graph, recipe, 1, np.float64, start)
    sizes = []
    for weights, own in ((start, batch), _at_kinks(graph, recipe, start, batch)):
        model.load(weights)
        _, gradients = model.gradients(own)
        sizes += [
            np.abs(v).max() for values in gradients.values() for v in values.values() if v.size
        ]
    return drawn.optimizers(float(np.median([size for size in sizes if size] or [1e-2])))


def _behaviour(
    kind: type[Reference],
    graph: Json,
    recipe: Json,
    rows: Json,
    dtype: Any,
    steps: int,
    others: Json,
) -> Behaviour:
    """What the model says and does, without and with steps of its optimiser and of the others."""
    start = _start(graph)
    batches = _batches(rows, recipe["batch"], steps)
    shown: Behaviour = {}
    model = kind(graph, recipe, 1, dtype)
    model.load(start)
    shown.update(_weights("loaded", model.weights(), None))
    _values(shown, "evaluation", model.activations(batches[0]))
    _values(shown, "training", model.activations(batches[0], training=True))
    _values(shown, "prediction", model.predict(batches[0]))
    _values(shown, "prediction again", model.predict(batches[0]))
    _values(shown, "prediction of fewer rows", model.predict(batches[-1]))
    for what, weights, batch in (
        ("gradient", start, batches[0]),
        ("gradient at kinks", *_at_kinks(graph, recipe, start, batches[0])),
    ):
        model.load(weights)
        loss, gradients = model.gradients(batch)
        shown[f"loss of {what}"] = "loss", np.array([loss])
        for node, values in gradients.items():
            for name, value in values.items():
                shown[f"{what} {node}/{name}"] = "gradient", value
    for name, optimizer in {"own": recipe["optimizer"], **others}.items():
        _trained(shown, name, kind(graph, {**recipe, "optimizer": optimizer}, 1, dtype), start,
                 batches)  # fmt: skip
    return shown


def _trained(shown: Behaviour, name: str, model: Reference, start: Json, batches: Any) -> None:
    """Single steps, then two epochs with predictions before, between and behind them."""
    model.load(start)
    handles = []
    for batch in batches:
        before = model.weights()
        handles.append(model.train_step(batch))
    shown.update(_weights(f"{name}: last step", model.weights(), before))
    shown.update(_weights(f"{name}: steps", model.weights(), start))
    model.load(start)
    told: list[Any] = []
    half = (len(batches) + 1) // 2
    for part in (batches[:half], batches[half:]):
        model.predict(batches[0])
        model.train_epoch(iter(part), lambda handle, seconds: told.append(handle))
    _values(shown, f"{name}: prediction", model.predict(batches[0]))
    shown.update(_weights(f"{name}: epochs", model.weights(), start))
    for what, some in (("steps", handles), ("epochs", told)):
        shown[f"{name}: losses of {what}"] = "loss", np.array(model.losses(some))


def _start(graph: Json) -> Json:
    """Weights and running statistics, none of them where training begins."""
    return drawn.weights(graph, 1000)


def _batches(rows: Json, size: int, steps: int) -> list[Json]:
    """Full batches, one in which no mask counts, and a partial one."""
    count = len(next(iter(rows.values())))
    order = np.random.RandomState(5)
    sizes = [size] * (steps - 1) + [min(size, max(2, size // 2))]
    batches = []
    for number, rest in enumerate(sizes):
        chosen = order.permutation(count)[:rest]
        batch = {name: value[chosen] for name, value in rows.items()}
        if number == 2:
            batch.update({n: np.zeros_like(v) for n, v in batch.items() if n.startswith("mask")})
        batches.append(batch)
    return batches


def _at_kinks(graph: Json, recipe: Json, start: Json, batch: Json) -> tuple[Json, Json]:
    """Weights and a batch with which relu and the losses see zeros."""
    weights = {
        node: {name: np.zeros_like(v) if name in _ZERO else v for name, v in values.items()}
        for node, values in start.items()
    }
    real = {spec["name"] for spec in graph["inputs"] if spec["dtype"] == "float32"}
    real |= {s["target"] for s in recipe["losses"] if s["name"] == "mean-absolute-error"}
    return weights, {n: np.zeros_like(v) if n in real else v for n, v in batch.items()}


def _values(shown: Behaviour, what: str, values: Json) -> None:
    for name, value in values.items():
        shown[f"{what} {name}"] = "forward", value


def _weights(what: str, weights: Json, start: Json | None) -> Behaviour:
    return {
        f"{what} {node}/{name}": (
            "step",
            np.asarray(value, np.float64) - (start[node][name] if start else 0.0),
        )
        for node, values in weights.items()
        for name, value in values.items()
    }
