"""ptb-lstm and ptb-lstm-small of elshawi2021: a language model on the words of the Penn Treebank.

The text of the study has an embedding of 128 and two LSTMs of 1024 units, its code 200 and 200.
"""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import Recipe, adadelta, loss, metric, recipe
from dlbench.workloads import Workload


def _graph(name: str, width: int, units: int, vocabulary: int, length: int) -> dict[str, Any]:
    """An embedding, two LSTMs, dropout; at every word the logits of the next one."""
    g = Graph(name)
    x = g.embedding(g.input("tokens", (length,), "int32"), vocabulary, width)
    x = g.lstm(x, units, output="sequence")
    x = g.lstm(x, units, output="sequence")
    g.outputs(g.dense(g.dropout(x, 0.5), vocabulary, name="logits"))
    return g.to_json()


def _recipe() -> Recipe:
    """Adadelta as its paper has it; the loss is the mean over all words."""
    return recipe(
        batch=20,
        epochs=50,
        optimizer=adadelta(1.0, rho=0.95),
        losses=[loss("softmax-cross-entropy", "logits", "next")],
        metrics=[metric("accuracy", "logits", "next"), metric("perplexity", "logits", "next")],
    )


def _workload(name: str, width: int, units: int, source: str) -> Workload:
    return Workload(
        name=name,
        task="language model",
        dataset="ptb",
        graph=_graph(name, width, units, vocabulary=10_000, length=30),
        recipe=_recipe(),
        about="The next word, in windows of 30: an embedding and two LSTMs",
        source=source,
        proof=_graph("ptb-lstm-proof", 8, 12, vocabulary=60, length=10),
    )


WORKLOADS = (
    _workload("ptb-lstm", 128, 1024, "the text of elshawi2021"),
    _workload("ptb-lstm-small", 200, 200, "the code of elshawi2021"),
)
