"""Faults of dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.proof.drawn import without_dropout
from bench.reference import layers
from bench.reference.model import Reference
from tests.bench.faults.fault import Fault, Json, altered, some


def _masked(share: Callable[[float], float], scale: Callable[[float], float], shape: Any) -> Any:
    """Dropout with another share, another factor, or masks of another shape."""

    def forward(node: Json, inputs: Any, p: Json, context: Any) -> Any:
        x, rate = inputs[0], node["rate"]
        if not context.training or rate == 0:
            return x, None
        keep = context.random.uniform(size=shape(x)) >= share(rate)
        mask = np.broadcast_to(keep, x.shape).astype(x.dtype) * x.dtype.type(scale(rate))
        return x * mask, mask

    return forward


def _same(rate: float) -> float:
    return rate


def _inverse(rate: float) -> float:
    return 1 / (1 - rate)


def _all(x: Any) -> Any:
    return x.shape


def _always(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    if context.random is None:
        context.random = np.random.RandomState(4)
    return layers.dropout(node, inputs, p, layers.Context(True, context.random))


def _as_the_first(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    """All dropouts of a pass draw from one and the same point on."""
    if context.training and node["rate"]:
        if hasattr(context, "first"):
            context.random.set_state(context.first)
        context.first = context.random.get_state()
    return layers.dropout(node, inputs, p, context)


def _unmasked_gradient(node: Json, mask: Any, dy: Any) -> Any:
    return [dy], {}


def _forward(function: Any) -> type[Reference]:
    return altered({"dropout": (function, layers.dropout_backward)})


class NotInSteps(Reference):
    """Drops when it is looked at, and not when it trains."""

    def train_step(self, batch: Json) -> float:
        trained = self._trained
        self._trained = without_dropout({"nodes": trained})["nodes"]
        try:
            return super().train_step(batch)
        finally:
            self._trained = trained


class SameInEachStep(Reference):
    def backward(self, batch: Json) -> Any:
        self._random.seed(1)
        return super().backward(batch)


class SameInEachEpoch(Reference):
    def train_epoch(self, batches: Any, on_step: Any) -> None:
        self._random.seed(1)
        super().train_epoch(batches, on_step)


class OneMaskAnEpoch(Reference):
    def train_epoch(self, batches: Any, on_step: Any) -> None:
        start = self._random.get_state()

        def all_from_there() -> Any:
            for batch in batches:
                self._random.set_state(start)
                yield batch

        super().train_epoch(all_from_there(), on_step)


def _several(graph: Json, recipe: Json) -> bool:
    return sum(node["op"] == "dropout" and node["rate"] > 0 for node in graph["nodes"]) > 1


def _fault(name: str, model: type[Reference], *checks: str, **others: Any) -> Fault:
    return Fault(
        name, model, checks or ("dropout",), ("dropout",), drops=True,
        **{"needs": some("dropout"), **others},
    )  # fmt: skip


FAULTS: tuple[Fault, ...] = (
    _fault("dropout does not scale", _forward(_masked(_same, lambda rate: 1.0, _all))),
    _fault("dropout scales by the rate", _forward(_masked(_same, lambda rate: 1 / rate, _all))),
    _fault(
        "dropout keeps what it should drop",
        _forward(_masked(lambda rate: 1 - rate, lambda rate: 1 / rate, _all)),
    ),
    _fault(
        "dropout drops a little too much",
        _forward(_masked(lambda rate: rate + 0.1 * (1 - rate), _inverse, _all)),
    ),
    _fault(
        "dropout has one mask for all rows",
        _forward(_masked(_same, _inverse, lambda x: (1, *x.shape[1:]))),
    ),
    _fault(
        "dropout drops whole channels",
        _forward(_masked(_same, _inverse, lambda x: (len(x), *(1,) * (x.ndim - 2), x.shape[-1]))),
    ),
    _fault("dropout in evaluation", _forward(_always), "evaluation"),
    _fault("dropout never in training steps", NotInSteps),
    _fault("dropout drops the same in each step", SameInEachStep),
    _fault("dropout drops the same in each epoch", SameInEachEpoch),
    _fault("dropout drops the same in all steps of an epoch", OneMaskAnEpoch),
    _fault("dropouts have one mask", _forward(_as_the_first), needs=_several),
    _fault(
        "dropout's gradient ignores what was dropped",
        altered({"dropout": (layers.dropout, _unmasked_gradient)}), upstream=True,
    ),
)  # fmt: skip
