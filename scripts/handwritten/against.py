"""Runs inside an environment: blocks of dlbench's loop and of the handwritten one, in turn.

    python -m handwritten.against JOB KIND BLOCKS STEPS CLOCK

Prints one JSON object: every steady step time of both, in milliseconds of the clock: `wall`, or
`cpu`, the processor time of the process, which other programs on a busy machine change least. A
detector's parameters and first losses are there, too: of both in turn.
"""

import json
import sys
import time

if __name__ == "__main__" and sys.argv[5] == "cpu":
    time.monotonic = time.process_time  # before anybody has taken hold of it

import importlib

import numpy as np

from bench import data, formats, trial, weights
from bench.detector_data import DIFFICULT, DetectorSplit
from bench.ops import host_nodes, shapes_of, sizes_of
from handwritten import SAME

_BATCHES = 8


class Collected:
    """Takes the place of the events file: keeps step times and first losses, writes nothing."""

    def __init__(self):
        self.steps_ms, self.losses = [], []

    def write(self, event, **fields):
        if event == "epoch":
            self.steps_ms += fields["steps_ms"]
            self.losses += fields["first_losses"]

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
    options = trial.options_of(job)
    adapter.set_up(options)
    train = split(job["graph"], job["recipe"])
    model = adapter.build(job["graph"], job["recipe"], options)
    first = weights.initial_weights(job["graph"], job["seed"])
    model.load(first)
    found = {"dlbench": [], "handwritten": []}
    name = SAME.get(job["adapter"], job["adapter"])
    if kind == "detector":
        module = importlib.import_module("handwritten.{}_detector".format(name))
        run, losses, parameters = module.make(first)
        found["parameters"] = [weights.count(job["graph"]), parameters]
    else:
        run, losses = importlib.import_module("handwritten." + name).make(kind), None
    # a test split of a few rows: evaluation is not what is compared
    splits = {"train": train, "test": train.part(slice(0, 8))}
    for block in range(blocks + 1):
        collected = Collected()
        job["budget"] = {"epochs": 1 + steps // _BATCHES, "steps": steps}
        trial.Training(job, model, splits, collected).run()
        mine = run(batches(job, train, steps))
        if block:  # the first block warms both up
            found["dlbench"] += collected.steps_ms
            found["handwritten"] += [1000 * seconds for seconds in mine]
        elif losses is not None:
            found["losses"] = [[a, float(b)] for a, b in zip(collected.losses, losses)]
    print(json.dumps(found))


def batches(job, train, steps):
    """The rows of `bench.trial`'s batches, in the same order."""
    size, seed = job["recipe"]["batch"], job["seed"]
    for step in range(steps):
        epoch, first = 1 + step // _BATCHES, step % _BATCHES * size
        rows = data.epoch_order(seed, epoch, train.rows, job["recipe"]["shuffle"])[
            first : first + size
        ]
        yield train.for_training(train.batch(rows), seed, epoch, first)


def split(graph, recipe):
    """Made-up rows for some batches."""
    rows = _BATCHES * recipe["batch"]
    if host_nodes(graph):
        return DetectorSplit(scenes(graph, rows), {"image": 255}, graph)
    return data.Split(drawn(graph, recipe, rows))


def scenes(graph, rows):
    """So many images of noise, of several sizes, with one to four boxes each."""
    random, longest = np.random.RandomState(0), max(max(size) for size in sizes_of(graph))
    size = random.randint(3 * longest // 4, longest + 1, (rows, 2))
    classes = random.randint(1, host_nodes(graph)[0]["classes"] + 1, (rows, 4))
    corners = random.uniform(0, 0.5, (rows, 4, 2)) * size[:, None]
    sides = random.uniform(0.2, 0.5, (rows, 4, 2)) * size[:, None]
    return {
        "image": random.randint(0, 256, (rows, longest, longest, 3)).astype(np.uint8),
        "size": size.astype(np.int32),
        "boxes": np.concatenate([corners, corners + sides], axis=-1).astype(np.float32),
        "classes": classes * (np.arange(4) < random.randint(1, 5, (rows, 1))),
        DIFFICULT: np.zeros((rows, 4), np.uint8),
    }


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
