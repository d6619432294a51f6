"""How long the parts of a training step take: forward, and forward with backward.

A step is one call in most frameworks, and its inside can't be timed. So the same batches are run
again after training: the loss alone, then the loss and its gradients, which stay in the framework.
No weight is changed. Batches are ready before the clock starts; the host node is inside of both.
"""

import time

from bench.formats import Unsupported
from bench.ops import host_nodes

clock = time.monotonic
BATCHES = 5
TIMES, FEWEST_TIMES = 20, 3
SECONDS = 5.0
"""After which nothing more is begun, once there are the fewest."""


def wanted(job):
    """Of models that are in parts, which is where a host node is."""
    return bool(host_nodes(job["graph"]))


def measure(job, model, split):
    """{"forward_ms", "backward_ms"}: lists of times, in pairs; empty: the adapter can't tell.

    `backward_ms` is forward and backward together.
    """
    number = min(BATCHES, split.rows)
    batches = [split.for_training(split.batch([row]), job["seed"], 0, row) for row in range(number)]
    calls = (model.run_forward, model.run_backward)
    found = ([], [])
    try:
        for batch in batches:  # untimed: each size of image may be compiled
            for call in calls:
                call(batch)
    except Unsupported:
        return {}
    end = clock() + SECONDS
    for k in range(TIMES):
        if k >= FEWEST_TIMES and clock() >= end:
            break
        for call, times in zip(calls, found):
            start = clock()
            call(batches[k % number])
            times.append(round((clock() - start) * 1000, 4))
    return dict(zip(("forward_ms", "backward_ms"), found))
