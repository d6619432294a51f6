"""The variant `fused`: a framework's own RoI align, held against dlbench's on regions by choice."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.adapters import fused
from bench.adapters.base import Options
from bench.ops import nodes_for, values_of
from dlbench.environments import releases
from dlbench.planning import recipes
from dlbench.planning.detectors import detector
from dlbench.planning.graph import Graph
from dlbench.workloads import find, workloads
from tests.orchestrator.running.test_named_releases import environment_of

CHECKOUT = Path(__file__).resolve().parents[2]
DETECTOR = find("voc2012-faster-rcnn").proof_graph
STRIDE, ROWS, HEIGHT, WIDTH = 16, 40, 10, 14
THREADS = 4
OFFERED = [
    release.name for release in releases.load_releases() if "fused" in release.variants
]  # fmt: skip
ALWAYS = ("mxnet@1.9.1",)


def graph_of_a_table() -> dict[str, Any]:
    """An image whose every pixel is a parameter: its gradient is that of RoI align."""
    g = Graph("regions")
    board = g.input("board", (HEIGHT, WIDTH), "int32")
    truth = (
        g.input("boxes", (2, 4)), g.input("classes", (2,), "int32"), g.input("size", (2,)),
        g.input("seed", (), "int32"),
    )  # fmt: skip
    image = g.embedding(board, HEIGHT * WIDTH, 6, name="image")
    scores, deltas = g.conv2d(image, 1, 1, name="scores"), g.conv2d(image, 4, 1, name="deltas")
    numbers = detector(5, stride=STRIDE, scales=(16,), ratios=(1,), rois=ROWS)
    g.proposals(scores, deltas, *truth, detector=numbers, name="rois")
    regions = g.roialign(image, "rois:wy", "rois:wx", name="roialign1")
    moves = g.dense(g.flatten(regions), 20, frozen=True, name="moves")
    g.outputs(moves, scores, deltas)
    return g.to_json()


def recipe_of_regions() -> dict[str, Any]:
    return recipes.recipe(
        batch=1, epochs=1, optimizer=recipes.adam(0.01),
        losses=[
            recipes.loss("mean-squared-error", "scores", "wanted", weight=1e-6),
            recipes.loss("mean-squared-error", "deltas", "wanted_deltas", weight=1e-6),
            recipes.loss("mean-squared-error", "moves", "rois:deltas", mask="rois:delta_weights"),
        ],
        metrics=[recipes.metric("mean-squared-error", "scores", "wanted")],
    )  # fmt: skip


def regions() -> dict[str, np.ndarray]:
    """Where operators differ: at the border and beyond it, below a cell, in rows of padding."""
    random = np.random.RandomState(3)
    whole = np.array([HEIGHT, WIDTH]) * STRIDE
    corners = random.uniform(size=(2, ROWS, 2)) * whole
    inside = np.concatenate([corners.min(axis=0), corners.max(axis=0)], axis=1)
    border = inside.copy()
    for edge in range(4):
        border[edge::8, edge] = 0 if edge < 2 else whole[edge - 2]
    border[4] = [0, 0, *whole]
    beyond = inside + np.tile(random.uniform(-4, 4, (ROWS, 2)) * STRIDE, 2)
    beyond[:8] = [-2 * STRIDE, -3 * STRIDE, *(whole + 3 * STRIDE)]
    beyond[8:12] += np.tile(whole * 2, 2)  # nothing of it is left
    start = random.uniform(size=(ROWS, 2)) * (whole - 1)
    below = np.concatenate([start, start + random.uniform(0.01, STRIDE, (ROWS, 2))], axis=1)
    pixels = np.floor(start)
    pixels[:4] = [[0, 0], [0, whole[1] - 1], [whole[0] - 1, 0], whole - 1]
    cases = {
        "inside": inside, "border": border, "beyond": beyond, "below a cell": below,
        "a pixel": np.concatenate([pixels, pixels + 1], axis=1),
        "half of them padding": np.where(np.arange(ROWS)[:, None] % 2, border, 0),
        "padding": np.zeros((ROWS, 4)),
    }  # fmt: skip
    return {name: boxes.astype(np.float32) for name, boxes in cases.items()}


def found_by(name: str, variant: str, folder: Path) -> dict[str, Any]:
    """What the release makes of these regions, held against the reference."""
    spec = {
        "graph": graph_of_a_table(), "recipe": recipe_of_regions(),
        "adapter": releases.find(name).adapter, "variant": variant, "threads": THREADS,
    }  # fmt: skip
    (folder / "spec.json").write_text(json.dumps(spec))
    np.savez(folder / "regions.npz", **regions())
    ended = subprocess.run(
        [environment_of(name), CHECKOUT / "tests/bench/fused_worker.py", folder],
        env={
            "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(CHECKOUT), "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": str(THREADS),
            "CUDA_VISIBLE_DEVICES": "", **releases.find(name).variables,
        },
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    return dict(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.slow) for name in OFFERED],
)
def test_the_operator_is_equal_to_float32_rounding(name: str, tmp_path: Path) -> None:
    found = found_by(name, "fused", tmp_path)
    (said,) = found["path"]
    assert said.startswith("RoI align: ")
    assert list(found["cases"]) == list(regions())
    # operators keep a sample's place in float32: it is off by a share of the map's longer side
    place = WIDTH * 2.0**-23
    for case, far in found["cases"].items():
        assert far["value"] <= place * found["step"], (case, far)
        assert far["gradient"] <= 4 * place * max(far["largest gradient"], 1e-5), (case, far)
        assert (far["largest value"] > 0) == (case != "padding")


def test_it_is_offered_where_an_operator_was_found_equal() -> None:
    # those of MXNet 1.3, Chainer, Paddle and TensorFlow 2 are not: docs/detector.md
    assert OFFERED == ["mxnet@1.9.1", "tensorflow@1.11.0"]


def test_its_nodes_read_the_regions_themselves() -> None:
    given = fused.with_regions(DETECTOR)
    (node,) = [each for each in given["nodes"] if each["op"] == "roialign"]
    (before,) = [each for each in DETECTOR["nodes"] if each["op"] == "roialign"]
    assert node["inputs"] == [before["inputs"][0], "rois"]
    assert (node["regions"]["stride"], node["regions"]["samples"]) == (16, 2)
    assert values_of(given) == values_of(DETECTOR)
    names = [[n["name"] for n in nodes_for(g, ["scores"])] for g in (given, DETECTOR)]
    assert names[0] == names[1]


def test_a_graph_without_regions_stays_as_it_is() -> None:
    for name, workload in workloads().items():
        assert (fused.with_regions(workload.graph) == workload.graph) == ("rcnn" not in name)


class Model:
    def __init__(self, graph: dict[str, Any], recipe: dict[str, Any], options: Any) -> None:
        self.path = {"loop": options.variant}


@pytest.mark.parametrize(("name", "said"), [("voc2012-faster-rcnn", ["RoI align: theirs"]),
                                            ("digits-cnn", [])])  # fmt: skip
def test_a_trial_s_path_says_what_was_fused(name: str, said: list[str]) -> None:
    workload, options = find(name), Options(1, "fused", 1, "cpu", "matched")
    model = fused.built(Model, "usual", "theirs", workload.graph, workload.recipe, options)
    assert model.path == {"loop": "usual", "fused": said}
