"""Faults of what is around a step: the loop, the modes, loading weights, waiting."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.reference.layers import Context
from bench.reference.model import Reference
from bench.reference.optimizers import Optimizer
from bench.weights import initial_weights
from tests.bench.faults.fault import STEPS, Fault, Json, some


class ForgetsAtEvaluation(Reference):
    """The optimiser's state is lost when something is predicted."""

    def predict(self, batch: Json) -> Json:
        self._optimizer = Optimizer(self._recipe)
        return super().predict(batch)


class ForgetsAtEpoch(Reference):
    """Each epoch begins with a new optimiser."""

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        self._optimizer = Optimizer(self._recipe)
        super().train_epoch(batches, on_step)


class CountsEachEpoch(Reference):
    """Adam's bias correction starts anew with each epoch; its moments stay."""

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        self._optimizer._t = 0
        super().train_epoch(batches, on_step)


def _rows(batch: Json) -> int:
    return len(next(iter(batch.values())))


class ForgetsAtAnotherSize(Reference):
    """A batch of another size is taken by a new optimiser, as if the step was compiled anew."""

    def train_step(self, batch: Json) -> float:
        if self.__dict__.get("_size") != _rows(batch):
            rate, self._optimizer = self._optimizer.rate, Optimizer(self._recipe)
            self._optimizer.rate, self._size = rate, _rows(batch)
        return super().train_step(batch)


class LosesLastRow(Reference):
    """Of a batch that is smaller than the ones before, the last row is lost."""

    _most = 0

    def train_step(self, batch: Json) -> float:
        rows = _rows(batch)
        self._most = max(self._most, rows)
        if 1 < rows < self._most:
            batch = {name: value[:-1] for name, value in batch.items()}
        return super().train_step(batch)


class TellsWeightsLate(Reference):
    """Behind an epoch the weights are told as they were before its last step."""

    _late: Json | None = None

    def train_step(self, batch: Json) -> float:
        self._late, before = None, self.weights()
        loss = super().train_step(batch)
        self._before = before
        return loss

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        super().train_epoch(batches, on_step)
        self._late = self._before

    def load(self, weights: Json) -> None:
        super().load(weights)
        self._late = None

    def weights(self) -> Json:
        return super().weights() if self._late is None else self._late


class SkipsPartialBatch(Reference):
    def train_epoch(self, batches: Any, on_step: Any) -> None:
        batches = list(batches)
        full = len(next(iter(batches[0].values())))
        whole = [b for b in batches if len(next(iter(b.values()))) == full]
        super().train_epoch(iter(whole), on_step)


class SwapsBatches(Reference):
    def train_epoch(self, batches: Any, on_step: Any) -> None:
        batches = list(batches)
        super().train_epoch(iter(batches[1::-1] + batches[2:]), on_step)


class TrainsTwice(Reference):
    """The epoch's loop takes each batch twice and tells of it once."""

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        for batch in batches:
            handle = self.train_step(batch)
            self.train_step(batch)
            on_step(handle, 0.0)


class TellsRunningMean(Reference):
    """The losses of an epoch are means over what went before, as a progress bar shows them."""

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        losses: list[float] = []
        for batch in batches:
            losses.append(self.train_step(batch))
            on_step(float(np.mean(losses)), 0.0)


class StepsInEvaluationMode(Reference):
    def train_step(self, batch: Json) -> float:
        self._evaluates = True
        try:
            return super().train_step(batch)
        finally:
            self._evaluates = False

    def _forward(self, batch: Json, nodes: Any, context: Context) -> Any:
        if getattr(self, "_evaluates", False):
            context.training = False
        return super()._forward(batch, nodes, context)


class PredictsInTrainingMode(Reference):
    def predict(self, batch: Json) -> Json:
        values = self.activations(batch, training=True)
        return {name: values[name] for name in self._graph["outputs"]}


class StaysInTrainingMode(PredictsInTrainingMode):
    """Predictions behind an epoch are made in training mode."""

    _trained_once = False

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        super().train_epoch(batches, on_step)
        self._trained_once = True

    def predict(self, batch: Json) -> Json:
        return super().predict(batch) if self._trained_once else Reference.predict(self, batch)


class PredictsAsLoaded(Reference):
    """Predictions are made with the weights that were loaded last, whatever was learnt since."""

    def load(self, weights: Json) -> None:
        super().load(weights)
        self._loaded = self.weights()

    def predict(self, batch: Json) -> Json:
        learnt, self._weights = self._weights, self._loaded
        try:
            return super().predict(batch)
        finally:
            self._weights = learnt


