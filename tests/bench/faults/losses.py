"""Faults of the losses: `loss` has to fail, unless the value is right and its slope is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference
from tests.bench.faults.fault import Fault, Json


def _with_loss(function: Callable[..., Any]) -> type[Reference]:
    """`function(right, name, output, target, mask)` returns the loss and its gradient."""

    class OtherLoss(Reference):
        def _loss(self, name: str, output: Any, target: Any, mask: Any, divisor: Any = None) -> Any:
            right = partial(loss_and_gradient, divisor=divisor)
            return function(right, name, output, target, mask)

    return OtherLoss


def _scaled(factor: Callable[..., float]) -> type[Reference]:
    def function(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        by = factor(output, target, mask)
        return loss * by, gradient * by

    return _with_loss(function)


def _counted(output: Any, target: Any, mask: Any) -> float:
    return float(target.size if mask is None else max(1, mask.sum()))


def _over_all_places(output: Any, target: Any, mask: Any) -> float:
    return 1.0 if mask is None else max(1.0, float(mask.sum())) / mask.size


def _unmasked(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    return right(name, output, target)


def _first_six_rows(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    part = None if mask is None else mask[:6]
    loss, gradient = right(name, output[:6], target[:6], part)
    whole = np.zeros_like(output)
    whole[:6] = gradient
    return loss, whole


def _mask_in_the_divisor(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    if mask is None:
        return right(name, output, target)
    loss, gradient = right(name, output, target, np.ones_like(mask))
    by = 1.0 if right.keywords["divisor"] else mask.size / max(1.0, float(mask.sum()))
    return loss * by, gradient * by


def _last_class_is_another(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    if name == "softmax-cross-entropy":
        target = np.minimum(target, max(0, output.shape[-1] - 2))
    return right(name, output, target, mask)


def _nothing_counts(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    loss, gradient = right(name, output, target, mask)
    if mask is not None and not mask.any():
        return float("nan"), gradient * np.nan
    return loss, gradient


def _softmax_twice(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    if name != "softmax-cross-entropy":
        return right(name, output, target, mask)
    p = np.exp(output - output.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    loss, gradient = right(name, p, target, mask)
    return loss, p * (gradient - (gradient * p).sum(-1, keepdims=True))


def _half_square(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    loss, gradient = right(name, output, target, mask)
    by = 0.5 if name == "mean-squared-error" else 1.0
    return loss * by, gradient * by


def _slope_at_zero(which: str, slope: Callable[[Any], Any]) -> type[Reference]:
    """Another gradient where the logit, or the error, is exactly 0."""

    def function(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        if name == which:
            at = output == 0 if which == "sigmoid-cross-entropy" else output == target
            weight = np.ones_like(output) if mask is None else mask
            share = weight / max(1.0, float(weight.sum()))
            gradient = np.where(at, slope(target) * share, gradient)
        return loss, gradient

    return _with_loss(function)


class WithoutWeights(Reference):
    """All losses count alike."""

    def backward(self, batch: Json) -> Any:
        recipe = self._recipe
        self._recipe = {**recipe, "losses": [{**s, "weight": 1.0} for s in recipe["losses"]]}
        try:
            return super().backward(batch)
        finally:
            self._recipe = recipe


class OneLoss(Reference):
    """All losses but the first count for nothing."""

    def backward(self, batch: Json) -> Any:
        recipe = self._recipe
        first, *rest = recipe["losses"]
        self._recipe = {**recipe, "losses": [first, *({**s, "weight": 0.0} for s in rest)]}
        try:
            return super().backward(batch)
        finally:
            self._recipe = recipe


class ReportedLate(Reference):
    """The loss that is told is the one behind the step."""

    def train_step(self, batch: Json) -> float:
        super().train_step(batch)
        return float(self.backward(batch)[0])


class FullBatches(Reference):
    """A smaller batch is divided by the size of the first one."""

    def _loss(self, name: str, output: Any, target: Any, mask: Any, *divisor: Any) -> Any:
        self._rows = max(getattr(self, "_rows", 0), len(output))
        loss, gradient = super()._loss(name, output, target, mask, *divisor)
        by = len(output) / self._rows
        return loss * by, gradient * by


def _has(name: str) -> Callable[[Json, Json], bool]:
    return lambda graph, recipe: any(s["name"] == name for s in recipe["losses"])


def _has_mask(graph: Json, recipe: Json) -> bool:
    return any(spec["mask"] for spec in recipe["losses"])


def _weighted(graph: Json, recipe: Json) -> bool:
    return any(spec["weight"] not in (0.0, 1.0) for spec in recipe["losses"])


def _two_losses(graph: Json, recipe: Json) -> bool:
    return sum(spec["weight"] > 0 for spec in recipe["losses"]) > 1


def _many_rows(graph: Json, recipe: Json) -> bool:
    return bool(recipe["batch"] > 6)


_LOSS = ("loss",)
_SLOPE = ("kinks", "gradients")

FAULTS: tuple[Fault, ...] = (
    Fault("loss is a sum", _scaled(_counted), _LOSS),
    Fault("loss counts the first six rows alone", _with_loss(_first_six_rows), _LOSS,
          needs=_many_rows),
    Fault("loss ignores its mask", _with_loss(_unmasked), _LOSS, needs=_has_mask),
    Fault("loss is the mean over all places", _scaled(_over_all_places), _LOSS, needs=_has_mask),
    Fault("mask counts in the divisor alone", _with_loss(_mask_in_the_divisor), _LOSS,
          needs=_has_mask),
    Fault("last class is taken for the one before", _with_loss(_last_class_is_another), _LOSS,
          needs=_has("softmax-cross-entropy")),
    Fault("loss of a mask without ones is no number", _with_loss(_nothing_counts), _LOSS,
          needs=_has_mask),
    Fault("loss ignores its weight", WithoutWeights, _LOSS, needs=_weighted),
    Fault("all losses but the first are ignored", OneLoss, _LOSS, needs=_two_losses),
    Fault("softmax is taken twice", _with_loss(_softmax_twice), _LOSS,
          needs=_has("softmax-cross-entropy")),
    Fault("squared error is halved", _with_loss(_half_square), _LOSS,
          needs=_has("mean-squared-error")),
    Fault("loss is told after the step", ReportedLate, _LOSS),
    Fault("smaller batches are divided by the full size", FullBatches, _LOSS),
    Fault("sigmoid cross-entropy's slope at 0 is -t",
          _slope_at_zero("sigmoid-cross-entropy", lambda t: -t), _SLOPE,
          needs=_has("sigmoid-cross-entropy")),
    Fault("absolute error's slope at 0 is 1",
          _slope_at_zero("mean-absolute-error", np.ones_like), _SLOPE,
          needs=_has("mean-absolute-error")),
)  # fmt: skip
