"""Faults of what only a detector has: regions, their targets, weighted losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.reference import layers
from bench.reference.layers import OPERATIONS
from tests.bench.proof.faulty import Faulty, Json, adapter, failures, with_loss

LABELS, DELTAS = 3, 5
"""Where they stand in what the host node makes (`ops.EXTRAS`, behind the boxes)."""


def _altered(op: str, forward: Any = None, backward: Any = None) -> type[Faulty]:
    right = OPERATIONS[op]
    passes = (forward or right[0], backward or right[1])
    return type("Altered", (Faulty,), {"operations": {**OPERATIONS, op: passes}})


def _made(change: Callable[[list[Any]], None]) -> type[Faulty]:
    """Something else than the host node made."""

    def forward(node: Json, inputs: Any, p: Json, context: Any) -> Any:
        made, cache = layers.proposals(node, inputs, p, context)
        made = list(made)
        change(made)
        return tuple(made), cache

    return _altered("proposals", forward)


def _turned(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    y, cache = layers.roialign(node, inputs, p, context)
    return np.ascontiguousarray(y.transpose(0, 2, 1, 3)), cache


def _blocked(node: Json, cache: Any, dy: Any) -> Any:
    (first, *others), grads = layers.roialign_backward(node, cache, dy)
    return [first * 0, *others], grads


def _other_labels(made: list[Any]) -> None:
    made[LABELS] = np.where(made[LABELS] > 0, 1, 0).astype(made[LABELS].dtype)


def _no_deltas(made: list[Any]) -> None:
    made[DELTAS] = made[DELTAS] * 0


def _mean_of_weights(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
    return right(name, output, target, mask)  # the divisor is forgotten


def test_the_right_detector_passes() -> None:
    assert failures("voc2012-faster-rcnn", adapter()) == {}


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (_altered("roialign", _turned), "forward"),
        (_altered("roialign", backward=_blocked), "gradients"),
        (_made(_other_labels), "forward"),
        (_made(_no_deltas), "forward"),
        (with_loss(_mean_of_weights), "loss"),
    ],
    ids=["turned regions", "no gradient to the image", "labels", "deltas", "divisor"],
)
def test_a_fault_is_found(model: type[Faulty], check: str) -> None:
    assert next(iter(failures("voc2012-faster-rcnn", adapter(model), until=check))) == check
