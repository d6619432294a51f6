"""Runs inside a release's environment (Python 3.6 and newer): regions that a test has chosen.

python fused_worker.py FOLDER

FOLDER/spec.json has the graph, the recipe, and whose variant it is; FOLDER/regions.npz the regions
of each case. What comes out is one line of JSON: the model's `path`, and how far values and
gradients of each case are from the reference in float64, with what they are measured by.
"""

import importlib
import json
import os
import sys

import numpy as np

from bench import host
from bench.adapters.base import Options
from bench.detection.boxes import usable
from bench.detection.proposals import output_shapes
from bench.detection.regions import roi_align_matrices
from bench.ops import host_nodes
from bench.proof import drawn
from bench.reference.model import Reference

AGAIN = 60
"""Times that gradients are computed anew, on several threads; the worst one counts."""


def chosen(rois):
    """A function in the place of `propose` that makes just these regions, all of them objects."""

    def propose(scores, deltas, boxes, classes, size, seed, spec, training):
        rows, columns = np.shape(scores)[1:3]
        shapes = output_shapes(rows, columns, spec, training)
        made = {name: np.zeros(shape, kind) for name, (shape, kind) in shapes.items()}
        real = usable(rois)
        made["rois"][:] = rois
        made["wy"][real], made["wx"][real] = roi_align_matrices(
            rois[real], rows, columns, spec["stride"], spec["pool"], spec["samples"]
        )
        made["deltas"][:] = np.random.RandomState(5).normal(size=made["deltas"].shape)
        made["delta_weights"][:] = 1
        return made

    return propose


def compared(model, spec, batch, weights):
    """How far the regions' images and the image's own gradient are from the reference."""
    reference = Reference(spec["graph"], spec["recipe"], 1, np.float64, weights)
    ours = [m.activations(batch, training=True)["roialign1"] for m in (reference, model)]
    slopes = [m.gradients(batch)[1]["image"]["table"] for m in (reference, model)]
    for _ in range(AGAIN):  # threads that write to one place do no harm most of the time
        again = model.gradients(batch)[1]["image"]["table"]
        if np.abs(again - slopes[0]).max() > np.abs(slopes[1] - slopes[0]).max():
            slopes[1] = again
    return {
        "value": float(np.abs(ours[0] - ours[1]).max()),
        "largest value": float(np.abs(ours[0]).max()),
        "gradient": float(np.abs(slopes[0] - slopes[1]).max()),
        "largest gradient": float(np.abs(slopes[0]).max()),
    }


if __name__ == "__main__":
    folder = sys.argv[1]
    with open(os.path.join(folder, "spec.json")) as file:
        given = json.load(file)
    adapter = importlib.import_module("bench.adapters." + given["adapter"])
    options = Options(1, given["variant"], given["threads"], "cpu", "matched")
    adapter.set_up(options)
    built = adapter.build(given["graph"], given["recipe"], options)
    start = drawn.weights(given["graph"], 1)
    built.load(start)
    (node,) = host_nodes(given["graph"])
    height, width, _ = next(n["shape"] for n in given["graph"]["nodes"] if n["name"] == "image")
    read = {
        "board": np.arange(height * width, dtype=np.int32).reshape(1, height, width),
        "boxes": np.zeros((1, 2, 4), np.float32),
        "classes": np.zeros((1, 2), np.int32),
        "size": np.float32([[height * node["stride"], width * node["stride"]]]),
        "seed": np.zeros(1, np.int32),
        "wanted": np.zeros((1, height, width, 1), np.float32),
        "wanted_deltas": np.zeros((1, height, width, 4), np.float32),
    }
    found = {}
    with np.load(os.path.join(folder, "regions.npz")) as cases:
        for name in cases.files:
            host.propose = chosen(cases[name])
            found[name] = compared(built, given, read, start)
    image = start["image"]["table"].reshape(height, width, -1)
    steps = [np.abs(np.diff(image, axis=axis)).max() for axis in (0, 1)]
    print(json.dumps({"path": built.path.get("fused"), "cases": found, "step": float(max(steps))}))
