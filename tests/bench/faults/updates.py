"""Faults of the optimisers: how gradients become steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.reference.model import Reference
from bench.reference.optimizers import Optimizer
from bench.weights import is_decayed
from tests.bench.faults.fault import STEPS, Fault, Json

_TABLES = ("kernel", "table", "input_kernel", "recurrent_kernel")
_OTHERS = ("bias", "gamma", "beta")


def with_optimizer(kind: type[Optimizer]) -> type[Reference]:
    def build(self: Any, graph: Json, recipe: Json, *given: Any) -> None:
        Reference.__init__(self, graph, recipe, *given)
        self._optimizer = kind(recipe)

    return type("OtherOptimizer", (Reference,), {"__init__": build})


class Dampened(Optimizer):
    def _sgd(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["momentum"] * slots[0] + (1 - o["momentum"]) * g
        return self.lr * (g + o["momentum"] * slots[0] if o["nesterov"] else slots[0])


class Classical(Optimizer):
    def _sgd(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["momentum"] * slots[0] + g
        return self.lr * slots[0]


class WithDecay(Optimizer):
    """Decays by `factor` times as much, and what `decayed` names."""

    factor = 1.0

    @staticmethod
    def decayed(name: str) -> bool:
        return is_decayed(name)

    def steps(self, weights: Json, gradients: Json) -> Json:
        own, decay = self._o, self._o.get("weight_decay", 0.0) * self.factor
        self._o, clip, by = {**own, "weight_decay": 0.0}, self._clip, self._clipping(gradients)
        self._clip = None  # gradients are clipped first, as they should be
        moved = {
            node: {
                name: by * g + decay * weights[node][name] if self.decayed(name) else by * g
                for name, g in values.items()
            }
            for node, values in gradients.items()
        }
        try:
            return super().steps(weights, moved)
        finally:
            self._o, self._clip = own, clip


class DecayTwice(WithDecay):
    factor = 2.0


class DecayHalf(WithDecay):
    factor = 0.5


class NoDecay(WithDecay):
    factor = 0.0


class DecayOnAll(WithDecay):
    @staticmethod
    def decayed(name: str) -> bool:
        return True


class Decoupled(WithDecay):
    """Adam as in AdamW: the decay does not go through the moments."""

    def steps(self, weights: Json, gradients: Json) -> Json:
        if self._o["name"] != "adam":
            return Optimizer.steps(self, weights, gradients)
        own, decay = self._o, self._o.get("weight_decay", 0.0)
        self._o = {**own, "weight_decay": 0.0}
        try:
            steps = Optimizer.steps(self, weights, gradients)
        finally:
            self._o = own
        for node, values in steps.items():
            for name in values:
                if is_decayed(name):
                    values[name] = values[name] + self.lr * decay * weights[node][name]
        return steps


class Uncorrected(Optimizer):
    def _adam(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["beta1"] * slots[0] + (1 - o["beta1"]) * g
        slots[1] = o["beta2"] * slots[1] + (1 - o["beta2"]) * g * g
        return self.lr * slots[0] / (np.sqrt(slots[1]) + o["epsilon"])


class EpsilonInside(Optimizer):
    def _adam(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["beta1"] * slots[0] + (1 - o["beta1"]) * g
        slots[1] = o["beta2"] * slots[1] + (1 - o["beta2"]) * g * g
        m, v = slots[0] / (1 - o["beta1"] ** self._t), slots[1] / (1 - o["beta2"] ** self._t)
        return self.lr * m / np.sqrt(v + o["epsilon"])


class EpsilonBeforeCorrection(Optimizer):
    """Keras' and TensorFlow's Adam: epsilon is not corrected."""

    def _adam(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["beta1"] * slots[0] + (1 - o["beta1"]) * g
        slots[1] = o["beta2"] * slots[1] + (1 - o["beta2"]) * g * g
        rate = self.lr * np.sqrt(1 - o["beta2"] ** self._t) / (1 - o["beta1"] ** self._t)
        return rate * slots[0] / (np.sqrt(slots[1]) + o["epsilon"])


def _other(optimizer: str, **factors: Any) -> type[Optimizer]:
    """An optimiser of that name with other coefficients; `factors` make one of the stated one."""

    def build(self: Any, recipe: Json) -> None:
        Optimizer.__init__(self, recipe)
        if self._o["name"] == optimizer:
            self._o = {**self._o, **{k: make(self._o[k]) for k, make in factors.items()}}

    def lr(self: Any) -> float:
        own = Optimizer.lr.fget(self)  # type: ignore[attr-defined]
        changed = self._o["name"] == optimizer and "lr" in factors
        return float(factors["lr"](own) if changed else own)  # with a schedule, too

    return type("OtherCoefficients", (Optimizer,), {"__init__": build, "lr": property(lr)})


class AdadeltaEpsilonOutside(Optimizer):
    def _adadelta(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        rho, epsilon = o["rho"], o["epsilon"]
        slots[0] = rho * slots[0] + (1 - rho) * g * g
        d = g * (np.sqrt(slots[1]) + epsilon) / (np.sqrt(slots[0]) + epsilon)
        slots[1] = rho * slots[1] + (1 - rho) * d * d
        return self.lr * d


class DropsAtStep50(Optimizer):
    def steps(self, weights: Json, gradients: Json) -> Json:
        if self._t == 50:
            self._o = {**self._o, "lr": self._o["lr"] * 0.1}
        return super().steps(weights, gradients)

    @property
    def lr(self) -> float:
        return super().lr if self.rate is None else self.rate * (0.1 if self._t > 50 else 1)


class Clipped(Optimizer):
    """Gradients are clipped at a tenth."""

    def steps(self, weights: Json, gradients: Json) -> Json:
        clipped = {
            node: {name: np.clip(g, -0.1, 0.1) for name, g in values.items()}
            for node, values in gradients.items()
        }
        return super().steps(weights, clipped)


class HalfPrecision(Optimizer):
    """Gradients pass through float16."""

    def steps(self, weights: Json, gradients: Json) -> Json:
        rounded = {
            node: {name: g.astype(np.float16).astype(g.dtype) for name, g in values.items()}
            for node, values in gradients.items()
        }
        return super().steps(weights, rounded)


class DecaySparesOne(Optimizer):
    """One kernel of all does not decay."""

    def used(self, weights: Json, gradients: Json) -> Json:
        used = super().used(weights, gradients)
        decayed = [(node, name) for node in used for name in used[node] if is_decayed(name)]
        for node, name in decayed[:1]:
            decay = self._o.get("weight_decay", 0.0)
            used[node][name] = used[node][name] - decay * weights[node][name]
        return used


class RateOf16Bits(Optimizer):
    @property
    def lr(self) -> float:
        return float(np.float16(super().lr))


class Fades(Optimizer):
    """The learning rate gets smaller by 1e-5 of itself in each step, as in Keras' `decay`."""

    @property
    def lr(self) -> float:
        return super().lr / (1 + 1e-5 * self._t)


