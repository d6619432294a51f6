"""Optimisers with other coefficients, and loops that train on other batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import data
from bench.proof import training
from bench.proof.compare import Mismatch
from bench.proof.sides import Sides
from bench.reference.optimizers import Optimizer
from dlbench.planning import recipes
from tests.bench.known_graphs import KNOWN
from tests.bench.proof.faulty import (
    Faulty,
    Json,
    adapter,
    certificate,
    failed,
    failures,
    job_of,
    with_loss,
)
from tests.bench.proving import write_graph


def with_optimizer(**change: Callable[[Json], Any]) -> SimpleNamespace:
    """An adapter that reads other coefficients than the recipe's."""

    def other(recipe: Json) -> Json:
        optimizer = dict(recipe["optimizer"])
        optimizer.update({key: value(optimizer) for key, value in change.items()})
        return dict(recipe, optimizer=optimizer)

    return adapter(recipe=other)


@pytest.mark.parametrize("workload", ["digits-cnn", "imdb-lstm", "proof-two-branch"])
def test_l2_factor_doubled(workload: str) -> None:
    faults = failures(workload, with_optimizer(weight_decay=lambda o: 2 * o["weight_decay"]))
    assert faults["sgd-nesterov-decay-steps"]["node"].split("/")[1] in (
        "kernel", "table", "input_kernel", "recurrent_kernel",
    )  # fmt: skip
    assert "after step 1" in faults["sgd-nesterov-decay-steps"]["detail"]
    # where the recipe itself decays its weights, its own steps are wrong, too
    assert ("recipe-steps" in faults) == (workload == "proof-two-branch")


class DecayingRate(Faulty):
    """Keras' `decay`: lr / (1 + decay * step), and no weight decay at all."""

    def train_step(self, batch: Json) -> float:
        original = self._optimizer._o
        decay = original.get("weight_decay", 0.0)
        rate = original["lr"] / (1 + decay * self._optimizer._t)
        self._optimizer._o = dict(original, lr=rate, weight_decay=0.0)
        loss = super().train_step(batch)
        self._optimizer._o = original
        return loss


def test_learning_rate_decay_for_weight_decay() -> None:
    faults = failures("digits-cnn", adapter(DecayingRate))
    assert next(iter(faults)) == "sgd-nesterov-decay-steps"
    assert "kernel" in faults["sgd-nesterov-decay-steps"]["node"]


def test_decay_on_biases_too() -> None:
    class Everywhere(Faulty):
        def train_step(self, batch: Json) -> float:
            decay = self._recipe["optimizer"].get("weight_decay", 0.0)
            rate = self._recipe["optimizer"]["lr"]
            before = self.weights()
            loss = super().train_step(batch)
            for node, values in before.items():
                for name in ("bias", "gamma", "beta"):
                    if name in values:
                        self._weights[node][name] -= rate * decay * values[name]
            return loss

    faults = failures("proof-two-branch", adapter(Everywhere))
    assert faults["sgd-nesterov-decay-steps"]["node"].split("/")[1] in ("gamma", "beta", "bias")


def test_nesterov_left_out() -> None:
    faults = failures("digits-cnn", with_optimizer(nesterov=lambda o: False))
    assert next(iter(faults)) == "sgd-nesterov-decay-steps"


def test_adam_with_epsilon_inside_the_bias_correction() -> None:
    class Hat(Faulty):
        def train_step(self, batch: Json) -> float:
            original = self._optimizer._o
            if original["name"] == "adam":
                root = np.sqrt(1 - original["beta2"] ** (self._optimizer._t + 1))
                self._optimizer._o = dict(original, epsilon=original["epsilon"] / root)
            loss = super().train_step(batch)
            self._optimizer._o = original
            return loss

    assert "adam-decay-steps" in failures("imdb-lstm", adapter(Hat))


def _in_its_other_form(recipe: Json) -> Json:
    return dict(recipe, optimizer=dict(recipe["optimizer"], hat_epsilon=True))


def test_adam_in_its_other_form_is_proven_where_the_recipe_asks_for_it() -> None:
    assert "adam-decay-steps" in failures("imdb-lstm", adapter(recipe=_in_its_other_form))
    job, folder = job_of("imdb-lstm")
    job["recipe"] = _in_its_other_form(job["recipe"])
    assert not failed(certificate(job, folder, adapter(), until="adadelta-decay-steps"))
    plain = adapter(recipe=lambda r: dict(r, optimizer=dict(r["optimizer"], hat_epsilon=False)))
    faults = failed(certificate(job, folder, plain, until="adadelta-decay-steps"))
    assert "adam-decay-steps" in faults and "adadelta-decay-steps" not in faults


@pytest.mark.parametrize(
    ("epsilon", "steps", "longer"),
    [(1e-3, 1, 3.78), (0.1, 1, 28.8), (1.0, 1, 31.3), (0.1, 100, 4.45), (1.0, 1000, 1.72)],
)
def test_one_epsilon_is_two_algorithms(epsilon: float, steps: int, longer: float) -> None:
    """How much further a steady gradient of 0.01 leads where it is added afterwards."""
    adam = {**recipes.adam(1e-3), "epsilon": epsilon}
    gradients = {"n": {"bias": np.array([0.01])}}
    after, before = (
        sum(form.taken(gradients)["n"]["bias"][0] for _ in range(steps))
        for form in (Optimizer({"optimizer": o}) for o in (adam, {**adam, "hat_epsilon": True}))
    )
    assert after / before == pytest.approx(longer, rel=5e-3)


