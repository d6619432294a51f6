"""A small encoder-decoder: state passing, stacked LSTMs, true lengths, a masked loss."""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import adadelta, loss, metric, recipe
from dlbench.workloads import Workload


def _graph() -> dict[str, Any]:
    g = Graph("proof-encoder-decoder")
    source = g.input("source", (9,), "int32")
    length = g.input("source_length", (), "int32")
    target = g.input("target_in", (7,), "int32")
    x = g.embedding(source, 30, 6)
    x = g.lstm(x, 8, lengths=length, output="sequence", name="encoder1")
    g.lstm(x, 8, lengths=length, name="encoder2")
    bridge = g.tanh(g.dense(g.concat("encoder1:h", "encoder2:c"), 8))
    y = g.embedding(target, 25, 6)
    y = g.lstm(y, 8, initial=(bridge, "encoder2:c"), output="sequence", name="decoder")
    g.outputs(g.dense(g.dropout(y, 0.2), 25, name="logits"))
    return g.to_json()


WORKLOAD = Workload(
    name="proof-encoder-decoder",
    task="certificate",
    dataset="toy-pairs",
    graph=_graph(),
    recipe=recipe(
        batch=16,
        epochs=2,
        warmup=2,
        optimizer=adadelta(1.0, epsilon=1e-4),
        losses=[loss("softmax-cross-entropy", "logits", "target_out", mask="mask")],
        metrics=[metric("accuracy", "logits", "target_out", mask="mask")],
    ),
    about="A small graph to certify: state passing and masks",
    only_proof=True,
)
