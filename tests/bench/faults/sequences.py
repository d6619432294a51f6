"""Faults of the LSTM and of embeddings."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from bench.reference import layers, lstm
from bench.reference.model import Reference
from tests.bench.faults.fault import (
    STEPS,
    Fault,
    Json,
    backward_fault,
    forward_fault,
    some,
)


def _with_parameters(change: Any) -> Any:
    def forward(node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
        return lstm.forward(node, x, {**p, **change(node, p)}, lengths, initial)

    return forward


def _gates(order: tuple[int, ...]) -> Any:
    def change(node: Json, p: Json) -> Json:
        blocks = {name: np.split(value, 4, axis=-1) for name, value in p.items()}
        return {name: np.concatenate([b[k] for k in order], -1) for name, b in blocks.items()}

    return _with_parameters(change)


def _more_forget(node: Json, p: Json) -> Json:
    bias = p["bias"].copy()
    bias[node["units"] : 2 * node["units"]] += 1
    return {"bias": bias}


def _transposed(node: Json, p: Json) -> Json:
    blocks = np.split(p["recurrent_kernel"], 4, axis=-1)
    return {"recurrent_kernel": np.concatenate([block.T for block in blocks], -1)}


def _hard(x: Any) -> Any:
    return np.clip(0.2 * x + 0.5, 0, 1).astype(x.dtype)


def _hard_gates(*given: Any) -> Any:
    with mock.patch.object(lstm, "sigmoid", _hard):
        return lstm.forward(*given)


def _without_lengths(node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
    return lstm.forward(node, x, p, None, initial)


def _mixed(sequence: bool, h: bool, c: bool) -> Any:
    """Those that are true come from a pass that ignores the lengths."""

    def forward(node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
        right = lstm.forward(node, x, p, lengths, initial)
        wrong = lstm.forward(node, x, p, None, initial)
        parts = zip((sequence, h, c), wrong[:3], right[:3], strict=True)
        return (*(w if swap else r for swap, w, r in parts), right[3])

    return forward


def _from_zero(node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
    return lstm.forward(node, x, p, lengths, None)


def _states_swapped(node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
    return lstm.forward(node, x, p, lengths, initial[::-1] if initial else None)


def _cut(node: Json, cache: Any, *gradients: Any) -> Any:
    x, p, trace = cache
    nothing = {**p, "recurrent_kernel": np.zeros_like(p["recurrent_kernel"])}
    return lstm.backward(node, (x, nothing, trace), *gradients)


def _back_without_lengths(node: Json, cache: Any, *gradients: Any) -> Any:
    x, p, trace = cache
    return lstm.backward(
        node, (x, p, [(*step[:-1], np.ones_like(step[-1])) for step in trace]), *gradients
    )


def _state_gradient_lost(node: Json, cache: Any, *gradients: Any) -> Any:
    dx, dh, dc, grads = lstm.backward(node, cache, *gradients)
    return dx, np.zeros_like(dh), np.zeros_like(dc), grads


def _cell_gradient_lost(node: Json, cache: Any, dsequence: Any, dh: Any, dc: Any) -> Any:
    return lstm.backward(node, cache, dsequence, dh, np.zeros_like(dc))


def _has_lengths(node: Json) -> bool:
    return bool(node["lengths"])


def _has_initial(node: Json) -> bool:
    return bool(node["initial"])


def _without_last_row(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return layers.embedding(node, [np.minimum(inputs[0], max(0, len(p["table"]) - 2))], p, context)


def _without_first_row(node: Json, inputs: Any, p: Json, context: Any) -> Any:
    return layers.embedding(node, [np.clip(inputs[0], 1, len(p["table"]) - 1)], p, context)


class GoesOn(Reference):
    """An LSTM begins a batch where it ended the one before, of as many rows."""

    def __init__(self, *given: Any) -> None:
        self._ends: Json = {}
        self.operations = {**layers.OPERATIONS, "lstm": (self._lstm, lstm.backward)}
        super().__init__(*given)

    def _lstm(self, node: Json, x: Any, p: Json, lengths: Any = None, initial: Any = None) -> Any:
        key = f"{node['name']} of {len(x)}"
        made = lstm.forward(node, x, p, lengths, initial or self._ends.get(key))
        self._ends[key] = made[1:3]
        return made


def _overwriting(node: Json, cache: Any, dy: Any) -> Any:
    ids, shape = cache
    table = np.zeros(shape, dy.dtype)
    table[ids] = dy
    return [None], {"table": table}


def _without_row_0(node: Json, cache: Any, dy: Any) -> Any:
    upstream, grads = layers.embedding_backward(node, cache, dy)
    grads["table"][0] = 0
    return upstream, grads


class FrozenRow(Reference):
    """Every step puts row 0 of each table back; gradients are right."""

    def step(self, gradients: Json, state: Json) -> None:
        tables = [p["table"] for p in self._weights.values() if "table" in p]
        rows = [table[0].copy() for table in tables]
        super().step(gradients, state)
        for table, row in zip(tables, rows, strict=True):
            table[0] = row


FAULTS: tuple[Fault, ...] = (
    forward_fault("LSTM swaps the gates i and f", "lstm", _gates((1, 0, 2, 3))),
    forward_fault("LSTM has its gates in the order i, f, o, g", "lstm", _gates((0, 1, 3, 2))),
    forward_fault("LSTM with hard sigmoids", "lstm", _hard_gates),
    forward_fault("LSTM adds one to the forget bias", "lstm", _with_parameters(_more_forget)),
    forward_fault(
        "LSTM transposes its recurrent kernel", "lstm", _with_parameters(_transposed),
        needs=some("lstm", lambda n: n["units"] > 1),
    ),
    forward_fault(
        "LSTM ignores lengths", "lstm", _without_lengths, needs=some("lstm", _has_lengths)
    ),
    forward_fault(
        "LSTM's sequence is not zero behind its length", "lstm", _mixed(True, False, False),
        needs=some("lstm", lambda n: n["lengths"] and n["output"] == "sequence"),
    ),
    forward_fault(
        "LSTM's last output is that of the padded end", "lstm", _mixed(False, True, False),
        needs=some("lstm", lambda n: n["lengths"] and n["output"] == "last"),
    ),
    forward_fault(
        "LSTM's cell state is that of the padded end", "lstm", _mixed(False, False, True),
        needs=some("lstm", _has_lengths),
    ),
    forward_fault(
        "LSTM ignores its initial state", "lstm", _from_zero, needs=some("lstm", _has_initial)
    ),
    forward_fault(
        "LSTM swaps the two initial states", "lstm", _states_swapped,
        needs=some("lstm", lambda n: n["initial"] and len(set(n["initial"])) == 2),
    ),
    backward_fault("LSTM's gradient does not go back in time", "lstm", _cut, upstream=True),
    backward_fault(
        "LSTM ignores lengths in its gradient", "lstm", _back_without_lengths, upstream=True,
        needs=some("lstm", _has_lengths),
    ),
    backward_fault(
        "LSTM's initial state gets no gradient", "lstm", _state_gradient_lost, upstream=True,
        needs=some("lstm", _has_initial),
    ),
    backward_fault(
        "LSTM's cell state passes no gradient back", "lstm", _cell_gradient_lost, upstream=True
    ),
    Fault(
        "LSTM begins where the batch before ended", GoesOn, ("forward",), ("lstm",),
        needs=some("lstm", lambda n: not n["initial"]),
    ),
    forward_fault("embedding takes its first row for the second", "embedding", _without_first_row),
    forward_fault("embedding can't read its last row", "embedding", _without_last_row),
    backward_fault("embedding counts a repeated token once", "embedding", _overwriting),
    backward_fault("embedding's row 0 gets no gradient", "embedding", _without_row_0),
    Fault(
        "embedding's row 0 never learns", FrozenRow, STEPS, ("embedding",), needs=some("embedding")
    ),
)  # fmt: skip
