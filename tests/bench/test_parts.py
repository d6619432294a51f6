"""Parts of a step: measured on training batches after everything else, and nothing is changed."""

from __future__ import annotations

import numpy as np
import pytest

from bench import host, parts
from bench.formats import Unsupported
from bench.reference.model import Reference
from dlbench.workloads import find
from tests.bench.test_detector_data import GRAPH, RECIPE, split

JOB = {"graph": GRAPH, "recipe": RECIPE, "seed": 3}


class Counted(Reference):
    def __init__(self) -> None:
        super().__init__(GRAPH, RECIPE, 3, np.float32)
        self.calls: list[str] = []

    def run_forward(self, batch: dict[str, np.ndarray]) -> None:
        self.calls.append("forward")
        super().run_forward(batch)

    def run_backward(self, batch: dict[str, np.ndarray]) -> None:
        assert batch["rpn_labels"].any(), "a batch that is not made for training"
        self.calls.append("backward")
        super().run_backward(batch)


def test_forward_and_backward_are_timed_in_pairs_and_change_nothing() -> None:
    model, before = Counted(), Reference(GRAPH, RECIPE, 3, np.float32).weights()
    found = parts.measure(JOB, model, split(2))
    assert set(found) == {"forward_ms", "backward_ms"}
    number = len(found["forward_ms"])
    assert parts.FEWEST_TIMES <= number <= parts.TIMES
    assert len(found["backward_ms"]) == number
    assert model.calls == ["forward", "backward"] * (2 + number), "two batches are run before"
    assert all(ms > 0 for times in found.values() for ms in times)
    for node, values in model.weights().items():
        for name, value in values.items():
            assert np.array_equal(value, before[node][name]), (node, name)


def test_the_host_node_is_inside_of_both() -> None:
    model = Reference(GRAPH, RECIPE, 3, np.float32)
    data = split(1)
    batch = data.for_training(data.batch([0]), 3, 0, 0)
    host.take_seconds()
    model.run_forward(batch)
    model.run_backward(batch)
    assert len(host.take_seconds()) == 2


def test_an_adapter_that_can_not_tell_leaves_them_out() -> None:
    class Other(Reference):
        def run_backward(self, batch: dict[str, np.ndarray]) -> None:
            raise Unsupported("no")

    assert parts.measure(JOB, Other(GRAPH, RECIPE, 3, np.float32), split(2)) == {}


@pytest.mark.parametrize(("name", "wanted"), [("mnist-cnn", False), ("voc2012-faster-rcnn", True)])
def test_they_are_of_models_with_a_host_node(name: str, wanted: bool) -> None:
    assert parts.wanted({"graph": find(name).proof_graph}) == wanted


def test_images_of_fewer_sizes_than_the_graph_has_are_counted() -> None:
    whole = split()
    both = whole.described()
    assert both["image sizes"] == 2
    assert 0 < both["padding"] < 1
    sizes = np.asarray(whole._arrays["size"])
    wide = whole.part(np.flatnonzero(sizes[:, 1] > sizes[:, 0]))
    assert wide.described()["image sizes"] == 1
