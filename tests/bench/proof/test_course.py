"""What changes in the course of training: learning rates and the size of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.reference.optimizers import Optimizer
from dlbench.planning import recipes
from dlbench.workloads import find
from tests.bench.proof.faulty import Faulty, Json, adapter, certificate, failed, job_of

WORKLOAD = "enthalpy-fcrn-10"
RECIPE = {
    **find(WORKLOAD).recipe,
    "optimizer": recipes.sgd(0.01, momentum=0.7, weight_decay=0.1),
    "schedule": recipes.step(2, 0.5, warmup=3),
    "clip": 0.8,
}


class DeafToRates(Faulty):
    def set_rate(self, rate: float) -> None:
        pass


class RateOneStepLate(Faulty):
    next_rate: float | None = None

    def train_step(self, batch: Json) -> Any:
        loss = super().train_step(batch)
        self._optimizer.rate = self.next_rate
        return loss

    def set_rate(self, rate: float) -> None:
        self.next_rate = rate


class LoopDeafToRates(Faulty):
    def train_epoch(self, batches: Any, on_step: Any) -> None:
        rate = self._optimizer.rate
        for batch in batches:
            self._optimizer.rate = rate
            on_step(self.train_step(batch), 0.0)


class RateInVelocity(Optimizer):
    def _sgd(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["momentum"] * slots[0] + self.lr * g
        return self.lr * g + o["momentum"] * slots[0] if o["nesterov"] else slots[0]


class NoClipping(Optimizer):
    def _clipping(self, gradients: Json) -> float:
        return 1.0


class EachByItself(Optimizer):
    """Clips every parameter by its own norm."""

    def steps(self, weights: Json, gradients: Json) -> Json:
        clip, self._clip = self._clip, None
        clipped = {
            node: {name: g * clip / max(np.linalg.norm(g), clip) for name, g in values.items()}
            for node, values in gradients.items()
        }
        try:
            return super().steps(weights, clipped)
        finally:
            self._clip = clip


class ClipsTheDecayToo(Optimizer):
    def _clipping(self, gradients: Json) -> float:
        return super()._clipping(
            {
                node: {name: 1.3 * g for name, g in values.items()}
                for node, values in gradients.items()
            }
        )


def _with(kind: type[Optimizer]) -> type[Faulty]:
    class Other(Faulty):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self._optimizer = kind(self._recipe)

    return Other


def _failed(kind: type[Faulty]) -> Json:
    job, folder = job_of(WORKLOAD, recipe=RECIPE)
    return failed(certificate(job, folder, adapter(kind), until="batch-order"))


def test_without_a_fault_it_passes() -> None:
    assert not _failed(Faulty)


@pytest.mark.parametrize(
    "kind",
    [
        DeafToRates,
        RateOneStepLate,
        _with(RateInVelocity),
        _with(NoClipping),
        _with(EachByItself),
        _with(ClipsTheDecayToo),
    ],
)
def test_a_wrong_step_is_found(kind: type[Faulty]) -> None:
    assert {"recipe-steps", "sgd-nesterov-decay-steps"} & _failed(kind).keys()


def test_a_loop_that_keeps_the_first_rate_is_found() -> None:
    assert _failed(LoopDeafToRates).keys() == {"batch-order"}