class OneSecondMoment(Optimizer):
    """Adam divides a whole parameter by one number."""

    def _adam(self, key: Any, g: Any) -> Any:
        slots, o = self._slots(key, g), self._o
        slots[0] = o["beta1"] * slots[0] + (1 - o["beta1"]) * g
        slots[1] = o["beta2"] * slots[1] + (1 - o["beta2"]) * np.mean(g * g, dtype=g.dtype)
        m, v = slots[0] / (1 - o["beta1"] ** self._t), slots[1] / (1 - o["beta2"] ** self._t)
        return self.lr * m / (np.sqrt(v) + o["epsilon"])


class ClipsDecay(Optimizer):
    """Gradients are clipped when the decay is already in them."""

    def used(self, weights: Json, gradients: Json) -> Json:
        clip, self._clip = self._clip, None
        used, self._clip = super().used(weights, gradients), clip
        by = self._clipping(used)
        return {node: {name: by * g for name, g in values.items()} for node, values in used.items()}


class ClipsByKernels(Optimizer):
    """Biases do not count in the norm that gradients are clipped to."""

    def _clipping(self, gradients: Json) -> Any:
        return super()._clipping(
            {n: {k: g for k, g in v.items() if is_decayed(k)} for n, v in gradients.items()}
        )


class DecaysTheUnreached(Reference):
    """Weight decay moves parameters that no loss reaches."""

    def step(self, gradients: Json, state: Json) -> None:
        super().step(gradients, state)
        o = self._recipe["optimizer"]
        for node, values in self._weights.items():
            for name, value in values.items():
                if node not in gradients and is_decayed(name):
                    value -= np.asarray(o["lr"] * o["weight_decay"] * value, value.dtype)


def _unreached(graph: Json, recipe: Json) -> bool:
    from bench.ops import trained_nodes

    reached = {node["name"] for node in trained_nodes(graph, recipe)}
    return any(
        node["name"] not in reached and any(map(is_decayed, node["parameters"]))
        for node in graph["nodes"]
    )


def _clips(graph: Json, recipe: Json) -> bool:
    return recipe.get("clip") is not None


def _fault(name: str, kind: type[Optimizer], **others: Any) -> Fault:
    return Fault(name, with_optimizer(kind), STEPS, **others)


FAULTS: tuple[Fault, ...] = (
    _fault("SGD dampens its momentum", Dampened),
    _fault("SGD ignores Nesterov", Classical),
    _fault("weight decay on biases, too", DecayOnAll, parameters=_OTHERS),
    _fault("weight decay twice", DecayTwice, parameters=_TABLES),
    _fault("weight decay halved", DecayHalf, parameters=_TABLES),
    _fault("weight decay is missing", NoDecay, parameters=_TABLES),
    _fault("Adam's weight decay is decoupled", Decoupled, parameters=_TABLES),
    Fault("weight decay on what no loss reaches", DecaysTheUnreached, STEPS, parameters=_TABLES,
          needs=_unreached),
    _fault("Adam without bias correction", Uncorrected),
    _fault("Adam's epsilon inside the root", EpsilonInside),
    _fault("Adam's epsilon before the bias correction", EpsilonBeforeCorrection),
    _fault("Adam's epsilon ten times too large", _other("adam", epsilon=lambda e: 10 * e)),
    _fault("Adam's beta2 is the usual one", _other("adam", beta2=lambda b: 0.999)),
    _fault("Adadelta without its learning rate", _other("adadelta", lr=lambda lr: 1.0)),
    _fault("Adadelta's epsilons outside the roots", AdadeltaEpsilonOutside),
    _fault("Adadelta's rho is the usual one", _other("adadelta", rho=lambda rho: 0.95)),
    _fault("learning rate drops at step 50", DropsAtStep50, steps=60),
    _fault("gradients are clipped", Clipped),
    _fault("weight decay spares one kernel", DecaySparesOne, parameters=_TABLES),
    _fault("learning rate of 16 bits", RateOf16Bits),
    _fault("learning rate fades", Fades, steps=60),
    _fault("Adam has one second moment a parameter", OneSecondMoment),
    _fault("gradients are clipped with their decay", ClipsDecay, needs=_clips),
    _fault("gradients are clipped by the norm of kernels", ClipsByKernels, needs=_clips),
    _fault("gradients pass through float16", HalfPrecision),
)  # fmt: skip
