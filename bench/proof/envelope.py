"""What rounding may do to a step, by what it may do to the gradients up to now.

Sums of gradients, with momentum or without, move furthest if all gradients are moved to one side.
Adam and Adadelta divide by what they have seen: twice the gradient in every step makes the same
steps, twice the gradient in one of them does not. So for these it is not enough to move all
gradients up, or all of them down: each may be moved by itself. What holds for all such rows:

- a mean of gradients moves by no more than the same mean of the shifts;
- the root of a mean of squares by no more than that of the shifts: it is a norm, and this its
  triangle inequality;
- the present gradient is one and the same number above and below the line.
"""

import copy

import numpy as np

from bench.proof.noise import FACTOR
from bench.reference.optimizers import Optimizer

_UNIT = np.finfo(np.float32).eps
_KEPT = FACTOR * _UNIT
"""What a moment may lose of itself in one step: it is float32, and v + (1 - beta2)(g^2 - v), as
some frameworks write it, rounds to the digits of the old v. It shows where little of it is kept."""


class Envelope:
    """The steps of the exact optimiser, and how far from them those of a right release may be."""

    def __init__(self, recipe):
        self._o = recipe["optimizer"]
        self._optimizers = [Optimizer(recipe) for _ in range(3)]
        """With the exact gradients, and with all of them moved up, or down."""
        self._ranges = {}
        self._widest = {}
        """The largest spread of each gradient that is rounding alone."""
        self._number = 0

    def copy(self):
        """One that goes on from the same state."""
        other = copy.copy(self)
        other._optimizers = [optimizer.copy() for optimizer in self._optimizers]
        other._ranges = {key: copy.copy(steps) for key, steps in self._ranges.items()}
        other._widest = dict(self._widest)
        return other

    def set_rate(self, rate):
        for optimizer in self._optimizers:
            optimizer.rate = rate

    def steps(self, weights, gradients, spreads):
        """(how far each parameter should go, what rounding may add to or take from that)."""
        self._number += 1
        shifts = self._shifts(gradients, spreads)
        used = [
            optimizer.used(weights, _shifted(gradients, shifts, side))
            for optimizer, side in zip(self._optimizers, (0.0, 1.0, -1.0))
        ]
        if self._o["name"] == "sgd":
            self._round_velocity(used)
        steps = [optimizer.taken(own) for optimizer, own in zip(self._optimizers, used)]
        wanted, room = {}, {}
        for node, values in gradients.items():
            wanted[node] = {name: -steps[0][node][name] for name in values}
            room[node] = {
                name: self._room(
                    (node, name),
                    [own[node][name] for own in used],
                    [own[node][name] for own in steps],
                    np.abs(value) <= FACTOR * spreads[node, name],
                )
                for name, value in values.items()
            }
        return wanted, room

    def _room(self, key, gradients, steps, lost):
        """`lost`: where the gradient is rounding alone."""
        kind, rate = self._o["name"], self._optimizers[0].lr
        if kind == "sgd":
            return np.abs(steps[1] - steps[0]) + np.abs(steps[2] - steps[0])
        shift = np.maximum(*(np.abs(moved - gradients[0]) for moved in gradients[1:]))
        if key not in self._ranges:
            self._ranges[key] = _RANGES[kind](self._o)
        steps = [step / rate for step in steps]
        low, high = self._ranges[key].steps(self._number, gradients[0], shift, steps, lost)
        return rate * (high - low)

    def _shifts(self, gradients, spreads):
        """How far rounding may move each gradient.

        Of a gradient that is rounding alone all are drawn from one lot, so that its largest spread
        up to now stands for each: one that happens to be small says nothing of the next release.
        """
        shifts = {}
        for node, values in gradients.items():
            for name, value in values.items():
                own = shifts[node, name] = FACTOR * spreads[node, name]
                if self._o["name"] != "sgd":
                    widest = max(own, self._widest.get((node, name), 0.0))
                    shifts[node, name] = np.where(np.abs(value) > own, own, widest)
                    self._widest[node, name] = widest
        return shifts

    def _round_velocity(self, used):
        """SGD's velocity is kept in float32: what it lost when gradients were large stays in it
        when they shrink, as those of a table do that weight decay alone moves. The decay is one of
        its terms; neither is clipped.
        """
        for node, values in used[0].items():
            for name, value in values.items():
                velocity = self._optimizers[0].first_moment((node, name))
                lost = _UNIT * (self._o["momentum"] * np.abs(velocity) + np.abs(value))
                for moved, side in zip(used[1:], (1.0, -1.0)):
                    moved[node][name] = moved[node][name] + side * lost


