"""The check of `sync`: a time is only worth something if the work is done when the clock stops."""

import time

from bench.proof.compare import Mismatch

_STEPS = 10
_TRIES = 4
"""Times that so many steps are taken, while it seems late: a busy machine seems so by chance."""
_LATE = 0.25
"""A share of the step: what is left to wait for after a real `sync` is next to nothing."""
_READING = 2e-4
"""Seconds that reading something for the first time may take by itself."""
_clock = time.perf_counter


def sync(sides):
    """After `sync` neither the loss nor the new weights have to be waited for.

    The quickest of some steps is judged, so that a busy machine can't fail a release. Reading the
    weights a second time tells what the reading alone costs.
    """
    model, batch = sides.at_start(), sides.batch()
    model.losses([model.train_step(batch)])  # whatever the first one compiles
    times = []
    for _ in range(_TRIES):
        times += [_step(model, batch) for _ in range(_STEPS)]
        asked, waited, loss, first, again = (min(column) for column in zip(*times))
        late = max(0.0, max(loss, first - again) - _READING) / max(asked + waited, loss)
        if late <= _LATE:
            break
    said = (
        "{:.3g} ms without sync, {:.3g} ms with it; after it {:.3g} ms to read the loss, "
        "{:.3g} ms to read the weights, {:.3g} ms to read them again"
    ).format(*(1e3 * time for time in (asked, asked + waited, loss, first, again)))
    if late > _LATE:
        raise Mismatch("sync returns before the step is done: " + said, late, _LATE)
    return {"error": late, "tolerance": _LATE, "detail": said}


def _step(model, batch):
    """Seconds to ask for a step, to wait for it, to read its loss, its weights, and those again."""
    marks = [_clock()]
    handle = model.train_step(batch)
    marks.append(_clock())
    model.sync()
    marks.append(_clock())
    model.losses([handle])
    marks.append(_clock())
    model.weights()
    marks.append(_clock())
    model.weights()
    marks.append(_clock())
    return [end - start for start, end in zip(marks, marks[1:])]
