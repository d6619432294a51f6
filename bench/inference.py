"""How long predictions take: of a thousand rows in batches of the recipe's size, and of one row.

Batches are ready before the clock starts, nothing is computed of what comes back, and calls that
may compile are left out.
"""

import time

clock = time.monotonic
ROWS = 1000
PASSES, FEWEST_PASSES = 20, 3
PREDICTIONS, FEWEST_PREDICTIONS = 200, 5
SECONDS = 5.0
"""After which nothing more is begun, once there are the fewest."""
LEFT_OUT = 3
"""Calls in front of the timed ones."""


def passes(model, split, batch):
    """(times of passes in ms, rows of a pass): full batches, enough of them for ROWS if there are.

    A split of less than one batch is one batch.
    """
    size = min(batch, split.rows)
    number = min(-(-ROWS // size), split.rows // size)
    batches = [split.batch(slice(k * size, (k + 1) * size)) for k in range(number)]

    def once():
        for one in batches:
            model.predict(one)
        model.sync()

    for k in range(LEFT_OUT):
        model.predict(batches[k % number])
    model.sync()
    return _timed(once, PASSES, FEWEST_PASSES), number * size


def latencies(model, split):
    """Times of predictions of a single row in ms, of one test row after the other."""
    number = min(split.rows, PREDICTIONS)
    rows = [split.batch(slice(k, k + 1)) for k in range(number)]
    calls = [0]

    def once():
        model.predict(rows[calls[0] % number])
        model.sync()
        calls[0] += 1

    for _ in range(LEFT_OUT):
        once()
    return _timed(once, PREDICTIONS, FEWEST_PREDICTIONS)


def _timed(once, most, fewest):
    times, end = [], clock() + SECONDS
    while len(times) < most and (len(times) < fewest or clock() < end):
        start = clock()
        once()
        times.append(round((clock() - start) * 1000, 4))
    return times
