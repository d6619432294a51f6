"""Runs inside an environment: blocks of dlbench's loop and of the handwritten one, in turn.

    python -m handwritten.against JOB KIND BLOCKS STEPS CLOCK

Prints one JSON object: every steady step time of both, in milliseconds of the clock: `wall`, or
`cpu`, the processor time of the process, which other programs on a busy machine change least.
"""

import json
import sys
import time

if __name__ == "__main__" and sys.argv[5] == "cpu":
    time.monotonic = time.process_time  # before anybody has taken hold of it

import importlib

import numpy as np

from bench import data, formats, trial, weights
from bench.ops import shapes_of
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


def main(job_file, kind, blocks, steps):
    job = formats.read_job(job_file)
    adapter = importlib.import_module("bench.adapters." + job["adapter"])
    handwritten = importlib.import_module("handwritten." + SAME.get(job["adapter"], job["adapter"]))
    options = trial.options_of(job)
    adapter.set_up(options)
    size = job["recipe"]["batch"]
    train = data.Split(drawn(job["graph"], job["recipe"], _BATCHES * size))
    model = adapter.build(job["graph"], job["recipe"], options)
    model.load(weights.initial_weights(job["graph"], job["seed"]))
    run = handwritten.make(kind)
    # a test split of one batch: evaluation is not what is compared
    splits = {"train": train, "test": train.part(slice(0, 8))}
    times = {"dlbench": [], "handwritten": []}
    for block in range(blocks + 1):
        collected = Collected()
        job["budget"] = {"epochs": 1 + steps // _BATCHES, "steps": steps}
        trial.Training(job, model, splits, collected).run()
        rows = np.random.permutation(train.rows)
        parts = [rows[k * size :][:size] for k in range(_BATCHES)]
        mine = run(train.batch(parts[k % _BATCHES]) for k in range(steps))
        if block:  # the first block warms both up
            times["dlbench"] += collected.steps_ms
            times["handwritten"] += [1000 * seconds for seconds in mine]
    print(json.dumps(times))


def drawn(graph, recipe, rows):
    """So many rows of legal numbers for the graph's inputs and the recipe's targets."""
    random, arrays = np.random.RandomState(0), {}
    vocabulary = {n["inputs"][0]: n["vocabulary"] for n in graph["nodes"] if n["op"] == "embedding"}
    longest = {
        n["lengths"]: shapes_of(graph)[n["inputs"][0]][0]
        for n in graph["nodes"]
        if n.get("lengths")
    }
    for spec in graph["inputs"]:
        name, shape = spec["name"], [rows] + spec["shape"]
        if spec["dtype"] == "float32":
            arrays[name] = random.uniform(size=shape).astype(np.float32)
        elif name in longest:
            arrays[name] = random.randint(longest[name] // 2, longest[name] + 1, shape)
        else:
            arrays[name] = random.randint(1, vocabulary[name], shape)
    for tokens in set(vocabulary) & set(arrays):
        for lengths in longest:  # words behind the true length are 0, as in texts
            places = np.arange(arrays[tokens].shape[1])
            arrays[tokens] = arrays[tokens] * (places < arrays[lengths][:, None])
    (spec,) = recipe["losses"]
    if spec["name"] == "softmax-cross-entropy":
        arrays[spec["target"]] = random.randint(0, 10, rows)
    else:
        arrays[spec["target"]] = random.randint(0, 2, (rows, 1)).astype(np.float32)
    return arrays


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
