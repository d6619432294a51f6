"""Every fault that spoilt a published comparison, put into an adapter: the certificate names it.

The adapter here is NumPy's own in float32: what it computes is right but for the one fault.
`test_certificate_bites_torch.py` does the same to PyTorch.
"""

from __future__ import annotations

import contextlib
import copy
import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import data, verify
from bench.adapters import numpy as plain
from bench.proof.drawn import without_dropout
from dlbench import formats
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.planning.graph import Graph
from dlbench.workloads import find as find_workload

Json = dict[str, Any]
Faults = dict[str, Json]


def job_of(workload: str) -> tuple[Json, Path]:
    chosen = find_workload(workload)
    prepared = store.prepare_proof(find_dataset(chosen.dataset))
    job = {
        "v": formats.VERSION, "id": "bites", "action": "verify", "framework": "numpy",
        "version": "0", "adapter": "numpy", "variant": "numpy", "device": "cpu",
        "setting": "matched", "seed": 1, "threads": None, "graph": chosen.proof_graph,
        "recipe": chosen.recipe, "budget": {"epochs": 1, "steps": None},
        "data": prepared.to_job(), "save": False,
    }  # fmt: skip
    return json.loads(json.dumps(job)), prepared.folder


def certificate(
    job: Json, folder: Path, adapter: Any, splits: Any = None, until: str = ""
) -> list[Json]:
    """The checks' results, as far as the one named `until`."""
    splits = splits or data.load(str(folder), job["data"], job["graph"], job["recipe"])
    done = []
    for check in verify.checks(job, splits, adapter, str(folder)):
        done.append(check)
        if check["name"] == until:
            break
    return done


def failed(checks: list[Json]) -> Faults:
    """The checks that did not pass, by name, in their order."""
    return {check["name"]: check for check in checks if not check["passed"]}


class Faulty(plain.Reference):
    """The reference in float32; a fault overrides one thing."""

    def __init__(self, graph: Json, recipe: Json, options: Any) -> None:
        super().__init__(graph, recipe, options.seed, np.float32)


def adapter(
    kind: type[Faulty] = Faulty,
    graph: Callable[[Json], Json] = lambda graph: graph,
    recipe: Callable[[Json], Json] = lambda recipe: recipe,
) -> SimpleNamespace:
    """One that builds `kind` from the graph and the recipe as it understands them."""
    return SimpleNamespace(
        set_up=lambda options: None,
        build=lambda g, r, options: kind(graph(copy.deepcopy(g)), recipe(dict(r)), options),
    )


def bites(workload: str, faulty: SimpleNamespace, until: str = "") -> Faults:
    job, folder = job_of(workload)
    return failed(certificate(job, folder, faulty, until=until))


def test_without_a_fault_everything_passes() -> None:
    for workload in ("digits-cnn", "enthalpy-fcrn-10", "proof-encoder-decoder", "proof-two-branch"):
        job, folder = job_of(workload)
        checks = certificate(job, folder, adapter())
        assert not failed(checks)
        assert all(check["error"] is None or check["error"] < 0.1 for check in checks)


# ---- the graph, misunderstood ------------------------------------------------------------------


def changed(name: str, **attributes: Any) -> Callable[[Json], Json]:
    """The graph with other attributes of one node, and all shapes that follow from them."""

    def change(graph: Json) -> Json:
        shapes = {spec["name"]: spec["shape"] for spec in graph["inputs"]}
        for node in graph["nodes"]:
            if node["name"] == name:
                node.update(attributes)
            _reshape(node, [shapes[source] for source in node["inputs"]])
            shapes[node["name"]] = node["shape"]
        return graph

    return change


def _reshape(node: Json, inputs: list[list[int]]) -> None:
    op, x = node["op"], inputs[0]
    parameters = node["parameters"]
    if op in ("conv2d", "maxpool", "avgpool"):
        size = node["kernel"] if op == "conv2d" else node["size"]
        places = [
            (x[axis] + sum(node["padding"][axis]) - size[axis]) // node["stride"][axis] + 1
            for axis in (0, 1)
        ]
        node["shape"] = [*places, node["filters"] if op == "conv2d" else x[2]]
        if op == "conv2d":
            parameters["kernel"]["shape"] = [*size, x[2], node["filters"]]
    elif op == "dense":
        parameters["kernel"]["shape"][0] = x[-1]
    elif op == "flatten":
        node["shape"] = [int(np.prod(x))]
    elif op == "concat":
        node["shape"] = [*x[:-1], sum(shape[-1] for shape in inputs)]
    elif op in ("relu", "dropout", "batchnorm", "tanh", "sigmoid", "add"):
        node["shape"] = x
    if op in ("conv2d", "dense") and not node["bias"]:
        parameters.pop("bias", None)


