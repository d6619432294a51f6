"""Runs inside an environment: blocks of dlbench's loop and of the handwritten one, in turn.

    python -m handwritten.against JOB DATA BLOCKS STEPS

Prints one JSON object: every steady step time of both, in milliseconds.
"""

import importlib
import json
import sys
import time

import numpy as np

from bench import data, formats, trial
from handwritten import SAME

_BATCHES = 8


class Collected:
    """Takes the place of the events file: keeps step times, writes nothing."""

    def __init__(self):
        self.steps_ms = []

    def write(self, event, **fields):
        if event == "epoch":
            self.steps_ms += fields["steps_ms"]

    def phase(self, name, sync=None):
        return _NoPhase()


class _NoPhase:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def main(job_file, folder, blocks, steps):
    job = formats.read_job(job_file)
    adapter = importlib.import_module("bench.adapters." + job["adapter"])
    handwritten = importlib.import_module("handwritten." + SAME.get(job["adapter"], job["adapter"]))
    options = trial.options_of(job)
    adapter.set_up(options)
    splits = data.load(folder, job["data"], job["graph"], job["recipe"])
    model = adapter.build(job["graph"], job["recipe"], options)
    size = job["recipe"]["batch"]
    batches = [splits["train"].batch(slice(k * size, (k + 1) * size)) for k in range(_BATCHES)]
    run = handwritten.make([b["image"] for b in batches], [b["label"] for b in batches])
    # a test split of one batch: evaluation is not what is compared
    splits["test"] = data.Split({k: v[:8] for k, v in batches[0].items()})
    times = {"dlbench": [], "handwritten": []}
    for block in range(blocks + 1):
        collected = Collected()
        job["budget"] = {"epochs": 1, "steps": steps}
        trial.Training(job, model, splits, collected).run()
        mine = _timed(run, steps)
        if block:  # the first block warms both up
            times["dlbench"] += collected.steps_ms
            times["handwritten"] += mine
    print(json.dumps(times))


def _timed(run, steps):
    """Milliseconds of each step by hand."""
    marks = [time.monotonic()]
    run([k % _BATCHES for k in range(steps)], lambda: marks.append(time.monotonic()))
    return (1000 * np.diff(marks)).tolist()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
