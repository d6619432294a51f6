"""Layers, weights, lengths or seeds of the wrong kind: the first node that differs is named."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dlbench.workloads import find as find_workload
from tests.bench.proof.faulty import Faulty, Json, adapter, changed, failures


def test_valid_for_same_padding() -> None:
    faults = failures(
        "cifar10-cnn", adapter(graph=changed("conv2d1", padding=[[0, 0], [0, 0]])), "shapes"
    )
    assert next(iter(faults)) == "shapes"
    assert faults["shapes"]["node"] == "conv2d1"
    assert "(30, 30, 8) against (32, 32, 8)" in faults["shapes"]["detail"]


def test_same_padding_on_the_other_side() -> None:
    """Shapes are right: Theano pads a stride of two before the image, TensorFlow behind it."""
    graph = find_workload("svhn-cnn").proof_graph
    behind = next(node for node in graph["nodes"] if node["name"] == "maxpool2")
    assert behind["padding"] == [[0, 1], [0, 1]]
    faults = failures(
        "svhn-cnn", adapter(graph=changed("maxpool2", padding=[[1, 0], [1, 0]])), "forward"
    )
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "maxpool2"


def test_swapped_kernel_and_stride() -> None:
    swapped = changed("conv2d1", kernel=[1, 1], stride=[3, 3])
    faults = failures("mnist-cnn", adapter(graph=swapped), "parameters")
    assert faults["shapes"]["node"] == faults["parameters"]["node"] == "conv2d1"
    assert "(1, 1, 1, 8)" in faults["parameters"]["detail"]
    assert "(3, 3, 1, 8)" in faults["parameters"]["detail"]


def test_ceil_pooling() -> None:
    faults = failures(
        "cifar10-cnn", adapter(graph=changed("maxpool2", padding=[[0, 1], [0, 1]])), "shapes"
    )
    assert faults["shapes"]["node"] == "maxpool2"
    assert "(7, 7, 16) against (6, 6, 16)" in faults["shapes"]["detail"]


def test_missing_bias() -> None:
    faults = failures("digits-cnn", adapter(graph=changed("conv2d2", bias=False)))
    assert next(iter(faults)) == "parameters"
    assert faults["parameters"]["node"] == "conv2d2"


def test_weights_changed_on_the_way() -> None:
    class Rounding(Faulty):
        def load(self, weights: Any) -> None:
            super().load(weights)
            for values in self._weights.values():
                values["kernel"] *= np.float32(1 + 2e-7)

    faults = failures("enthalpy-fcrn-10", adapter(Rounding))
    assert next(iter(faults)) == "initial-weights"


class Scrambled(Faulty):
    """NHWC is reshaped to NCHW where it should be transposed."""

    def _forward(self, batch: Json, nodes: Any, context: Any) -> Any:
        image = batch["image"]
        rows, height, width, channels = image.shape
        wrong = image.reshape(rows, channels, height, width).transpose(0, 2, 3, 1)
        return super()._forward(dict(batch, image=wrong), nodes, context)


def test_reshaped_without_transpose() -> None:
    faults = failures("cifar10-cnn", adapter(Scrambled), "forward")
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "conv2d1"


@pytest.mark.parametrize(
    ("workload", "node"), [("imdb-lstm", "lstm1"), ("proof-encoder-decoder", "encoder1")]
)
def test_lengths_ignored(workload: str, node: str) -> None:
    def forget(graph: Json) -> Json:
        for each in graph["nodes"]:
            if each["op"] == "lstm":
                each["lengths"] = None
        return graph

    faults = failures(workload, adapter(graph=forget))
    assert faults["forward"]["node"] == node


def test_lengths_ignored_in_the_backward_pass_alone() -> None:
    class Leaking(Faulty):
        def gradients(self, batch: Json) -> Any:
            loss, found = super().gradients(batch)
            behind = np.arange(batch["tokens"].shape[1]) >= batch["length"][:, None]
            np.add.at(found["embedding1"]["table"], batch["tokens"][behind], 1e-3)
            return loss, found

    faults = failures("imdb-lstm", adapter(Leaking))
    assert next(iter(faults)) == "gradients"
    assert faults["gradients"]["node"] == "embedding1/table"


def seeded(after: bool, seed: Callable[[Any], int]) -> SimpleNamespace:
    """A framework with a generator of its own, seeded before or after the weights are drawn."""
    random = np.random.RandomState(99)

    def build(graph: Json, recipe: Json, options: Any) -> Faulty:
        if not after:
            random.seed(seed(options))
        model = Faulty(graph, recipe, options)
        own = {
            node: {name: random.normal(size=value.shape) for name, value in values.items()}
            for node, values in model.weights().items()
        }
        random.seed(seed(options))
        model.load(own)
        return model

    return SimpleNamespace(set_up=lambda options: None, build=build)


def test_seed_set_after_construction() -> None:
    assert not failures("enthalpy-fcrn-10", seeded(after=False, seed=lambda options: options.seed))
    faults = failures("enthalpy-fcrn-10", seeded(after=True, seed=lambda options: options.seed))
    assert list(faults) == ["seeds"]
    assert faults["seeds"]["node"] == "dense1"
    assert "one seed gave two different values" in faults["seeds"]["detail"]


def test_seed_not_used() -> None:
    faults = failures("enthalpy-fcrn-10", seeded(after=False, seed=lambda options: 7))
    assert "two seeds gave the same weights" in faults["seeds"]["detail"]
