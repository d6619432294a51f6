"""Any legal graph is certified: by the reference here, by every adapter in the slow tests.

Hypothesis draws and shrinks for the reference; what it finds becomes a small named test below.
`scripts/prove_graphs.py` is the same for hundreds of graphs.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import data, trial, verify
from bench.adapters import numpy as adapter
from bench.formats import Diverged, Events, read_job
from bench.ops import OPS
from dlbench.environments import releases
from dlbench.planning import recipes
from dlbench.planning.plan import find_contender
from dlbench.running.workshop import open_workshop
from tests.bench.known_graphs import KNOWN
from tests.bench.proving import prove, write_graph, write_job
from tests.bench.random_graphs import Dice, drawn

SEED = 4000
GRAPHS = 12
CONTENDERS = (
    "keras@2.2.4", "tensorflow@1.11.0", "pytorch@1.0.0", "mxnet@1.3.0", "chainer@4.5.0",
    "theano@1.0.5", "tensorflow@2.21.0", "tensorflow@2.21.0:fit",
    "keras@3.15.1-tensorflow", "keras@3.15.1-torch", "keras@3.15.1-jax", "pytorch@2.13.0",
    "mxnet@1.9.1", "mxnet@1.9.1:imperative", "chainer@7.8.1", "paddlepaddle@3.3.1",
    "paddlepaddle@3.3.1:static", "jax@0.12.0.1", "jax@0.12.0.1:tuned", "pytorch@2.13.0:tuned",
    "tensorflow@2.21.0:tuned",
)  # fmt: skip
"""The study's releases of 2018 and the newest of each line; of Theano's two, minutes each, one."""
FEWER = {
    "theano@1.0.5": 1, "keras@2.2.4": 1, "keras@3.15.1-jax": 1,
    "jax@0.12.0.1": 2, "jax@0.12.0.1:tuned": 1, "tensorflow@2.21.0:tuned": 1,
    "pytorch@2.13.0:tuned": 6, "tensorflow@1.11.0": 3,
    "tensorflow@2.21.0": 3, "tensorflow@2.21.0:fit": 2,
    "keras@3.15.1-tensorflow": 2, "keras@3.15.1-torch": 4, "paddlepaddle@3.3.1:static": 4,
}  # fmt: skip
"""These compile each graph for long."""


class ThrownByHypothesis(Dice):
    def __init__(self, source: st.DataObject) -> None:
        self._source = source

    def integer(self, low: int, high: int) -> int:
        return self._source.draw(st.integers(low, high))


def failures(graph: dict[str, Any], recipe: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """The checks of NumPy's certificate that do not pass."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "job"
        write_graph(folder, graph, recipe, seed, adapter="numpy", variant="numpy")
        job = json.loads((folder / "job.json").read_text())
        splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
        checks = verify.checks(job, splits, adapter, str(folder))
        return [check for check in checks if not check["passed"]]


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
@given(st.data())
def test_the_reference_is_certified_on_any_graph(source: st.DataObject) -> None:
    graph, recipe = drawn(ThrownByHypothesis(source), ops=5)
    assert failures(graph, recipe, 1) == []


def test_what_is_drawn_trains_evaluates_saves_and_predicts(tmp_path: Path) -> None:
    """A trial from its first step to the look at its end: what is certified must run, too."""
    ends = Counter[str]()
    for seed in range(SEED, SEED + 40):
        folder = tmp_path / str(seed)
        write_job(folder, seed, adapter="numpy", variant="numpy", ops=6)
        changes = {"action": "train", "save": True, "inference": True}
        job = json.loads((folder / "job.json").read_text())
        (folder / "job.json").write_text(json.dumps({**job, **changes}))
        job = read_job(str(folder / "job.json"))
        try:
            trial.run(job, str(folder), str(folder), adapter, Events(str(folder / "events.jsonl")))
        except Diverged:
            ends["diverged"] += 1
            continue
        last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
        ends["looked at" if "rows" in last["audit"] else last["audit"]["reason"]] += 1
    assert ends["looked at"] >= 30, ends


def test_the_draw_has_every_op_loss_and_optimiser() -> None:
    pairs = [drawn(Dice(seed)) for seed in range(SEED, SEED + 60)]
    ops = {node["op"] for graph, _ in pairs for node in graph["nodes"]}
    assert ops == set(OPS) - {"proposals", "roialign"}  # tests/bench/proof/test_detector.py
    assert {loss["name"] for _, recipe in pairs for loss in recipe["losses"]} == set(recipes.LOSSES)
    assert {recipe["optimizer"]["name"] for _, recipe in pairs} == set(recipes.OPTIMIZERS)
    assert any(loss["mask"] for _, recipe in pairs for loss in recipe["losses"])
    assert any(":" in name for graph, _ in pairs for name in graph["outputs"])
    assert {recipe["batch"] for _, recipe in pairs} >= {1, 2, 16}
    assert any(loss["target"] in {spec["name"] for spec in graph["inputs"]}
               for graph, recipe in pairs for loss in recipe["losses"])  # fmt: skip
    assert any(loss["weight"] == 0 for _, recipe in pairs for loss in recipe["losses"])


