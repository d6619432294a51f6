"""Runs inside a release's environment (Python 3.6 and newer): train and save, or load and predict.

python portable_worker.py FOLDER NAME

A few steps: saved/NAME/weights.npz and sizes.json. Then, when a line comes in, predictions of every
file that any release has saved: found/NAME.npz. It answers each with a line.
"""

import hashlib
import importlib
import json
import os
import sys

import numpy as np


def model_of(spec, adapter, setting):
    from bench.adapters.base import Options

    options = Options(1, adapter.VARIANTS[0], 1, "cpu", setting)
    adapter.set_up(options)
    return adapter.build(spec["graph"], spec["recipe"], options)


def save(folder, name, spec, model, setting):
    from bench import trial
    from bench.proof import drawn

    if setting == "matched":
        model.load(drawn.weights(spec["graph"], 1))
    for batch in batches(folder, "train"):
        model.train_step(batch)
    out = os.path.join(folder, "saved", name)
    os.makedirs(out)
    sizes = trial._save(model, out, None)
    native = os.path.join(out, "native")
    sizes["files"] = sorted(os.listdir(native))
    with open(os.path.join(out, "sizes.json"), "w") as file:
        json.dump(sizes, file)
    np.savez(os.path.join(out, "own.npz"), **model.predict(batches(folder, "test")[0]))


def load(folder, name, spec, model):
    from bench import weights_file

    found = {}
    for saver in sorted(os.listdir(os.path.join(folder, "saved"))):
        path = os.path.join(folder, "saved", saver, "weights.npz")
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        model.load(weights_file.read(path, digest, spec["graph"]))
        for output, value in model.predict(batches(folder, "test")[0]).items():
            found[saver + "/" + output] = value
    os.makedirs(os.path.join(folder, "found"), exist_ok=True)
    np.savez(os.path.join(folder, "found", name + ".npz"), **found)


def batches(folder, kind):
    with np.load(os.path.join(folder, kind + ".npz")) as arrays:
        every = {name: arrays[name] for name in arrays.files}
    count = len(next(iter(every.values())))
    return [{name: value[k] for name, value in every.items()} for k in range(count)]


if __name__ == "__main__":
    place, who = sys.argv[1:]
    with open(os.path.join(place, "spec.json")) as spec_file:
        content = json.load(spec_file)
    found_adapter = importlib.import_module("bench.adapters." + content["releases"][who]["adapter"])
    built = model_of(content, found_adapter, content["setting"])
    save(place, who, content, built, content["setting"])
    print("saved", flush=True)
    if sys.stdin.readline():
        load(place, who, content, built)
        print("loaded", flush=True)
