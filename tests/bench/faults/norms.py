"""Faults of batch normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.reference import layers
from bench.reference.layers import Context
from bench.reference.model import Reference
from tests.bench.faults.fault import (
    Fault,
    Json,
    attribute_fault,
    backward_fault,
    forward_fault,
)


def _in_evaluation(change: Callable[[Json, Any], Json]) -> Any:
    """Other running statistics in evaluation; `change(parameters, input)`."""

    def forward(node: Json, inputs: Any, p: Json, context: Any) -> Any:
        used = p if context.training else {**p, **change(p, inputs[0])}
        return layers.batchnorm(node, inputs, used, context)

    return forward


def _of_batch(p: Json, x: Any) -> Json:
    axes = tuple(range(x.ndim - 1))
    return {"mean": x.mean(axis=axes), "variance": x.var(axis=axes)}


def _scaled(scale: Callable[[Json, Any, int], Any]) -> Any:
    """Another factor for the centred values; `scale(node, variance, rows)`."""

    def forward(node: Json, inputs: Any, p: Json, context: Any) -> Any:
        _, (hat, _, gamma, training) = layers.batchnorm(node, inputs, p, context)
        x = inputs[0]
        own = _of_batch(p, x) if training else p
        factor = scale(node, own["variance"], x.size // x.shape[-1] if training else 0)
        hat = ((x - own["mean"]) * factor).astype(x.dtype)
        return hat * gamma + p["beta"], (hat, factor, gamma, training)

    return forward


def _epsilon_outside(node: Json, variance: Any, rows: int) -> Any:
    return 1 / (np.sqrt(variance) + node["epsilon"])


def _unbiased(node: Json, variance: Any, rows: int) -> Any:
    factor = rows / (rows - 1.0) if rows > 1 else 1.0
    return 1 / np.sqrt(variance * factor + node["epsilon"])


def _each_place_alone(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, cache = layers.batchnorm(node, inputs, p, context)
    x = inputs[0]
    if not context.training or x.ndim == 2:
        return y, cache
    scale = 1 / np.sqrt(x.var(axis=0) + node["epsilon"])
    return ((x - x.mean(axis=0)) * scale).astype(x.dtype) * p["gamma"] + p["beta"], cache


def _backward(keep_mean: bool, keep_variance: bool) -> Any:
    """The gradient with one of the two statistics taken for a constant."""

    def backward(node: Json, cache: Any, dy: Any) -> Any:
        hat, scale, gamma, training = cache
        upstream, grads = layers.batchnorm_backward(node, cache, dy)
        if training:
            axes = tuple(range(dy.ndim - 1))
            dhat = whole = dy * gamma
            if keep_mean:
                dhat = dhat - whole.mean(axis=axes)
            if keep_variance:
                dhat = dhat - hat * (whole * hat).mean(axis=axes)
            upstream = [dhat * scale]
        return upstream, grads

    return backward


def _gamma_gradient(node: Json, cache: Any, dy: Any) -> Any:
    hat, scale, _, _ = cache
    upstream, grads = layers.batchnorm_backward(node, cache, dy)
    gamma = (dy * hat / scale).sum(axis=tuple(range(dy.ndim - 1)))
    return upstream, {**grads, "gamma": gamma.astype(dy.dtype)}


class NotLoaded(Reference):
    """Running statistics stay as they were at first."""

    def load(self, weights: Json) -> None:
        before = getattr(self, "_weights", None)
        super().load(weights)
        for node in self._graph["nodes"]:
            if before and node["op"] == "batchnorm":
                self._weights[node["name"]].update(
                    {name: before[node["name"]][name] for name in ("mean", "variance")}
                )


class MovedByEvaluation(Reference):
    """A prediction moves the running statistics, as one in training mode would."""

    def predict(self, batch: Json) -> Json:
        values = super().predict(batch)
        context = Context(True, self._random)
        self._forward(batch, self._graph["nodes"], context)
        for node, statistics in context.state.items():
            self._weights[node].update(statistics)
        return values


class SharedStatistics(Reference):
    """Norms of as many channels have the running statistics of the first."""

    def step(self, gradients: Json, state: Json) -> None:
        first: Json = {}
        for node, values in state.items():
            state[node] = first.setdefault(len(values["mean"]), values)
        super().step(gradients, state)


_NORM = {"ops": ("batchnorm",), "needs": lambda graph, recipe: any(
    node["op"] == "batchnorm" for node in graph["nodes"]
)}  # fmt: skip

FAULTS: tuple[Fault, ...] = (
    # an epsilon too small to tell is drawn anew for `evaluation`
    forward_fault(
        "norm adds epsilon outside the root", "batchnorm", _scaled(_epsilon_outside),
        checks=("forward", "evaluation"),
    ),
    forward_fault("norm divides by the unbiased variance", "batchnorm", _scaled(_unbiased)),
    forward_fault("norm of each place by itself", "batchnorm", _each_place_alone),
    attribute_fault(
        "norm swaps keep with its complement", "batchnorm",
        lambda node: {"keep": 1 - node["keep"]}, checks=("batchnorm",),
        parameters=("mean", "variance"),
    ),
    attribute_fault(
        "norm keeps the variance with the other divisor", "batchnorm",
        lambda node: {"unbiased": not node["unbiased"]}, checks=("batchnorm",),
        parameters=("variance",),
    ),
    attribute_fault("norm ignores its epsilon", "batchnorm", lambda node: {"epsilon": 1e-5}),
    forward_fault(
        "norm uses the batch's statistics in evaluation", "batchnorm", _in_evaluation(_of_batch)
    ),
    forward_fault(
        "norm forgets the running mean in evaluation", "batchnorm",
        _in_evaluation(lambda p, x: {"mean": np.zeros_like(p["mean"])}),
    ),
    forward_fault(
        "norm forgets beta in evaluation", "batchnorm",
        _in_evaluation(lambda p, x: {"beta": np.zeros_like(p["beta"])}),
    ),
    backward_fault(
        "norm's gradient takes the mean for a constant", "batchnorm", _backward(False, True),
        upstream=True,
    ),
    backward_fault(
        "norm's gradient takes the variance for a constant", "batchnorm", _backward(True, False),
        upstream=True,
    ),
    backward_fault(
        "norm's gamma learns from values that are not scaled", "batchnorm", _gamma_gradient,
        parameters=("gamma",),
    ),
    Fault(
        "norms share their running statistics", SharedStatistics, ("batchnorm",),
        parameters=("mean", "variance"), **_NORM,
    ),
    Fault(
        "running statistics are not loaded", NotLoaded, ("initial-weights",), **_NORM
    ),
    Fault(
        "evaluation moves the running statistics", MovedByEvaluation, ("evaluation",),
        needs=_NORM["needs"],
    ),
)  # fmt: skip
