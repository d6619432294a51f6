"""The reference judges everything else, so it is judged here by arithmetic alone.

Gradients are compared with finite differences of the loss, in float64, for every node of a graph.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bench import data
from bench.metrics import compute
from bench.proof.drawn import without_dropout
from bench.reference.losses import loss_and_gradient
from bench.reference.model import Reference
from bench.reference.optimizers import Optimizer
from bench.weights import initial_weights
from dlbench.datasets import find as find_dataset
from dlbench.workloads import find as find_workload

GRAPHS = [
    "digits-cnn", "svhn-cnn", "imdb-lstm", "enthalpy-fcrn-10", "proof-encoder-decoder",
    "proof-two-branch",
]  # fmt: skip


def batch_of(workload, rows: int = 4) -> dict[str, np.ndarray]:
    dataset = find_dataset(workload.dataset)
    arrays = (dataset.proof or dataset.synthetic)(rows, 1)["train"]
    shapes = {node["name"]: tuple(node["shape"]) for node in workload.proof_graph["nodes"]}
    forms = {
        loss["target"]: (shapes[loss["output"]], "float32")
        for loss in workload.recipe["losses"]
        if loss["name"] != "softmax-cross-entropy"
    }
    return data.Split(arrays, dataset.divide, forms).batch(slice(None))


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_are_slopes(name: str) -> None:
    workload = find_workload(name)
    graph = without_dropout(workload.proof_graph)
    batch = batch_of(workload)
    model = Reference(graph, workload.recipe, 3, np.float64)
    start = {
        node: {k: v.astype(np.float64) for k, v in parameters.items()}
        for node, parameters in initial_weights(graph, 3).items()
    }
    random = np.random.RandomState(0)
    for parameters in start.values():
        for value in parameters.values():
            value += random.normal(0, 0.05, value.shape)
        if "variance" in parameters:
            parameters["variance"][:] = np.abs(parameters["variance"]) + 0.5
    model.load(start)
    _, gradients = model.gradients(batch)
    for node, parameters in gradients.items():
        for key, gradient in parameters.items():
            # along one random direction: the slope must be the gradient's projection on it
            direction = random.normal(size=gradient.shape)
            direction /= np.linalg.norm(direction)
            losses = []
            for sign in (1, -1):
                moved = copy.deepcopy(start)
                moved[node][key] += sign * 1e-6 * direction
                model.load(moved)
                losses.append(model.gradients(batch)[0])
            slope = (losses[0] - losses[1]) / 2e-6
            wanted = float((gradient * direction).sum())
            assert slope == pytest.approx(wanted, rel=2e-4, abs=2e-7), f"{node}/{key}"


def test_convolution_by_hand() -> None:
    graph = {
        "inputs": [{"name": "x", "shape": [2, 2, 1], "dtype": "float32"}],
        "nodes": [
            {
                "name": "c", "op": "conv2d", "inputs": ["x"], "filters": 1, "kernel": [2, 2],
                "stride": [1, 1], "padding": [[0, 1], [0, 0]], "bias": True, "shape": [2, 1, 1],
                "parameters": {
                    "kernel": {"shape": [2, 2, 1, 1], "init": "zeros"},
                    "bias": {"shape": [1], "init": "zeros"},
                },
            }
        ],
        "outputs": ["c"],
    }  # fmt: skip
    recipe = {"optimizer": {"name": "sgd"}, "losses": []}
    model = Reference(graph, recipe, 1, np.float64)
    kernel = np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(2, 2, 1, 1)
    model.load({"c": {"kernel": kernel, "bias": np.array([10.0])}})
    image = np.array([[5.0, 6.0], [7.0, 8.0]]).reshape(1, 2, 2, 1)
    # not flipped: 5*1 + 6*2 + 7*3 + 8*4 = 70; below only the padding: 7*1 + 8*2 = 23
    assert model.predict({"x": image})["c"].ravel().tolist() == [80.0, 33.0]


def test_padding_does_not_reach_the_last_state() -> None:
    workload = find_workload("imdb-lstm")
    model = Reference(workload.proof_graph, workload.recipe, 1, np.float64)
    batch = batch_of(workload, 6)
    before = model.predict(batch)["logit"]
    spoilt = dict(batch, tokens=batch["tokens"].copy())
    spoilt["tokens"][np.arange(24) >= batch["length"][:, None]] = 7
    assert np.array_equal(before, model.predict(spoilt)["logit"])


def test_losses_by_hand() -> None:
    loss, gradient = loss_and_gradient(
        "softmax-cross-entropy", np.log([[1.0, 3.0], [1.0, 1.0]]), np.array([1, 0])
    )
    assert loss == pytest.approx((-np.log(0.75) - np.log(0.5)) / 2)
    assert gradient == pytest.approx(np.array([[0.25, -0.25], [-0.5, 0.5]]) / 2)
    loss, gradient = loss_and_gradient(
        "mean-absolute-error", np.array([[1.0], [5.0]]), np.array([[2.0], [2.0]])
    )
    assert (loss, gradient.ravel().tolist()) == (2.0, [-0.5, 0.5])
    masked, _ = loss_and_gradient(
        "mean-squared-error", np.array([[1.0], [5.0]]), np.array([[2.0], [2.0]]),
        np.array([[0.0], [1.0]]),
    )  # fmt: skip
    assert masked == 9.0


def test_a_target_is_never_broadcast() -> None:
    with pytest.raises(ValueError, match="needs a target of the shape"):
        loss_and_gradient("mean-squared-error", np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="needs a target of the shape"):
        compute("mean-squared-error", np.zeros((3, 1)), np.zeros(3))


def test_optimisers_by_hand() -> None:
    def path(optimizer: dict, gradients: list[float]) -> list[float]:
        weights = {"n": {"kernel": np.array([1.0])}}
        rule = Optimizer({"optimizer": optimizer})
        places = []
        for g in gradients:
            rule.apply(weights, {"n": {"kernel": np.array([g])}})
            places.append(float(weights["n"]["kernel"][0]))
        return places

    plain = {"name": "sgd", "lr": 0.1, "momentum": 0.5, "nesterov": False, "weight_decay": 0.0}
    assert path(plain, [1.0, 1.0]) == pytest.approx([0.9, 0.75])
    assert path({**plain, "nesterov": True}, [1.0, 1.0]) == pytest.approx([0.85, 0.675])
    assert path({**plain, "weight_decay": 0.5}, [1.0]) == pytest.approx([1 - 0.1 * 1.5])
    adam = {"name": "adam", "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1.0}
    # corrected moments are 2 and 4: the step is 0.1 * 2 / (2 + 1)
    assert path(adam, [2.0]) == pytest.approx([1 - 0.2 / 3])
    adadelta = {"name": "adadelta", "lr": 1.0, "rho": 0.5, "epsilon": 1.0}
    first = 2.0 / np.sqrt(0.5 * 4 + 1)
    assert path(adadelta, [2.0]) == pytest.approx([1 - first])