ODD = (
    "steep_beside_flat", "large_from_the_start", "one_value_before_a_norm", "extreme_attributes",
    "images_of_several_sizes", "one_pixel", "one_class_one_word_one_step", "all_weights_zero",
    "small_dropout", "small_gradients_clipped", "weights_that_are_an_input",
)  # fmt: skip
"""Corners at which a right model was once called wrong, or a proof fell over."""


@pytest.mark.parametrize("name", ODD)
def test_the_reference_is_certified_at_an_odd_corner(name: str) -> None:
    assert failures(*KNOWN[name](), 1) == []


@pytest.mark.slow
def test_known_graphs_are_certified_in_pytorch(tmp_path: Path) -> None:
    release, variant = find_contender("pytorch@2.13.0")
    for name, make in KNOWN.items():
        write_graph(tmp_path / name, *make(), 1, adapter=release.adapter, variant=variant)
    python = open_workshop("process").environment(release, "cpu")
    results = list(prove(python, release, [tmp_path / name for name in KNOWN]))
    wrong = {Path(result["folder"]).name: result for result in results if result["outcome"] != "ok"}
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release_name", "graph"),
    [
        ("paddlepaddle@3.3.1", "large_logits"),  # whose own loss of a row ends at 64
        ("paddlepaddle@3.3.1", "images_of_several_sizes"),
        ("paddlepaddle@3.3.1", "maxima_beside_everything"),  # whose maximum damages memory
        ("mxnet@1.9.1", "one_pixel"),  # whose own logarithm is off by 4e-6
        ("mxnet@1.9.1", "images_of_several_sizes"),
        ("mxnet@1.3.0", "image_read_by_many"),  # whose transposing can't add up
        ("pytorch@1.0.0", "small_gradients_clipped"),
        ("mxnet@1.9.1", "coefficients_next_to_one"),  # whose betas are of two precisions
        ("mxnet@1.9.1", "narrow_concatenations"),  # whose gradient kills the process
        ("paddlepaddle@3.3.1", "arrays_with_two_uses"),
        ("tensorflow@2.21.0", "narrow_shortcuts"),  # whose kernel's gradient corrupts memory
        ("tensorflow@2.21.0", "sparse_windows_of_several_sizes"),
        ("tensorflow@2.21.0:fit", "maps_of_several_sizes"),
        ("tensorflow@2.21.0:fit", "sigmoid_of_a_sigmoid"),  # it takes the other one's logits
        ("tensorflow@2.21.0:fit", "softmaxes"),
        ("keras@3.15.1-torch", "sigmoid_of_a_sigmoid"),
        ("keras@3.15.1-torch", "one_filter_one_row"),  # whose layout has no gradient there
        ("tensorflow@1.11.0", "maxima_behind_activations"),  # which it leaves out
        ("keras@2.2.4", "maxima_behind_activations"),
        ("keras@2.2.4", "sparse_windows_of_several_sizes"),
        ("keras@2.2.4", "repeated_readers"),  # which refuses a concat of one
    ],
)
def test_what_an_adapter_had_wrong(release_name: str, graph: str, tmp_path: Path) -> None:
    release, variant = find_contender(release_name)
    folder = tmp_path / graph
    write_graph(folder, *KNOWN[graph](), 1, adapter=release.adapter, variant=variant)
    python = open_workshop("process").environment(release, "cpu")
    (result,) = prove(python, release, [folder])
    assert result["outcome"] == "ok", (result.get("reason"), result["failed"][:1])


def test_every_adapter_is_among_the_contenders() -> None:
    named = {find_contender(name)[0].adapter for name in CONTENDERS}
    assert named == {release.adapter for release in releases.load_releases()} - {"numpy"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTENDERS)
def test_random_graphs_are_certified(name: str, tmp_path: Path) -> None:
    release, variant = find_contender(name)
    python = open_workshop("process").environment(release, "cpu")
    folders = []
    for seed in range(SEED, SEED + FEWER.get(name, GRAPHS)):
        folders.append(tmp_path / str(seed))
        run = {"adapter": release.adapter, "variant": variant, "unusual": name not in FEWER}
        write_job(folders[-1], seed, ops=8, **run)
    results = list(prove(python, release, folders))
    assert [result["outcome"] for result in results] == ["ok"] * len(folders), [
        (Path(result["folder"]).name, result.get("reason"), result["failed"][:1])
        for result in results
        if result["outcome"] != "ok"
    ]
