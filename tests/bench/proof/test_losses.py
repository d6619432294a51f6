"""Losses that published comparisons got wrong: summed, averaged, unmasked, broadcast."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import data
from bench.proof import model
from bench.proof.compare import Mismatch
from dlbench.planning.graph import Graph
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


def test_sum_for_mean_loss() -> None:
    def summed(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss * len(output), gradient * len(output)

    faults = failures("digits-cnn", adapter(with_loss(summed)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "logits"
    assert faults["loss"]["error"] == pytest.approx(5, abs=0.01)  # six rows: six times as much
    assert faults["gradients"]["node"] == "logits/bias"


def test_mean_for_sum_loss() -> None:
    """Two heads' losses are added; here their mean is taken."""

    def averaged(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss / 2, gradient / 2

    faults = failures("proof-two-branch", adapter(with_loss(averaged)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["error"] == pytest.approx(0.5)


def test_mean_over_padding() -> None:
    def unmasked(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        return right(name, output, target, None)

    faults = failures("proof-encoder-decoder", adapter(with_loss(unmasked)))
    assert next(iter(faults)) == "loss"


def test_softmax_applied_twice() -> None:
    def twice(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        p = np.exp(output - output.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        loss, gradient = right(name, p, target, mask)
        return loss, p * (gradient - (gradient * p).sum(-1, keepdims=True))

    faults = failures("digits-cnn", adapter(with_loss(twice)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "logits"


def test_target_shape_broadcast() -> None:
    """(B,1) against (B): the mean over all pairs."""

    def broadcast(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        difference = output - target[:, 0]
        assert difference.shape == (len(output), len(output))
        gradient = np.sign(difference).sum(1, keepdims=True) / difference.size
        return float(np.abs(difference).mean()), gradient.astype(output.dtype)

    faults = failures("enthalpy-fcrn-10", adapter(with_loss(broadcast)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "enthalpy"


def test_labels_shifted() -> None:
    class Shifted(Faulty):
        def backward(self, batch: Json) -> Any:
            return super()._backward(dict(batch, label=np.roll(batch["label"], 1)))

    faults = failures("digits-cnn", adapter(Shifted))
    assert next(iter(faults)) == "loss"


def test_loss_of_maps_multiplied_by_the_batch() -> None:
    """tf.keras 1.11: losses of outputs with more than one place are multiplied by the rows."""
    job, folder = job_of("digits-cnn")
    g = Graph("map")
    x = g.relu(g.conv2d(g.input("image", (8, 8, 1)), 4, 3, padding="same"))
    g.outputs(g.conv2d(x, 3, 1, name="map"))
    job["graph"] = json.loads(json.dumps(g.to_json()))
    head = {"output": "map", "target": "map_label", "mask": None}
    job["recipe"]["losses"] = [{"name": "softmax-cross-entropy", **head, "weight": 1.0}]
    job["recipe"]["metrics"] = [{"name": "accuracy", **head}]
    splits = _with_maps(folder, job)

    def times_rows(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        factor = len(output) if output.ndim == 4 else 1
        loss, gradient = right(name, output, target, mask)
        return loss * factor, gradient * factor

    assert not failed(certificate(job, folder, adapter(), splits))
    faults = failed(certificate(job, folder, adapter(with_loss(times_rows)), splits))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "map"


def _with_maps(folder: Path, job: Json) -> Any:
    """The digits with a label at every place; the arrays on disk stay as they are."""

    class Maps(data.Split):
        def batch(self, rows: Any) -> Any:
            found = super().batch(rows)
            return dict(found, map_label=(found["image"][..., 0] * 2).astype(np.int32))

        def part(self, rows: Any) -> Any:
            arrays = {name: array[rows] for name, array in self._arrays.items()}
            return Maps(arrays, job["data"]["divide"])

    splits = {}
    for split, files in job["data"]["splits"].items():
        arrays = {name: np.load(folder / file) for name, file in files.items()}
        splits[split] = Maps(arrays, job["data"]["divide"])
    return splits


@pytest.mark.parametrize(("off", "found"), [(2e-10, False), (2e-5, True)])
def test_a_reported_loss_that_is_next_to_nothing(off: float, found: bool) -> None:
    """It is held against the usual ones: float32 has no more digits of what it is the rest of."""
    wanted = [1.1, 0.9, 7.45e-6]
    walk = SimpleNamespace(
        losses=[1.1, 0.9, 7.45e-6 + off], wanted_losses=wanted, loss_spreads=[0.0] * 3
    )
    sides: Any = SimpleNamespace(
        recipe={"losses": [{"output": "logits"}]},
        wanted_gradients=lambda: ((1.0, {}, {}), (0.0, {}, {})),
        gradients=lambda: (1.0, {}),
        recipe_walk=lambda: walk,
    )
    if not found:
        assert model.loss(sides)["error"] < 1e-6
        return
    with pytest.raises(Mismatch, match="reported of step 3"):
        model.loss(sides)
