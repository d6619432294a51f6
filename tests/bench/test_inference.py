"""Times of predictions: what is timed, how often, and how long at most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import data, inference


class Model:
    """Notes the rows of every prediction; each takes as many seconds as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.001) -> None:
        self.rows: list[int] = []
        self.now, self._seconds = 100.0, seconds
        monkeypatch.setattr(inference, "clock", lambda: self.now)

    def predict(self, batch: dict[str, Any]) -> dict[str, Any]:
        self.rows.append(len(batch["x"]))
        self.now += self._seconds
        return {}

    def sync(self) -> None:
        pass


def _split(rows: int) -> data.Split:
    return data.Split({"x": np.arange(rows, dtype=np.float32)})


@pytest.mark.parametrize(
    ("rows", "batch", "size", "batches"),
    [
        (10_000, 128, 128, 8),  # 1024 rows: the first full batches that make a thousand
        (360, 32, 32, 11),  # all full ones
        (10, 32, 10, 1),
        (5000, 2000, 2000, 1),
        (1000, 1, 1, 1000),
    ],
)
def test_a_pass_is_full_batches_for_a_thousand_rows(
    monkeypatch: pytest.MonkeyPatch, rows: int, batch: int, size: int, batches: int
) -> None:
    model = Model(monkeypatch, 0.0001)
    times, counted = inference.passes(model, _split(rows), batch)
    assert set(model.rows) == {size}
    assert counted == size * batches
    assert len(times) == inference.PASSES
    assert len(model.rows) == inference.LEFT_OUT + batches * inference.PASSES
    assert times == pytest.approx([0.1 * batches] * inference.PASSES)


def test_latency_is_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(monkeypatch, 0.002)
    times = inference.latencies(model, _split(7))
    assert times == pytest.approx([2.0] * inference.PREDICTIONS)
    assert set(model.rows) == {1}
    assert len(model.rows) == inference.LEFT_OUT + inference.PREDICTIONS


@pytest.mark.parametrize(
    ("seconds", "passes", "predictions"), [(0.5, 10, 10), (60.0, 3, 5), (0.01, 20, 200)]
)
def test_slow_models_are_asked_less_often(
    monkeypatch: pytest.MonkeyPatch, seconds: float, passes: int, predictions: int
) -> None:
    assert len(inference.passes(Model(monkeypatch, seconds), _split(9), 9)[0]) == passes
    assert len(inference.latencies(Model(monkeypatch, seconds), _split(9))) == predictions
