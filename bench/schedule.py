"""Learning rates that change while a model is trained: one formula for every framework.

The rate of a step is computed here and handed to the model (`Model.set_rate`); no framework's own
schedule is used, because these disagree on when an epoch ends and whether steps count from 0 or 1.
"""

import math

LEAST, MOST = 1e-20, 1e9
"""No rate is below or above: float32 has neither 0 nor infinity for it, so that what is scaled by
its change has a scale."""


def rate(recipe, step, steps_an_epoch, steps):
    """The learning rate of this step, counted from 0, of a training that is planned as `steps`."""
    schedule, base = recipe["schedule"], recipe["optimizer"]["lr"]
    warmup = schedule["warmup"]
    if step < warmup:
        factor = (step + 1) / float(warmup)
    else:
        factor = _SHAPES[schedule["name"]](schedule, step, steps_an_epoch, steps)
    return min(max(base * factor, LEAST), MOST)


def _constant(schedule, step, steps_an_epoch, steps):
    return 1.0


def _step(schedule, step, steps_an_epoch, steps):
    try:
        return schedule["factor"] ** (step // steps_an_epoch // schedule["every"])
    except OverflowError:
        return math.inf


def _cosine(schedule, step, steps_an_epoch, steps):
    warmup = schedule["warmup"]
    done = min(1.0, (step - warmup) / float(max(1, steps - warmup)))
    return schedule["least"] + (1 - schedule["least"]) * 0.5 * (1 + math.cos(math.pi * done))


def _inverse(schedule, step, steps_an_epoch, steps):
    return 1.0 / (1 + schedule["decay"] * step)


_SHAPES = {"constant": _constant, "step": _step, "cosine": _cosine, "inverse": _inverse}
