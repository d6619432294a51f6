"""The steps that both sides take: what they are compared on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.proof.kinks import rows_at_kinks
from bench.proof.walk import Walk
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from tests.bench.faults.proving import Case
from tests.bench.faults.proving import failures as failed_checks
from tests.bench.proof.faulty import adapter, failures, job_of
from tests.bench.random_graphs import arrays_for


def test_batches_keep_from_kinks_at_the_weights_of_their_own_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch that was clear of kinks one step ago says nothing about this one."""
    job, _ = job_of("digits-cnn")
    steps, seen = Walk.step, []

    def watched(self: Any, batch: Any, clear: bool, in_loop: bool = False) -> None:
        fresh = Reference(job["graph"], job["recipe"], 1, np.float64)
        fresh.load(self.weights)
        values = fresh.activations(batch)
        if clear:
            seen.append(rows_at_kinks(job["graph"], job["recipe"], values, batch).any())
        steps(self, batch, clear, in_loop)

    monkeypatch.setattr(Walk, "step", watched)
    failures("digits-cnn", adapter(), until="sgd-nesterov-decay-steps")
    assert len(seen) > 50
    assert not any(seen)


@pytest.fixture(scope="module")
def with_a_bias_before_a_norm() -> Case:
    """The bias' true gradient is zero: whatever Adam does to it is made of rounding."""
    g = Graph("norm")
    x = g.relu(g.batchnorm(g.dense(g.input("x", (5,)), 6, name="cancelled")))
    g.outputs(g.dense(x, 3, name="logits"))
    recipe = recipes.recipe(
        batch=8,
        epochs=1,
        optimizer=recipes.adam(1e-3),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "label")],
        metrics=[],
    )
    graph = g.to_json()
    return Case(0, graph, recipe, arrays_for(graph, recipe, 40, 1))


@pytest.mark.parametrize(("rates", "found"), [(0.0, False), (1.0, False), (20.0, True)])
def test_steps_made_of_rounding_are_no_longer_than_any_step_can_be(
    with_a_bias_before_a_norm: Case, rates: float, found: bool
) -> None:
    class Wandering(Reference):
        def step(self, gradients: Any, state: Any) -> None:
            super().step(gradients, state)
            if self._recipe["optimizer"]["lr"] == 1e-3:
                self._weights["cancelled"]["bias"] += np.float32(rates * 1e-3)

    check = next(failed_checks(with_a_bias_before_a_norm, Wandering), None)
    assert (check is not None) == found
    if check:
        assert (check["name"], check["node"]) == ("recipe-steps", "cancelled/bias")