class PredictsAsFirstLoaded(PredictsAsLoaded):
    """Predictions are made with the first weights that were ever loaded."""

    def load(self, weights: Json) -> None:
        Reference.load(self, weights)
        if not hasattr(self, "_loaded"):
            self._loaded = self.weights()


class OneOutputAsLoaded(PredictsAsLoaded):
    """The last output alone is predicted with the weights that were loaded."""

    def predict(self, batch: Json) -> Json:
        stale, last = super().predict(batch), self._graph["outputs"][-1]
        return {**Reference.predict(self, batch), last: stale[last]}


class FillsPredictions(Reference):
    """A smaller batch is predicted as the first rows of the larger one before it."""

    def predict(self, batch: Json) -> Json:
        found, kept = super().predict(batch), self.__dict__.get("_kept")
        if kept and _rows(found) < _rows(kept):
            return {name: value[: _rows(found)] for name, value in kept.items()}
        self._kept = found
        return found

    def load(self, weights: Json) -> None:
        super().load(weights)
        self.__dict__.pop("_kept", None)


class RemembersPredictions(Reference):
    """What was predicted for a batch is kept, and given again."""

    def predict(self, batch: Json) -> Json:
        kept = self.__dict__.setdefault("_kept", {})
        key = b"".join(batch[spec["name"]].tobytes() for spec in self._graph["inputs"])
        if key not in kept:
            kept[key] = super().predict(batch)
        return kept[key]

    def load(self, weights: Json) -> None:
        super().load(weights)
        self.__dict__.pop("_kept", None)


class PredictsSixRows(Reference):
    """Rows behind the sixth are predicted as zeros."""

    def predict(self, batch: Json) -> Json:
        values = {name: value.copy() for name, value in super().predict(batch).items()}
        for value in values.values():
            value[6:] = 0
        return values


class GivesReferences(Reference):
    def weights(self) -> Json:
        return self._weights


class LoadsWithoutBiases(Reference):
    def load(self, weights: Json) -> None:
        before = getattr(self, "_weights", None)
        super().load(weights)
        for node, values in (before or {}).items():
            for name in values:
                if name == "bias":
                    self._weights[node][name] = values[name]


class AddsUpGradients(Reference):
    """Gradients of earlier steps are never set to zero."""

    def step(self, gradients: Json, state: Json) -> None:
        before = self.__dict__.get("_before")
        if before:
            gradients = {
                node: {name: g + before[node][name] for name, g in values.items()}
                for node, values in gradients.items()
            }
        self._before = gradients
        super().step(gradients, state)


class StaleGradients(Reference):
    """Each step is taken with the gradients of the one before it."""

    def step(self, gradients: Json, state: Json) -> None:
        before, self._before = self.__dict__.get("_before", gradients), gradients
        super().step(before, state)


class LosesAnUpdate(Reference):
    """In the epoch's loop now and then a node's update is lost."""

    def train_epoch(self, batches: Any, on_step: Any) -> None:
        for number, batch in enumerate(batches):
            node = next(iter(self._weights), None)
            before = {k: v.copy() for k, v in self._weights.get(node, {}).items()}
            handle = self.train_step(batch)
            if number % 3 == 2:
                self._weights[node].update(before)
            on_step(handle, 0.0)


class OwnSeed(Reference):
    """The framework's own weights do not depend on the seed."""

    def __init__(self, graph: Json, recipe: Json, seed: int, dtype: Any) -> None:
        super().__init__(graph, recipe, seed, dtype)
        self.load(initial_weights(graph, 7))


class Background(Reference):
    """Steps take their time behind the caller's back, and `sync` does not wait for them."""

    seconds = 0.02
    _last: Future[float] | None = None

    def train_step(self, batch: Json) -> Any:
        self._wait()
        pool = ThreadPoolExecutor(1)
        self._last = pool.submit(self._work, batch)
        pool.shutdown(wait=False)
        return self._last

    def _work(self, batch: Json) -> float:
        time.sleep(self.seconds)
        return super().train_step(batch)

    def set_rate(self, rate: float) -> None:
        self._wait()
        super().set_rate(rate)

    def losses(self, handles: list[Any]) -> list[float]:
        return [handle.result() for handle in handles]

    def _wait(self) -> None:
        if self._last:
            self._last.result()

    def predict(self, batch: Json) -> Json:
        self._wait()
        return super().predict(batch)

    def weights(self) -> Json:
        self._wait()
        return super().weights()

    def load(self, weights: Json) -> None:
        self._wait()
        super().load(weights)


