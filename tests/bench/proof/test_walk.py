"""The steps that both sides take: what they are compared on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import data
from bench.proof.compare import Mismatch
from bench.proof.drawn import Batches
from bench.proof.kinks import rows_at_kinks
from bench.proof.sides import Sides
from bench.proof.walk import Walk
from bench.reference.model import Reference
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from tests.bench.faults.proving import Case
from tests.bench.faults.proving import failures as failed_checks
from tests.bench.known_graphs import KNOWN
from tests.bench.proof.faulty import adapter, failures, job_of
from tests.bench.proving import write_graph
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


@pytest.mark.parametrize(("beta2", "found"), [(0.999, False), (0.998, True)])
def test_adam_behind_a_value_that_fell_to_the_other_side_of_a_kink(
    beta2: float, found: bool
) -> None:
    """In the second step float32 makes one value before a relu positive that is not."""
    job, folder = job_of("cifar10-resnet18")
    job["recipe"]["optimizer"] = recipes.adam(1e-3)
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    right = adapter(recipe=lambda r: dict(r, optimizer=recipes.adam(1e-3, beta2=beta2)))
    sides = Sides(job, splits, right, str(folder))
    walk = sides._walk(sides.at_start(), sides.plain, sides.recipe, [sides.size] * 3, 15)
    parted = [step for step in walk.parameters if isinstance(step, Mismatch)]
    assert bool(parted) == found
    if not found and walk.parameters[1] < 0.1:
        pytest.skip("This processor's sums do not make the value positive.")


def test_a_walk_that_keeps_diverging_takes_shorter_steps(tmp_path: Path) -> None:
    """Else a new model would be built every few steps, and no long run ever seen."""
    graph, recipe = KNOWN["steep_beside_flat"]()
    write_graph(tmp_path / "steep", graph, recipe, 1, adapter="numpy", variant="numpy")
    folder = str(tmp_path / "steep")
    job = json.loads((tmp_path / "steep/job.json").read_text())
    splits = data.load(folder, job["data"], job["graph"], job["recipe"])
    walk = Sides(job, splits, adapter(), folder).recipe_walk()
    assert 4 <= walk.began_again <= 20
    assert walk.recipe["optimizer"]["lr"] < recipe["optimizer"]["lr"]
    assert not any(isinstance(result, Mismatch) for result in walk.parameters)


def test_a_walk_in_which_a_layer_dies_begins_again(tmp_path: Path) -> None:
    """Where every relu has ended at 0 nothing learns, and no fault of a later step would show."""
    g = Graph("dying")
    hidden = g.relu(g.dense(g.input("x", (6,)), 1, name="hidden"))
    g.outputs(g.dense(hidden, 5, name="out"))
    recipe = recipes.recipe(
        batch=8,
        epochs=1,
        optimizer=recipes.sgd(0.3, momentum=0.5),
        losses=[recipes.loss("mean-squared-error", "out", "y")],
        metrics=[],
    )
    write_graph(tmp_path / "dying", g.to_json(), recipe, 1, adapter="numpy", variant="numpy")
    folder = str(tmp_path / "dying")
    job = json.loads((tmp_path / "dying/job.json").read_text())
    splits = data.load(folder, job["data"], job["graph"], job["recipe"])
    walk = Sides(job, splits, adapter(), folder).recipe_walk()
    assert not any(isinstance(result, Mismatch) for result in walk.parameters)
    rows = Batches(job["graph"], job["recipe"], 1).rows(200)
    _, gradients, _ = walk.reference.backward(rows)
    assert np.abs(gradients["hidden"]["kernel"]).max() > 1e-3
