"""One file of weights, saved by any release, gives the same predictions in every other one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.adapters.numpy import Reference
from bench.proof import drawn
from bench.weights import count
from dlbench.environments import releases
from dlbench.planning import recipes
from dlbench.planning.graph import Graph
from tests.orchestrator.running.test_named_releases import environment_of

CHECKOUT = Path(__file__).resolve().parents[2]
QUICK = ("numpy@2.4.6", "pytorch@2.13.0")
EVERY = (
    "numpy@2.4.6", "pytorch@2.13.0", "tensorflow@1.11.0", "tensorflow@2.21.0", "keras@2.2.4",
    "keras@3.15.1-tensorflow", "mxnet@1.9.1", "theano@1.0.5", "chainer@7.8.1", "jax@0.12.0.1",
    "paddlepaddle@3.3.1",
)  # fmt: skip
"""One release of each adapter."""
ROWS = 12
BIG = ("turned", "norm", "constant", "convolution", "table", "steps", "memory", "fixed")


def graph_with_every_parameter() -> dict[str, Any]:
    """Every op that has parameters, with a bias and without, constants among them. None is so
    small that a save without it would go unnoticed."""
    g = Graph("parameters")
    row = g.batchnorm(g.affine(g.input("row", (2000,)), name="turned"), name="norm")
    x = g.conv2d(g.input("image", (6, 5, 12)), 48, 3, frozen=True, bias=False, name="constant")
    x = g.relu(g.batchnorm(g.conv2d(x, 12, 3, padding="same", name="convolution")))
    table = g.embedding(g.input("words", (4,), "int32"), 140, 40, name="table")
    y = g.lstm(g.dense(table, 40, name="steps"), 24, name="memory")
    fixed = g.dense(row, 3, bias=False, frozen=True, name="fixed")
    g.outputs(g.dense(g.concat(g.flatten(x), y, fixed), 3, name="logits"))
    return g.to_json()


def recipe_with_state() -> dict[str, Any]:
    return recipes.recipe(
        batch=ROWS,
        epochs=1,
        optimizer=recipes.adam(0.01),
        losses=[recipes.loss("softmax-cross-entropy", "logits", "label")],
        metrics=[recipes.metric("accuracy", "logits", "label")],
    )


def prepare(folder: Path, names: Sequence[str], setting: str = "matched") -> dict[str, Any]:
    random = np.random.RandomState(3)

    def batches_of(batches: int) -> dict[str, np.ndarray]:
        return {
            "row": random.normal(size=(batches, ROWS, 2000)).astype(np.float32),
            "image": random.normal(size=(batches, ROWS, 6, 5, 12)).astype(np.float32),
            "words": random.randint(0, 140, (batches, ROWS, 4)).astype(np.int32),
            "label": random.randint(0, 3, (batches, ROWS)).astype(np.int32),
        }

    np.savez(folder / "train.npz", **batches_of(3))
    np.savez(folder / "test.npz", **batches_of(1))
    spec = {
        "graph": graph_with_every_parameter(),
        "recipe": recipe_with_state(),
        "setting": setting,
        "releases": {name: {"adapter": releases.find(name).adapter} for name in names},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return spec


@contextmanager
def worker(folder: Path, name: str) -> Iterator[Callable[[], None]]:
    """A release that has saved its weights, and waits: the function makes it load all files."""
    release = releases.find(name)
    cache = release.cache_folder("cpu", "process")
    kept = {} if cache is None else {"BENCH_CACHE": str(cache)}
    log = folder / f"{name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [environment_of(name), CHECKOUT / "tests/bench/portable_worker.py", folder, name],
            env={
                "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(CHECKOUT),
                "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                "CUDA_VISIBLE_DEVICES": "", **kept, **release.variables,
            },
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip

    def wait_for(word: str) -> None:
        lines = iter(process.stdout.readline, "")
        assert any(line.strip() == word for line in lines), f"{name}: {log.read_text()[-3000:]}"

    def load() -> None:
        process.stdin.write("load\n")
        process.stdin.flush()
        wait_for("loaded")

    try:
        wait_for("saved")
        yield load
    finally:
        process.kill()
        process.communicate()


def weights_in(path: Path) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=False) as arrays:
        for name in arrays.files:
            node, parameter = name.split("/")
            found.setdefault(node, {})[parameter] = arrays[name]
    return found


def wanted_of(spec: dict[str, Any], folder: Path, saver: str) -> np.ndarray:
    """What the reference predicts in float64 with the weights that `saver` saved."""
    weights = weights_in(folder / "saved" / saver / "weights.npz")
    model = Reference(spec["graph"], spec["recipe"], 1, np.float64, weights)
    with np.load(folder / "test.npz") as arrays:
        batch = {name: arrays[name][0] for name in arrays.files}
    return np.asarray(model.predict(batch)["logits"])


def check_all_pairs(folder: Path, names: Sequence[str]) -> None:
    spec = prepare(folder, names)
    with ExitStack() as stack:
        # one after the other: each has loaded its framework once, and saves and loads with it
        loaders = [stack.enter_context(worker(folder, name)) for name in names]
        for load in loaders:
            load()
    start = drawn.weights(spec["graph"], 1)
    shapes = {n: {k: v.shape for k, v in p.items()} for n, p in start.items()}
    wrong = []
    for saver in names:
        weights = weights_in(folder / "saved" / saver / "weights.npz")
        assert {n: {k: v.shape for k, v in p.items()} for n, p in weights.items()} == shapes
        assert not np.array_equal(weights["norm"]["mean"], start["norm"]["mean"])
        assert not np.array_equal(weights["logits"]["kernel"], start["logits"]["kernel"])
        for node in ("constant", "turned", "fixed"):
            for parameter, value in weights[node].items():
                assert np.array_equal(value, start[node][parameter]), (saver, node)
        wanted = wanted_of(spec, folder, saver)
        assert np.ptp(wanted) > 0.1
        for loader in names:
            with np.load(folder / "found" / f"{loader}.npz") as arrays:
                error = np.abs(arrays[f"{saver}/logits"] - wanted).max() / np.abs(wanted).max()
            if error > 1e-5:
                wrong.append((saver, loader, error))
    assert not wrong


def check_sizes(folder: Path, name: str) -> None:
    """The native save holds all parameters, and apart from them Adam's two numbers for each."""
    graph = graph_with_every_parameter()
    weights = drawn.weights(graph, 1)
    every = 4 * sum(value.size for values in weights.values() for value in values.values())
    least = 4 * min(
        sum(weights[node["name"]][name].size for name in node["parameters"])
        for node in graph["nodes"] if node["name"] in BIG
    )  # fmt: skip
    sizes = json.loads((folder / "saved" / name / "sizes.json").read_text())
    # Chainer and JAX pack what they save; random numbers can't be made much smaller
    packed = 0.93 if name.startswith(("jax", "chainer")) else 1.0
    assert every - 0.9 * least < sizes["model_bytes"] / packed < 1.4 * every, (name, sizes, every)
    state = sizes["model_with_optimizer_bytes"] - sizes["model_bytes"]
    assert 8 * packed <= state / count(graph) < 12, (name, sizes, count(graph))
    with np.load(folder / "saved" / name / "own.npz") as arrays:
        wanted = wanted_of({"graph": graph, "recipe": recipe_with_state()}, folder, name)
        np.testing.assert_allclose(arrays["logits"], wanted, rtol=1e-3, atol=1e-5)