def test_adadelta_without_its_learning_rate() -> None:
    """As in MXNet and Chainer: seen where the rate is not one."""
    job, folder = job_of("proof-encoder-decoder")
    job["recipe"]["optimizer"]["lr"] = 0.5
    ignoring = with_optimizer(lr=lambda o: 1.0 if o["name"] == "adadelta" else o["lr"])
    faults = failed(certificate(job, folder, ignoring))
    assert "recipe-steps" in faults


class Loop(Faulty):
    """Trains on what `again` makes of an epoch's batches."""

    def again(self, batches: list[Json]) -> list[Json]:
        raise NotImplementedError

    def train_epoch(self, batches: Iterator[Json], on_step: Callable[..., None]) -> None:
        super().train_epoch(self.again(list(batches)), on_step)


def test_batches_in_another_order() -> None:
    class Shuffled(Loop):
        def again(self, batches: list[Json]) -> list[Json]:
            return [*batches[1:2], *batches[:1], *batches[2:]]

    faults = failures("digits-cnn", adapter(Shuffled))
    assert next(iter(faults)) == "batch-order"
    assert "loss of batch 1" in faults["batch-order"]["detail"]


def test_last_partial_batch_dropped() -> None:
    class Dropping(Loop):
        def again(self, batches: list[Json]) -> list[Json]:
            return batches[:-1]

    faults = failures("digits-cnn", adapter(Dropping))
    assert "steps for 9 batches" in faults["batch-order"]["detail"]


def test_partial_batch_filled_up() -> None:
    """A smaller batch divided by the full batch's size."""

    def fixed(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss * len(output) / 6, gradient * len(output) / 6

    faults = failures("digits-cnn", adapter(with_loss(fixed)), until="partial-batch")
    assert "partial-batch" in faults


def test_racing_updates() -> None:
    class Racing(Faulty):
        luck = np.random.RandomState(3)

        def train_step(self, batch: Json) -> float:
            loss = super().train_step(batch)
            if self.luck.uniform() < 0.2:  # an update is lost
                self._weights["dense1"]["kernel"] -= 1e-4
            return loss

    faults = failures("digits-cnn", adapter(Racing))
    assert "repeated" in faults["repeat"]["detail"]


def test_steps_of_a_loop_that_part_at_a_kink_within_rounding(tmp_path: Path) -> None:
    """Ten units of float32 a step lead a deep graph apart, if nothing brings it back."""

    class Rounding(Faulty):
        def train_epoch(self, batches: Any, on_step: Any) -> None:
            random = np.random.RandomState(3)

            def moved() -> Iterator[Json]:
                for batch in batches:
                    for values in self._weights.values():
                        for name, value in values.items():
                            noise = 1 + 1e-6 * random.normal(size=value.shape)
                            values[name] = (value * noise).astype(np.float32)
                    yield batch

            super().train_epoch(moved(), on_step)

    write_graph(tmp_path / "deep", *KNOWN["resnet18"](), 1, adapter="numpy", variant="numpy")
    job = json.loads((tmp_path / "deep/job.json").read_text())
    folder = str(tmp_path / "deep")
    splits = data.load(folder, job["data"], job["graph"], job["recipe"])
    sides = Sides(job, splits, adapter(Rounding), folder)
    training.batch_order(sides)
    training.repeat(sides)


class RoundsOtherwise(Faulty):
    """Its loop is compiled by itself, and rounds every value in another way than single steps."""

    _noise: np.random.RandomState | None = None

    def _passed(self, name: str, value: Any) -> Any:
        if self._noise is None:
            return value
        return (value * (1 + 6e-8 * self._noise.normal(size=value.shape))).astype(np.float32)

    def train_epoch(self, batches: Iterator[Json], on_step: Callable[[Any, float], None]) -> None:
        self._noise = np.random.RandomState(1)
        super().train_epoch(batches, on_step)
        self._noise = None


class RoundsAndSwaps(RoundsOtherwise):
    def train_epoch(self, batches: Iterator[Json], on_step: Callable[[Any, float], None]) -> None:
        first, second, *rest = batches
        super().train_epoch(iter([second, first, *rest]), on_step)


class RoundsAndLosesAnUpdate(RoundsOtherwise):
    def train_epoch(self, batches: Iterator[Json], on_step: Callable[[Any, float], None]) -> None:
        before = self.weights()["conv2d2"]
        super().train_epoch(batches, on_step)
        self._weights["conv2d2"] = before


@pytest.mark.parametrize("workload", ["cifar10-resnet50", "cifar10-densenet121"])
def test_rounding_of_a_loop_in_a_deep_network_is_no_fault_and_hides_none(workload: str) -> None:
    job, folder = job_of(workload)
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])

    def proven(kind: type[Faulty], check: Callable[[Sides], Json]) -> bool:
        try:
            check(Sides(job, splits, adapter(kind), str(folder)))
        except Mismatch:
            return False
        return True

    for check in (training.batch_order, training.repeat):
        assert proven(RoundsOtherwise, check)
        assert not proven(RoundsAndSwaps, check)
    assert not proven(RoundsAndLosesAnUpdate, training.repeat)


def test_the_loop_is_run_once_however_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one is a model to build and to compile: in some releases a fifth of a certificate."""
    job, folder = job_of("digits-cnn")
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    sides = Sides(job, splits, adapter(), str(folder))
    built = []
    monkeypatch.setattr(
        Sides, "_walk", lambda *_: built.append("walk") or SimpleNamespace(began_again=0)
    )
    assert sides.gentle_walk() is sides.gentle_walk(1)
    assert sides.gentle_walk(1) is not sides.gentle_walk(100)
    assert len(built) == 2
