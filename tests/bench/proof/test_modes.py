"""Dropout and batch normalisation that confuse training with evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.proof.drawn import without_dropout
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from dlbench.workloads import find as find_workload
from tests.bench.faults.dropping import SameInEachStep
from tests.bench.faults.proving import Case
from tests.bench.faults.proving import failures as failed_checks
from tests.bench.proof.faulty import Faulty, Json, adapter, changed, failures
from tests.bench.random_graphs import arrays_for


class AlwaysTraining(Faulty):
    """Evaluates in training mode."""

    def activations(self, batch: Json, training: bool = False) -> Any:
        return super().activations(batch, True)

    def predict(self, batch: Json) -> Any:
        values = self.activations(batch, True)
        return {name: values[name] for name in self._graph["outputs"]}


def test_dropout_in_evaluation() -> None:
    faults = failures("digits-cnn", adapter(AlwaysTraining))
    assert next(iter(faults)) == "evaluation"
    assert faults["evaluation"]["node"] == "dropout1"


def test_batch_statistics_in_evaluation() -> None:
    faults = failures("proof-two-branch", adapter(AlwaysTraining))
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "batchnorm1"


def test_evaluation_that_changes_the_model() -> None:
    class Learning(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            self._weights["logits"]["bias"] += np.float32(1e-7)
            return found

    faults = failures("digits-cnn", adapter(Learning), until="evaluation")
    assert "two evaluations" in faults["evaluation"]["detail"]


def test_evaluation_that_changes_the_running_statistics() -> None:
    class Drifting(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            self._drift = getattr(self, "_drift", 0) + 1
            if self._drift > 1:
                self._weights["batchnorm1"]["mean"] += np.float32(1e-3)
            return found

    faults = failures("proof-two-branch", adapter(Drifting), until="evaluation")
    assert "evaluation changed" in faults["evaluation"]["detail"]


def test_evaluation_that_is_not_deterministic() -> None:
    class Noisy(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            return {k: v * np.float32(1 + 1e-6 * self._random.normal()) for k, v in found.items()}

    assert "two evaluations" in failures("digits-cnn", adapter(Noisy))["evaluation"]["detail"]


def test_dropout_never_on() -> None:
    faults = failures("digits-cnn", adapter(graph=without_dropout))
    assert list(faults) == ["dropout"]
    assert faults["dropout"]["node"] == "dropout1"


class StepsWithoutDropout(Faulty):
    """Drops when it is looked at, and not when it trains: PyTorch's functional dropout."""

    def train_step(self, batch: Json) -> float:
        nodes, self._trained = self._trained, without_dropout({"nodes": self._trained})["nodes"]
        loss = super().train_step(batch)
        self._trained = nodes
        return loss


def test_dropout_never_on_in_training_steps() -> None:
    faults = failures("digits-cnn", adapter(StepsWithoutDropout))
    assert list(faults) == ["dropout"]
    assert "as without dropout" in faults["dropout"]["detail"]


def test_keep_for_drop_probability() -> None:
    def keep(graph: Json) -> Json:
        for node in graph["nodes"]:
            if node["op"] == "dropout" and node["rate"]:
                node["rate"] = 1 - node["rate"]
        return graph

    faults = failures("digits-cnn", adapter(graph=keep))
    assert faults["dropout"]["node"] == "dropout1"


class Masked(Faulty):
    """One mask for all steps."""

    def backward(self, batch: Json) -> Any:
        self._random.seed(1)
        return super().backward(batch)


def test_the_same_dropout_in_every_step() -> None:
    assert "drops the same" in failures("digits-cnn", adapter(Masked))["dropout"]["detail"]


def test_the_same_dropout_in_every_step_where_it_hardly_changes_the_loss() -> None:
    g = Graph("faint")
    x = g.input("x", (5,))
    g.outputs(g.dense(x, 3, name="logits"), g.dense(g.dropout(x, 0.5), 3, name="faint"))
    losses = [
        recipes.loss("softmax-cross-entropy", "logits", "label"),
        recipes.loss("softmax-cross-entropy", "faint", "label", weight=1e-4),
    ]
    optimizer = recipes.sgd(0.01)
    recipe = recipes.recipe(batch=8, epochs=1, optimizer=optimizer, losses=losses, metrics=[])
    graph = g.to_json()
    case = Case(0, graph, recipe, arrays_for(graph, recipe, 40, 1))
    assert not list(failed_checks(case, Reference))
    check = next(failed_checks(case, SameInEachStep))
    assert (check["name"], check["node"]) == ("dropout", "dropout1")
    assert "drops the same" in check["detail"]


def test_batchnorm_momentum_exchanged_with_its_complement() -> None:
    def complement(graph: Json) -> Json:
        for node in graph["nodes"]:
            if node["op"] == "batchnorm":
                node["keep"] = 1 - node["keep"]
        return graph

    faults = failures("proof-two-branch", adapter(graph=complement))
    assert next(iter(faults)) == "batchnorm"
    assert faults["batchnorm"]["node"] == "batchnorm1/mean"


def test_running_variance_with_the_other_divisor() -> None:
    graph = find_workload("proof-two-branch").proof_graph
    unbiased = next(node for node in graph["nodes"] if node["op"] == "batchnorm")["unbiased"]
    faults = failures(
        "proof-two-branch", adapter(graph=changed("batchnorm1", unbiased=not unbiased))
    )
    assert faults["batchnorm"]["node"] == "batchnorm1/variance"
