"""An adapter whose `sync` returns before the work is done, so that times would be too short."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tests.bench.proof.faulty import Faulty, Json, adapter, failures

_DELAY = 0.005
"""Seconds, well above what a busy machine may add to the reading of a value."""


class Background(Faulty):
    """Works through its steps behind the caller's back, as asynchronous frameworks do."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._worker = ThreadPoolExecutor(1)
        self._last: Future[float] | None = None

    def train_step(self, batch: Json) -> Any:
        self._last = self._worker.submit(self._delayed_step, batch)
        return self._last

    def _delayed_step(self, batch: Json) -> float:
        time.sleep(_DELAY)
        return super().train_step(batch)

    def losses(self, handles: list[Any]) -> list[float]:
        return [handle.result() for handle in handles]

    def weights(self) -> Any:
        self.wait()
        return super().weights()

    def load(self, weights: Any) -> None:
        self.wait()
        super().load(weights)

    def wait(self) -> None:
        if getattr(self, "_last", None):
            self._last.result()  # type: ignore[union-attr]

    def sync(self) -> None:
        self.wait()


def test_sync_that_waits_for_nothing() -> None:
    class Hasty(Background):
        def sync(self) -> None:
            pass

    assert not failures("digits-cnn", adapter(Background))
    faults = failures("digits-cnn", adapter(Hasty))
    assert list(faults) == ["sync"]
    assert "before the step is done" in faults["sync"]["detail"]


def test_sync_that_waits_for_the_loss_alone() -> None:
    class Halfway(Background):
        """The loss is there at once; the update comes later."""

        def train_step(self, batch: Json) -> Any:
            self.wait()
            loss = float(self.gradients(batch)[0])
            super().train_step(batch)
            return loss

        def losses(self, handles: list[Any]) -> list[float]:
            return handles

        def sync(self) -> None:
            pass

    assert list(failures("digits-cnn", adapter(Halfway))) == ["sync"]
