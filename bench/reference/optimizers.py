"""The optimisers' formulas, as FORMATS.md states them."""

import numpy as np

_DECAYED = ("kernel", "table", "input_kernel", "recurrent_kernel")
"""Stated once more: the adapters have `bench.weights.is_decayed`."""


class Optimizer:
    """Keeps the state of one optimiser for all parameters."""

    def __init__(self, recipe):
        self._o = recipe["optimizer"]
        self.rate, self._clip = None, recipe.get("clip")
        self._step = {
            "sgd": self._sgd,
            "adam": self._adam,
            "adadelta": self._adadelta,
        }[self._o["name"]]
        self._state = {}
        self._t = 0

    def copy(self):
        """One that goes on from the same state."""
        other = Optimizer({"optimizer": self._o, "clip": self._clip})
        other.rate, other._t = self.rate, self._t
        other._state = {key: list(slots) for key, slots in self._state.items()}
        return other

    def state(self):
        """{name: array} of all that it keeps from one step to the next."""
        used = int(self._o["momentum"] > 0) if self._o["name"] == "sgd" else 2
        kept = {
            "{}/{}/{}".format(node, name, number): slot
            for (node, name), slots in self._state.items()
            for number, slot in enumerate(slots[:used])
        }
        return dict(kept, steps=np.array(self._t))

    def first_moment(self, key):
        """SGD's velocity, or Adam's mean of gradients, of (node, parameter); 0 before any step."""
        return self._state[key][0] if key in self._state else 0.0

    @property
    def lr(self):
        """The recipe's learning rate, or the one that was set instead."""
        return self._o["lr"] if self.rate is None else self.rate

    def apply(self, weights, gradients):
        """Move the weights, in place."""
        for node, steps in self.steps(weights, gradients).items():
            for name, step in steps.items():
                weights[node][name] -= step

    def steps(self, weights, gradients):
        """{node: {parameter: what is to be taken off it}}."""
        return self.taken(self.used(weights, gradients))

    def used(self, weights, gradients):
        """The gradients that its formula is given: clipped, and with the decay."""
        decay, factor = self._o.get("weight_decay", 0.0), self._clipping(gradients)
        used = {}
        for node, parameters in gradients.items():
            used[node] = {}
            for name, g in parameters.items():
                if self._clip is not None:
                    g = factor * g
                if decay and name in _DECAYED:
                    g = g + decay * weights[node][name]
                used[node][name] = g
        return used

    def taken(self, used):
        """The steps by such gradients."""
        self._t += 1
        return {
            node: {name: self._step((node, name), g) for name, g in parameters.items()}
            for node, parameters in used.items()
        }

    def _clipping(self, gradients):
        """What all gradients are multiplied by: their norm together is at most the recipe's."""
        if self._clip is None:
            return 1.0
        squares = (np.sum(np.square(g)) for values in gradients.values() for g in values.values())
        return self._clip / max(float(np.sqrt(sum(squares))), self._clip)

    def _slots(self, key, g):
        if key not in self._state:
            self._state[key] = [np.zeros_like(g), np.zeros_like(g)]
        return self._state[key]

    def _sgd(self, key, g):
        slots, o = self._slots(key, g), self._o
        slots[0] = o["momentum"] * slots[0] + g
        return self.lr * (g + o["momentum"] * slots[0] if o["nesterov"] else slots[0])

    def _adam(self, key, g):
        slots, o = self._slots(key, g), self._o
        slots[0] = o["beta1"] * slots[0] + (1 - o["beta1"]) * g
        slots[1] = o["beta2"] * slots[1] + (1 - o["beta2"]) * g * g
        m = slots[0] / (1 - o["beta1"] ** self._t)
        v = slots[1] / (1 - o["beta2"] ** self._t)
        epsilon = o["epsilon"]
        if o.get("hat_epsilon"):  # added before the correction of v, not after it
            epsilon = epsilon / np.sqrt(1 - o["beta2"] ** self._t)
        return self.lr * m / (np.sqrt(v) + epsilon)

    def _adadelta(self, key, g):
        slots, o = self._slots(key, g), self._o
        rho, epsilon = o["rho"], o["epsilon"]
        slots[0] = rho * slots[0] + (1 - rho) * g * g
        d = g * np.sqrt(slots[1] + epsilon) / np.sqrt(slots[0] + epsilon)
        slots[1] = rho * slots[1] + (1 - rho) * d * d
        return self.lr * d