class _AdamRange:
    """The steps, in learning rates, that Adam can make of gradients within their shifts."""

    def __init__(self, optimizer):
        self._o = optimizer
        self._mean = self._squares = 0.0  # Adam's moments, before this step
        self._shift = self._shift_squares = 0.0  # and the same of the shifts

    def steps(self, number, gradient, shift, steps, lost):
        """(the lowest, the highest) of this step."""
        beta1, beta2 = self._o["beta1"], self._o["beta2"]
        corrected = np.sqrt(1 - beta2**number)
        self._epsilon = self._o["epsilon"] * (1 if self._o.get("hat_epsilon") else corrected)
        factor, limit = corrected / (1 - beta1**number), longest_step(self._o, number)
        high = factor * self._highest(gradient, shift, 1)
        low = -factor * self._highest(-gradient, shift, -1)
        self._mean = beta1 * self._mean + (1 - beta1) * gradient
        self._shift = beta1 * self._shift + (1 - beta1) * shift
        self._squares = beta2 * self._squares + (1 - beta2) * gradient**2
        self._shift_squares = beta2 * self._shift_squares + (1 - beta2) * shift**2
        low, high = np.maximum(low, -limit), np.minimum(high, limit)
        # a power of a beta in float32, made step by step, is off by t units, and 1 - beta^t, which
        # is about t (1 - beta), by as much of itself in every step; the root halves it
        unsure = _UNIT / 2 * (0.5 / (1 - beta2) + 1 / (1 - beta1))
        wider = unsure / 2 * np.maximum(np.abs(low), np.abs(high))  # what counts is high - low
        return low - wider, high + wider

    def _highest(self, gradient, shift, side):
        """The largest (a + k x) / (sqrt(c + b x^2) + epsilon) of all x within the shift.

        `a` and `c` are of the past, and free within their own bounds. The line over a convex root
        has one maximum where it is above zero, and none below: it is there, or at an end.
        """
        beta1, beta2 = self._o["beta1"], self._o["beta2"]
        k, b, epsilon = 1 - beta1, 1 - beta2, self._epsilon
        a = beta1 * (side * self._mean + self._shift) + _KEPT * np.abs(self._mean)
        root, apart = np.sqrt(self._squares), np.sqrt(self._shift_squares)
        lost = _KEPT * self._squares
        least = np.maximum(beta2 * np.maximum(root - apart, 0) ** 2 - lost, 0)
        most = beta2 * (root + apart) ** 2 + lost
        first, last = gradient - shift, gradient + shift
        # where the derivative is zero: k (c + epsilon sqrt(c + b x^2)) = a b x
        slope = a * a * b - (k * epsilon) ** 2
        turns = (a > 0) & (slope > 0)
        under = np.where(turns, b * least * (slope + k * k * least), 0)
        top = k * (a * b * least + epsilon * np.sqrt(under)) / (b * np.where(turns, slope, 1))
        places = first, last, np.clip(np.where(turns, top, last), first, last)
        values = []
        for x in places:
            line = a + k * x
            values.append(line / (np.sqrt(np.where(line > 0, least, most) + b * x * x) + epsilon))
        return np.maximum(np.maximum(values[0], values[1]), values[2])


class _AdadeltaRange:
    """The steps, in learning rates, that Adadelta can make of gradients within their shifts."""

    def __init__(self, optimizer):
        self._o = optimizer
        self._squares = self._shift_squares = 0.0  # means before this step
        self._least = self._most = 0.0  # of the squares of its own steps

    def steps(self, number, gradient, shift, steps, lost):
        """(the lowest, the highest) of this step.

        Of rounding alone, steps are as long as those of a steady one, times `longest`.
        """
        rho, longest = self._o["rho"], longest_step(self._o, number)
        exact, above, below = steps
        # 1 - rho, by which the gradient's square counts, is known as well as float32 has rho
        shift = shift + _UNIT / (1 - rho) * np.abs(gradient)
        limit = longest * np.maximum(np.abs(exact), np.maximum(np.abs(above), np.abs(below)))
        high = np.minimum(self._highest(gradient + shift), limit)
        low = np.maximum(-self._highest(shift - gradient), -limit)
        apart = longest * (np.abs(above - exact) + np.abs(below - exact)) / 2
        high, low = np.where(lost, exact + apart, high), np.where(lost, exact - apart, low)
        self._squares = rho * self._squares + (1 - rho) * gradient**2
        self._shift_squares = rho * self._shift_squares + (1 - rho) * shift**2
        longer, shorter = np.maximum(np.abs(low), np.abs(high)), np.maximum(low, -high)
        self._most = rho * self._most + (1 - rho) * longer**2
        self._least = rho * self._least + (1 - rho) * np.maximum(shorter, 0) ** 2
        return low, high

    def _highest(self, x):
        """The largest step of all gradients up to x: it grows with x."""
        rho, epsilon = self._o["rho"], self._o["epsilon"]
        root, apart = np.sqrt(self._squares), np.sqrt(self._shift_squares)
        seen = np.where(x > 0, np.maximum(root - apart, 0), root + apart)
        stepped = np.where(x > 0, self._most, self._least)
        return x * np.sqrt((stepped + epsilon) / (rho * seen**2 + (1 - rho) * x * x + epsilon))


_RANGES = {"adam": _AdamRange, "adadelta": _AdadeltaRange}


def longest_step(optimizer, number):
    """How many times as long as a steady gradient's step number so and so of any gradient can be.

    A gradient that is rounding alone jumps, and Adam and Adadelta divide it by what their moments
    have seen up to now. The bounds are Cauchy's inequality for Adam's two moments, whose steady
    step is one learning rate, and for Adadelta that its moment holds the present gradient, too.
    """
    if optimizer["name"] == "sgd":
        return 1.0
    if optimizer["name"] == "adadelta":
        rho = optimizer["rho"]
        return np.sqrt((1 - rho**number) / (1 - rho))
    first, second, seen = optimizer["beta1"], optimizer["beta2"], 1.0
    if first:  # of a beta2 that keeps next to nothing there is soon no bound
        with np.errstate(over="ignore", divide="ignore"):
            seen = (np.divide(first * first, second) ** np.arange(number)).sum()
    steady = (1 - first**number) / np.sqrt(1 - second**number)
    return (1 - first) / np.sqrt(1 - second) * np.sqrt(seen) / steady


def _shifted(gradients, shifts, side):
    if not side:
        return gradients
    return {
        node: {name: value + side * shifts[node, name] for name, value in values.items()}
        for node, values in gradients.items()
    }
