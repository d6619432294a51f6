"""Greedy decoding: against sums by hand, and against a loop that carries the state itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import data, decoding, metrics
from bench.reference.model import Reference
from bench.weights import initial_weights
from dlbench.workloads import workloads

Batch = dict[str, Any]
SPEC = {
    "name": decoding.NAME, "output": "logits", "target": "right", "mask": "counts", "input": "read",
}  # fmt: skip


class Counting:
    """Says the word behind the one that it reads, of five; but behind 2 it says 4."""

    def __init__(self) -> None:
        self.read: list[Any] = []

    def predict(self, batch: Batch) -> Batch:
        self.read.append(batch["read"].copy())
        following = np.array([1, 2, 4, 4, 0])[batch["read"]]
        return {"logits": np.eye(5, dtype=np.float32)[following]}


def _split(counts: list[list[float]] | None, rows: int = 1) -> data.Split:
    arrays = {
        "read": np.tile([[0, 1, 2, 3]], (rows, 1)),
        "right": np.tile([[1, 2, 3, 4]], (rows, 1)),
    }
    if counts is not None:
        arrays["counts"] = np.array(counts, np.float32)
    return data.Split(arrays)


@pytest.mark.parametrize(
    ("counts", "share", "predictions"),
    [
        # the words 1, 2, 4, 0 against 1, 2, 3, 4
        ([[1, 1, 1, 1]], 2 / 4, 4),
        ([[1, 1, 1, 0]], 2 / 3, 3),
        ([[1, 1, 0, 0]], 1.0, 2),
        ([[0, 0, 1, 1]], 0.0, 4),
        ([[0, 0, 0, 0]], 0.0, 0),
        ([[1, 0, 0, 0], [1, 1, 1, 1]], 3 / 5, 4),
        (None, 2 / 4, 4),
    ],
)
def test_words_counted_by_hand(
    counts: list[list[float]] | None, share: float, predictions: int
) -> None:
    model = Counting()
    spec = SPEC if counts is not None else {**SPEC, "mask": None}
    split = _split(counts, len(counts or [0]))
    assert decoding.greedy(spec, model, split, 8) == (pytest.approx(share), split.rows)
    assert len(model.read) == predictions


def test_it_reads_its_own_words_and_no_right_one_but_the_first() -> None:
    model = Counting()
    decoding.greedy(SPEC, model, _split([[1, 1, 1, 1]]), 8)
    assert [read[0].tolist() for read in model.read] == [
        [0, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 1, 2, 0],
        [0, 1, 2, 4],
    ]
    # with the right words in front of it, it would say three of four
    forced = {**SPEC, "name": "accuracy"}
    values, _ = metrics.evaluate(model, _split([[1] * 4]), {"batch": 8, "metrics": [forced, SPEC]})
    assert values == {"accuracy": 0.75}


def test_rows_are_few_and_evenly_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MOST_ROWS", 4)
    model = Counting()
    read = np.array([[row, 0] for row in (0, 1, 2, 3, 4, 3, 2, 1, 0, 4)])
    split = data.Split({"read": read, "right": read * 0, "counts": read * 0 + 1})
    assert decoding.greedy(SPEC, model, split, 3)[1] == 4
    assert [one for batch in model.read[::2] for one in batch[:, 0]] == [0, 2, 3, 1]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_the_words_are_those_of_a_loop_that_carries_the_state() -> None:
    workload = workloads()["proof-encoder-decoder"]
    model = Reference(workload.graph, workload.recipe, 1, np.float64)
    weights = initial_weights(workload.graph, 5)
    random = np.random.RandomState(2)
    for parameters in weights.values():
        for name in parameters:  # large, so that words depend on the words before them
            parameters[name] = random.normal(0, 1, parameters[name].shape)
    model.load(weights)
    rows = 12
    batch = {
        "source": random.randint(0, 30, (rows, 9)),
        "source_length": random.randint(1, 10, rows),
        "target_in": random.randint(0, 25, (rows, 7)),
        "target_out": random.randint(0, 25, (rows, 7)),
        "mask": np.ones((rows, 7), np.float32),
    }
    spec = {**SPEC, "input": "target_in", "target": "target_out", "mask": "mask"}
    found = decoding.decoded(spec, model, batch, batch["mask"])

    own = {node["name"]: model.weights()[node["name"]] for node in workload.graph["nodes"]
           if node["parameters"]}  # fmt: skip
    nodes = {node["name"]: node for node in workload.graph["nodes"]}
    (table,) = [own[name]["table"] for name, node in nodes.items()
                if node["op"] == "embedding" and node["inputs"] == ["target_in"]]  # fmt: skip
    seen = model.activations(batch)
    h, c = (seen[name] for name in nodes["decoder"]["initial"])
    word, words = batch["target_in"][:, 0], []
    lstm, dense = own["decoder"], own["logits"]
    for _ in range(7):
        gates = table[word] @ lstm["input_kernel"] + h @ lstm["recurrent_kernel"] + lstm["bias"]
        i, f, g, o = np.split(gates, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        word = (h @ dense["kernel"] + dense["bias"]).argmax(axis=1)
        words.append(word)
    assert np.array_equal(found, np.stack(words, axis=1))
    assert len({tuple(row) for row in found.tolist()}) > rows // 2
    forced = model.predict(batch)["logits"].argmax(axis=-1)
    assert not np.array_equal(found, forced)