def test_a_file_means_the_same_in_two_frameworks(tmp_path: Path) -> None:
    check_all_pairs(tmp_path, QUICK)
    for name in QUICK:
        check_sizes(tmp_path, name)


@pytest.mark.slow
def test_a_file_means_the_same_in_every_adapter(tmp_path: Path) -> None:
    check_all_pairs(tmp_path, EVERY)
    for name in EVERY:
        check_sizes(tmp_path, name)


@pytest.mark.parametrize(
    "name",
    [
        "pytorch@2.13.0",
        *(pytest.param(name, marks=pytest.mark.slow)
          for name in ("mxnet@1.9.1", "chainer@7.8.1", "paddlepaddle@3.3.1")),
    ],
)  # fmt: skip
def test_under_native_the_file_has_both_biases_of_an_lstm(name: str, tmp_path: Path) -> None:
    spec = prepare(tmp_path, [name], "native")
    with worker(tmp_path, name) as load:
        load()  # and a model that was loaded with it has no other
    wanted = wanted_of(spec, tmp_path, name)
    with np.load(tmp_path / "saved" / name / "own.npz") as arrays:
        np.testing.assert_allclose(arrays["logits"], wanted, rtol=1e-3, atol=1e-4)
    with np.load(tmp_path / "found" / f"{name}.npz") as arrays:
        np.testing.assert_allclose(arrays[f"{name}/logits"], wanted, rtol=1e-3, atol=1e-4)


def test_one_release_of_each_adapter_is_tried() -> None:
    shipped = {release.adapter for release in releases.load_releases()}
    assert {releases.find(name).adapter for name in EVERY} == shipped