class WaitsForTheLoss(Background):
    """`sync` waits for the loss, and the update comes later."""

    def train_step(self, batch: Json) -> Any:
        self._wait()
        loss = float(self.backward(batch)[0])
        super().train_step(batch)
        return loss

    def losses(self, handles: list[Any]) -> list[float]:
        return handles


_LOOP = ("batch-order", "repeat")
_LATER = (*STEPS, *_LOOP)


def _norm_or_dropout(graph: Json, recipe: Json) -> bool:
    return any(node["op"] in ("batchnorm", "dropout") for node in graph["nodes"])


def _has_parameters(graph: Json, recipe: Json) -> bool:
    return any(node["parameters"] for node in graph["nodes"])


def _two_outputs(graph: Json, recipe: Json) -> bool:
    return len(graph["outputs"]) > 1


def _has_bias(graph: Json, recipe: Json) -> bool:
    return any("bias" in node["parameters"] for node in graph["nodes"])


FAULTS: tuple[Fault, ...] = (
    Fault("optimiser's state is lost at an evaluation", ForgetsAtEvaluation, _LATER),
    Fault("optimiser's state is lost at a new epoch", ForgetsAtEpoch, _LATER),
    Fault("Adam counts its steps anew in each epoch", CountsEachEpoch, _LATER),
    Fault("optimiser's state is lost at another size of batch", ForgetsAtAnotherSize, _LATER),
    Fault("last row of a smaller batch is lost", LosesLastRow, ("loss", "batchnorm", *_LATER)),
    Fault("weights are told late behind an epoch", TellsWeightsLate,
          ("loss", "batchnorm", *_LATER)),
    Fault("last partial batch is skipped", SkipsPartialBatch, _LOOP),
    Fault("two batches are swapped", SwapsBatches, _LOOP),
    Fault("each batch is trained on twice", TrainsTwice, ("batchnorm", *_LATER)),
    Fault("losses of an epoch are running means", TellsRunningMean, _LOOP),
    Fault("an update of the loop is lost", LosesAnUpdate, ("repeat", "batch-order")),
    Fault(
        "training steps in evaluation mode", StepsInEvaluationMode, ("loss", "batchnorm", *STEPS),
        needs=some("batchnorm"),
    ),
    Fault(
        "predictions in training mode", PredictsInTrainingMode, ("forward", "evaluation"),
        needs=_norm_or_dropout, drops=True,
    ),
    Fault(
        "predictions behind an epoch in training mode", StaysInTrainingMode,
        # statistics that keep little are soon those of the batch
        ("prediction", "metrics"), needs=some("batchnorm", lambda node: node["keep"] > 0.8),
    ),
    Fault("predictions with the weights that were loaded", PredictsAsLoaded, ("prediction",)),
    Fault(
        "predictions with the weights that were loaded first", PredictsAsFirstLoaded, ("forward",)
    ),
    Fault(
        "last output is predicted with the weights that were loaded", OneOutputAsLoaded,
        ("prediction",), needs=_two_outputs,
    ),
    Fault("smaller batches are predicted as the one before", FillsPredictions,
          ("prediction", "metrics")),
    Fault("predictions are remembered", RemembersPredictions, ("prediction",)),
    Fault("predictions of a larger batch are cut off", PredictsSixRows,
          ("evaluation", "prediction", "metrics")),
    Fault("weights are given as references", GivesReferences, ("batchnorm", *STEPS)),
    Fault(
        "biases are not loaded", LoadsWithoutBiases, ("initial-weights",),
        ops=("conv2d", "dense", "lstm"), needs=_has_bias,
    ),
    Fault("gradients add up over the steps", AddsUpGradients, STEPS),
    Fault("gradients of the step before", StaleGradients, STEPS),
    Fault("the seed is not used", OwnSeed, ("seeds",), needs=_has_parameters, timing=True),
    Fault("sync returns early", Background, ("sync",), timing=True),
    Fault("sync waits for the loss alone", WaitsForTheLoss, ("sync",), timing=True),
)  # fmt: skip