def test_valid_for_same_padding() -> None:
    faults = bites(
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
    faults = bites(
        "svhn-cnn", adapter(graph=changed("maxpool2", padding=[[1, 0], [1, 0]])), "forward"
    )
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "maxpool2"


def test_swapped_kernel_and_stride() -> None:
    swapped = changed("conv2d1", kernel=[1, 1], stride=[3, 3])
    faults = bites("mnist-cnn", adapter(graph=swapped), "parameters")
    assert faults["shapes"]["node"] == faults["parameters"]["node"] == "conv2d1"
    assert "(1, 1, 1, 8)" in faults["parameters"]["detail"]
    assert "(3, 3, 1, 8)" in faults["parameters"]["detail"]


def test_ceil_pooling() -> None:
    faults = bites(
        "cifar10-cnn", adapter(graph=changed("maxpool2", padding=[[0, 1], [0, 1]])), "shapes"
    )
    assert faults["shapes"]["node"] == "maxpool2"
    assert "(7, 7, 16) against (6, 6, 16)" in faults["shapes"]["detail"]


def test_missing_bias() -> None:
    faults = bites("digits-cnn", adapter(graph=changed("conv2d2", bias=False)))
    assert next(iter(faults)) == "parameters"
    assert faults["parameters"]["node"] == "conv2d2"


def test_batchnorm_momentum_exchanged_with_its_complement() -> None:
    def complement(graph: Json) -> Json:
        for node in graph["nodes"]:
            if node["op"] == "batchnorm":
                node["keep"] = 1 - node["keep"]
        return graph

    faults = bites("proof-two-branch", adapter(graph=complement))
    assert next(iter(faults)) == "batchnorm"
    assert faults["batchnorm"]["node"] == "batchnorm1/mean"


def test_running_variance_with_the_other_divisor() -> None:
    graph = find_workload("proof-two-branch").proof_graph
    unbiased = next(node for node in graph["nodes"] if node["op"] == "batchnorm")["unbiased"]
    faults = bites("proof-two-branch", adapter(graph=changed("batchnorm1", unbiased=not unbiased)))
    assert faults["batchnorm"]["node"] == "batchnorm1/variance"


# ---- layouts and modes ---------------------------------------------------------------------------


class Scrambled(Faulty):
    """NHWC is reshaped to NCHW where it should be transposed."""

    def _forward(self, batch: Json, context: Any) -> Any:
        image = batch["image"]
        rows, height, width, channels = image.shape
        wrong = image.reshape(rows, channels, height, width).transpose(0, 2, 3, 1)
        return super()._forward(dict(batch, image=wrong), context)


def test_reshaped_without_transpose() -> None:
    faults = bites("cifar10-cnn", adapter(Scrambled), "forward")
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "conv2d1"


class AlwaysTraining(Faulty):
    """Evaluates in training mode."""

    def activations(self, batch: Json, training: bool = False) -> Any:
        return super().activations(batch, True)

    def predict(self, batch: Json) -> Any:
        values = self.activations(batch, True)
        return {name: values[name] for name in self._graph["outputs"]}


def test_dropout_in_evaluation() -> None:
    faults = bites("digits-cnn", adapter(AlwaysTraining))
    assert next(iter(faults)) == "evaluation"
    assert faults["evaluation"]["node"] == "dropout1"


def test_batch_statistics_in_evaluation() -> None:
    faults = bites("proof-two-branch", adapter(AlwaysTraining))
    assert next(iter(faults)) == "forward"
    assert faults["forward"]["node"] == "batchnorm1"


def test_dropout_never_on() -> None:
    faults = bites("digits-cnn", adapter(graph=without_dropout))
    assert list(faults) == ["dropout"]
    assert faults["dropout"]["node"] == "dropout1"
    assert "drops 0.000, stated 0.250" in faults["dropout"]["detail"]


class StepsWithoutDropout(Faulty):
    """Drops when it is looked at, and not when it trains: PyTorch's functional dropout."""

    def train_step(self, batch: Json) -> float:
        graph, self._graph = self._graph, without_dropout(self._graph)
        loss = super().train_step(batch)
        self._graph = graph
        return loss


def test_dropout_never_on_in_training_steps() -> None:
    faults = bites("digits-cnn", adapter(StepsWithoutDropout))
    assert list(faults) == ["dropout"]
    assert "as without dropout" in faults["dropout"]["detail"]


def test_keep_for_drop_probability() -> None:
    def keep(graph: Json) -> Json:
        for node in graph["nodes"]:
            if node["op"] == "dropout" and node["rate"]:
                node["rate"] = 1 - node["rate"]
        return graph

    faults = bites("digits-cnn", adapter(graph=keep))
    assert faults["dropout"]["node"] == "dropout1"


class Masked(Faulty):
    """One mask for all steps."""

    def _backward(self, batch: Json) -> Any:
        self._random.seed(1)
        return super()._backward(batch)


def test_the_same_dropout_in_every_step() -> None:
    assert "drops the same" in bites("digits-cnn", adapter(Masked))["dropout"]["detail"]


# ---- losses -------------------------------------------------------------------------------------


def with_loss(function: Callable[..., tuple[float, np.ndarray]]) -> type[Faulty]:
    """An adapter whose loss is `function(right, name, output, target, mask)`."""

    class Lossy(Faulty):
        def _backward(self, batch: Json) -> Any:
            with _instead(lambda *given: function(_RIGHT, *given)):
                return super()._backward(batch)

    return Lossy


_RIGHT = plain.loss_and_gradient


@contextlib.contextmanager
def _instead(function: Callable[..., Any]) -> Iterator[None]:
    plain.loss_and_gradient = function
    try:
        yield
    finally:
        plain.loss_and_gradient = _RIGHT


def test_sum_for_mean_loss() -> None:
    def summed(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss * len(output), gradient * len(output)

    faults = bites("digits-cnn", adapter(with_loss(summed)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "logits"
    assert faults["loss"]["error"] == pytest.approx(5, abs=0.01)  # six rows: six times as much
    assert faults["gradients"]["node"] == "logits/bias"


def test_mean_for_sum_loss() -> None:
    """Two heads' losses are added; here their mean is taken."""

    def averaged(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss / 2, gradient / 2

    faults = bites("proof-two-branch", adapter(with_loss(averaged)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["error"] == pytest.approx(0.5)


def test_mean_over_padding() -> None:
    def unmasked(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        return right(name, output, target, None)

    faults = bites("proof-encoder-decoder", adapter(with_loss(unmasked)))
    assert next(iter(faults)) == "loss"


def test_softmax_applied_twice() -> None:
    def twice(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        p = np.exp(output - output.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        loss, gradient = right(name, p, target, mask)
        return loss, p * (gradient - (gradient * p).sum(-1, keepdims=True))

    faults = bites("digits-cnn", adapter(with_loss(twice)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "logits"


def test_target_shape_broadcast() -> None:
    """(B,1) against (B): the mean over all pairs."""

    def broadcast(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        difference = output - target[:, 0]
        assert difference.shape == (len(output), len(output))
        gradient = np.sign(difference).sum(1, keepdims=True) / difference.size
        return float(np.abs(difference).mean()), gradient.astype(output.dtype)

    faults = bites("enthalpy-fcrn-10", adapter(with_loss(broadcast)))
    assert next(iter(faults)) == "loss"
    assert faults["loss"]["node"] == "enthalpy"


def test_labels_shifted() -> None:
    class Shifted(Faulty):
        def _backward(self, batch: Json) -> Any:
            return super()._backward(dict(batch, label=np.roll(batch["label"], 1)))

    faults = bites("digits-cnn", adapter(Shifted))
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

    splits = {}
    for split, files in job["data"]["splits"].items():
        arrays = {name: np.load(folder / file) for name, file in files.items()}
        splits[split] = Maps(arrays, job["data"]["divide"])
    return splits


# ---- optimisers ---------------------------------------------------------------------------------


def with_optimizer(**change: Callable[[Json], Any]) -> SimpleNamespace:
    """An adapter that reads other coefficients than the recipe's."""

    def other(recipe: Json) -> Json:
        optimizer = dict(recipe["optimizer"])
        optimizer.update({key: value(optimizer) for key, value in change.items()})
        return dict(recipe, optimizer=optimizer)

    return adapter(recipe=other)


@pytest.mark.parametrize("workload", ["digits-cnn", "imdb-lstm", "proof-two-branch"])
def test_l2_factor_doubled(workload: str) -> None:
    faults = bites(workload, with_optimizer(weight_decay=lambda o: 2 * o["weight_decay"]))
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
    faults = bites("digits-cnn", adapter(DecayingRate))
    assert list(faults) == ["sgd-nesterov-decay-steps"]
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

    faults = bites("proof-two-branch", adapter(Everywhere))
    assert faults["sgd-nesterov-decay-steps"]["node"].split("/")[1] in ("gamma", "beta", "bias")


def test_nesterov_left_out() -> None:
    faults = bites("digits-cnn", with_optimizer(nesterov=lambda o: False))
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

    assert "adam-steps" in bites("imdb-lstm", adapter(Hat))


def test_adadelta_without_its_learning_rate() -> None:
    """As in MXNet and Chainer: seen where the rate is not one."""
    job, folder = job_of("proof-encoder-decoder")
    job["recipe"]["optimizer"]["lr"] = 0.5
    ignoring = with_optimizer(lr=lambda o: 1.0 if o["name"] == "adadelta" else o["lr"])
    faults = failed(certificate(job, folder, ignoring))
    assert "recipe-steps" in faults


# ---- the loop -----------------------------------------------------------------------------------


class Loop(Faulty):
    """Trains on what `again` makes of an epoch's batches."""

    def again(self, batches: list[Json]) -> list[Json]:
        raise NotImplementedError

    def train_epoch(self, batches: Iterator[Json], on_step: Callable[..., None]) -> None:
        super().train_epoch(self.again(list(batches)), on_step)


def test_batches_in_another_order() -> None:
    class Shuffled(Loop):
        def again(self, batches: list[Json]) -> list[Json]:
            return [batches[1], batches[0], *batches[2:]]

    faults = bites("digits-cnn", adapter(Shuffled))
    assert next(iter(faults)) == "batch-order"
    assert "loss of batch 1" in faults["batch-order"]["detail"]


def test_last_partial_batch_dropped() -> None:
    class Dropping(Loop):
        def again(self, batches: list[Json]) -> list[Json]:
            return batches[:-1]

    faults = bites("digits-cnn", adapter(Dropping))
    assert "20 steps for 21 batches" in faults["batch-order"]["detail"]


def test_partial_batch_filled_up() -> None:
    """A smaller batch divided by the full batch's size."""

    def fixed(right: Any, name: str, output: Any, target: Any, mask: Any) -> Any:
        loss, gradient = right(name, output, target, mask)
        return loss * len(output) / 6, gradient * len(output) / 6

    faults = bites("digits-cnn", adapter(with_loss(fixed)))
    assert next(iter(faults)) == "partial-batch"


def test_racing_updates() -> None:
    class Racing(Faulty):
        luck = np.random.RandomState(3)

        def train_step(self, batch: Json) -> float:
            loss = super().train_step(batch)
            if self.luck.uniform() < 0.2:  # an update is lost
                self._weights["dense1"]["kernel"] -= 1e-4
            return loss

    faults = bites("digits-cnn", adapter(Racing))
    assert "repeated" in faults["repeat"]["detail"]


def test_evaluation_that_changes_the_model() -> None:
    class Learning(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            self._weights["logits"]["bias"] += np.float32(1e-7)
            return found

    faults = bites("digits-cnn", adapter(Learning), until="evaluation")
    assert "two evaluations" in faults["evaluation"]["detail"]


def test_evaluation_that_changes_the_running_statistics() -> None:
    class Drifting(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            self._drift = getattr(self, "_drift", 0) + 1
            if self._drift > 1:
                self._weights["batchnorm1"]["mean"] += np.float32(1e-3)
            return found

    faults = bites("proof-two-branch", adapter(Drifting), until="evaluation")
    assert "evaluation changed" in faults["evaluation"]["detail"]


def test_evaluation_that_is_not_deterministic() -> None:
    class Noisy(Faulty):
        def predict(self, batch: Json) -> Any:
            found = super().predict(batch)
            return {k: v * np.float32(1 + 1e-6 * self._random.normal()) for k, v in found.items()}

    assert "two evaluations" in bites("digits-cnn", adapter(Noisy))["evaluation"]["detail"]


# ---- waiting ------------------------------------------------------------------------------------


class Background(Faulty):
    """Works through its steps behind the caller's back, as asynchronous frameworks do."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._worker = ThreadPoolExecutor(1)
        self._last: Future[float] | None = None

    def train_step(self, batch: Json) -> Any:
        self._last = self._worker.submit(super().train_step, batch)
        return self._last

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

    assert not bites("digits-cnn", adapter(Background))
    faults = bites("digits-cnn", adapter(Hasty))
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

    assert list(bites("digits-cnn", adapter(Halfway))) == ["sync"]


# ---- sequences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "node"), [("imdb-lstm", "lstm1"), ("proof-encoder-decoder", "encoder1")]
)
def test_lengths_ignored(workload: str, node: str) -> None:
    def forget(graph: Json) -> Json:
        for each in graph["nodes"]:
            if each["op"] == "lstm":
                each["lengths"] = None
        return graph

    faults = bites(workload, adapter(graph=forget))
    assert faults["forward"]["node"] == faults["lengths"]["node"] == node


def test_lengths_ignored_in_the_backward_pass_alone() -> None:
    class Leaking(Faulty):
        def gradients(self, batch: Json) -> Any:
            loss, found = super().gradients(batch)
            behind = np.arange(batch["tokens"].shape[1]) >= batch["length"][:, None]
            np.add.at(found["embedding1"]["table"], batch["tokens"][behind], 1e-3)
            return loss, found

    faults = bites("imdb-lstm", adapter(Leaking))
    assert faults["lengths"]["node"] == "embedding1/table"


# ---- seeds --------------------------------------------------------------------------------------


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
    assert not bites("enthalpy-fcrn-10", seeded(after=False, seed=lambda options: options.seed))
    faults = bites("enthalpy-fcrn-10", seeded(after=True, seed=lambda options: options.seed))
    assert list(faults) == ["seeds"]
    assert faults["seeds"]["node"] == "dense1"
    assert "one seed gave two different values" in faults["seeds"]["detail"]


def test_seed_not_used() -> None:
    faults = bites("enthalpy-fcrn-10", seeded(after=False, seed=lambda options: 7))
    assert "two seeds gave the same weights" in faults["seeds"]["detail"]


def test_weights_changed_on_the_way() -> None:
    class Rounding(Faulty):
        def load(self, weights: Any) -> None:
            super().load(weights)
            for values in self._weights.values():
                values["kernel"] *= np.float32(1 + 2e-7)

    faults = bites("enthalpy-fcrn-10", adapter(Rounding))
    assert next(iter(faults)) == "initial-weights"


# ---- data ---------------------------------------------------------------------------------------


def test_training_data_served_as_test_data(tmp_path: Path) -> None:
    job, folder = job_of("digits-cnn")
    job["data"]["splits"]["test"] = job["data"]["splits"]["train"]
    faults = failed(certificate(job, folder, adapter()))
    assert "not those that the job's digest names" in faults["data"]["detail"]

    job, folder = job_of("digits-cnn")  # the same in the files, with a digest that fits
    copied = Path(shutil.copytree(folder, tmp_path / "data"))
    for name in ("image", "label"):
        np.save(copied / f"test-{name}.npy", np.load(copied / f"train-{name}.npy")[:256])
    job["data"]["digest"] = _digest(copied)
    faults = failed(certificate(job, copied, adapter()))
    assert list(faults) == ["data"]
    assert "100% of the test rows are training rows" in faults["data"]["detail"]


def _digest(folder: Path) -> str:
    import hashlib

    lines = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n"
        for file in sorted(folder.glob("*.npy"))
    )
    return hashlib.sha256(lines.encode()).hexdigest()


def test_the_training_split_is_evaluated() -> None:
    job, folder = job_of("digits-cnn")
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    faults = failed(certificate(job, folder, adapter(), dict(splits, test=splits["train"])))
    assert "of test" in faults["data"]["node"]


def test_labels_shifted_in_the_data(tmp_path: Path) -> None:
    job, folder = job_of("digits-cnn")

    class Shifted(data.Split):
        def batch(self, rows: Any) -> Any:
            found = super().batch(rows)
            return dict(found, label=(found["label"] + 1) % 10)

    splits = {
        split: Shifted({k: np.load(folder / f) for k, f in files.items()}, job["data"]["divide"])
        for split, files in job["data"]["splits"].items()
    }
    faults = failed(certificate(job, folder, adapter(), splits))
    assert faults["data"]["node"] == "label of test"

    copied = Path(shutil.copytree(folder, tmp_path / "data"))
    np.save(copied / "train-label.npy", np.roll(np.load(copied / "train-label.npy"), 1))
    assert "digest" in failed(certificate(job, copied, adapter()))["data"]["detail"]


def test_values_divided_twice() -> None:
    job, folder = job_of("digits-cnn")
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    twice = data.load(
        str(folder), dict(job["data"], divide={"image": 256.0}), job["graph"], job["recipe"]
    )
    assert not failed(certificate(job, folder, adapter(), splits))
    assert "image of" in failed(certificate(job, folder, adapter(), twice))["data"]["node"]
