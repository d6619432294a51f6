"""manythings-lstm of elshawi2021: English to Spanish.

The decoder starts from the encoder's final state and sees the right words shifted by one (teacher
forcing); places behind a sentence's end count neither in the loss nor in the metrics.
"""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import Recipe, adadelta, loss, metric, recipe
from dlbench.workloads import Workload


def _graph(
    name: str, lengths: tuple[int, int], vocabularies: tuple[int, int], units: int
) -> dict[str, Any]:
    g = Graph(name)
    source = g.input("source", lengths[:1], "int32")
    length = g.input("source_length", (), "int32")
    target = g.input("target_in", lengths[1:], "int32")
    g.lstm(g.embedding(source, vocabularies[0], units), units, lengths=length, name="encoder")
    x = g.lstm(
        g.embedding(target, vocabularies[1], units),
        units,
        initial=("encoder:h", "encoder:c"),
        output="sequence",
        name="decoder",
    )
    g.outputs(g.dense(x, vocabularies[1], name="logits"))
    return g.to_json()


def _recipe() -> Recipe:
    """Adadelta for what the study calls "AdamDelta" (its code has Adam with 1e-4)."""
    place = ("logits", "target_out")
    return recipe(
        batch=128,
        epochs=100,
        optimizer=adadelta(1.0, rho=0.95),
        losses=[loss("softmax-cross-entropy", *place, mask="mask")],
        metrics=[
            metric("accuracy", *place, mask="mask"),
            metric("perplexity", *place, mask="mask"),
            metric("greedy-accuracy", *place, mask="mask", input="target_in"),
        ],
    )


WORKLOAD = Workload(
    name="manythings-lstm",
    task="translation",
    dataset="manythings",
    graph=_graph("manythings-lstm", (18, 22), (10_000, 20_000), 256),
    recipe=_recipe(),
    about="English sentences to Spanish: an LSTM that encodes, one that decodes",
    source="elshawi2021; the sizes of the vocabularies are dlbench's",
    proof=_graph("manythings-lstm-proof", (9, 8), (40, 50), 8),
)
