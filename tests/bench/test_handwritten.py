"""Every adapter has a loop by hand that `scripts/bench_harness.py` can hold it against."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import weights
from bench.detection.boxes import clip, usable
from bench.ops import host_nodes
from dlbench.environments import releases
from dlbench.environments.releases import load_releases
from dlbench.studies import to_install
from scripts import bench_harness, count_code
from scripts.handwritten import DETECTOR, DETECTORS, KINDS, SAME, against, kinds_of
from tests.orchestrator.running.test_named_releases import environment_of

HANDWRITTEN = Path(__file__).resolve().parents[2] / "scripts" / "handwritten"
ADAPTERS = sorted({release.adapter for release in load_releases()} - {"numpy"})


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_loop_by_hand_is_as_the_benchmark_calls_it(adapter: str) -> None:
    tree = ast.parse((HANDWRITTEN / f"{SAME.get(adapter, adapter)}.py").read_text())
    (make,) = [node for node in tree.body if getattr(node, "name", "") == "make"]
    assert isinstance(make, ast.FunctionDef)
    assert [argument.arg for argument in make.args.args] == ["kind"]
    assert ast.unparse(make.body[-1]).startswith(("return timed(", "return timed_fit("))
    if "net_of" in ast.unparse(tree):  # Keras' layers, which two modules share
        tree.body += ast.parse((HANDWRITTEN / "keras_nets.py").read_text()).body
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert kinds_of(adapter) == ("cnn",) or set(kinds_of(adapter)) - {"detector"} <= named


def test_the_words_of_code_that_reports_show_are_those_of_the_loops_as_they_are() -> None:
    lines = to_install._BY_HAND.read_text().splitlines()[1:]
    shown = {adapter: int(words) for adapter, words, _ in (line.split(",") for line in lines)}
    assert shown == {each: count_code.words(SAME.get(each, each)) for each in ADAPTERS}
    left = ast.unparse(count_code._cnn(HANDWRITTEN / "torch.py"))
    assert "net = cnn()" in left and "SGD" in left
    assert "Adam" not in left and "BCE" not in left and "kind ==" not in left


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_detector_by_hand_has_a_module_of_its_own(adapter: str) -> None:
    file = HANDWRITTEN / f"{adapter}_detector.py"
    assert file.exists() == ("detector" in kinds_of(adapter)) == (adapter in DETECTORS)
    if file.exists():
        tree = ast.parse(file.read_text())
        (make,) = [node for node in tree.body if getattr(node, "name", "") == "make"]
        assert isinstance(make, ast.FunctionDef)
        assert [argument.arg for argument in make.args.args] == ["weights"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "detector"])
def test_every_kind_has_a_model_that_the_loop_by_hand_can_read(kind: str) -> None:
    graph, recipe = bench_harness.model(kind)
    rows = against.drawn(graph, recipe, 6)
    assert set(rows) == {spec["name"] for spec in graph["inputs"]} | {"label"}
    assert {len(array) for array in rows.values()} == {6}
    if kind == "lstm":  # words end where a text ends, as Keras' masks have it
        assert ((rows["tokens"] != 0).sum(axis=1) == rows["length"]).all()


def test_the_detector_has_the_workload_s_numbers_both_sizes_and_boxes_inside_of_images() -> None:
    graph, recipe = bench_harness.model("detector")
    (numbers,) = host_nodes(graph)
    assert {key: numbers[key] for key in DETECTOR} == DETECTOR
    rows = against.scenes(graph, 40)
    for boxes, classes, size in zip(rows["boxes"], rows["classes"], rows["size"], strict=True):
        assert usable(boxes[classes > 0], 8).all()
        assert (clip(boxes, size) == boxes).all()
    assert set(np.unique(rows["classes"])) == set(range(21))
    split = against.split(graph, recipe)
    assert split.described()["image sizes"] == 2
    batch = next(against.batches({"recipe": recipe, "seed": 1}, split, 1))
    assert 0 < batch["image"].mean() < 1
    assert batch["rpn_label_weights"].sum() == 64
    assert batch["rpn_delta_weights"].any()


SAME_WORK = {"parameters": [7, 7], "losses": [[2.0, 2.00001], [1.5, 1.6]]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"parameters": [7, 8]}, "the model by hand has 8 parameters, dlbench's 7."),
        (
            {"losses": [[2.0, 2.0001], [1.5, 1.5]]},
            "the first step has the loss 2.000100 by hand, 2.000000 in dlbench.",
        ),
        (
            {"losses": [[2.0, float("nan")]]},
            "the first step has the loss nan by hand, 2.000000 in dlbench.",
        ),
    ],
)
def test_loops_that_do_not_do_the_same_are_not_compared(changed: dict[str, Any], said: str) -> None:
    assert bench_harness.difference({**SAME_WORK, **changed}) == said


def test_loops_that_tell_nothing_of_their_losses_are_compared() -> None:
    assert bench_harness.difference({"dlbench": [1.0], "handwritten": [1.0]}) == ""


@pytest.mark.slow
def test_the_detector_by_hand_does_the_same_work() -> None:
    environment_of("pytorch@2.13.0")
    release = releases.find("pytorch@2.13.0")
    found = bench_harness.both(release, "eager", "detector", 1, 8, "cpu")
    graph, _ = bench_harness.model("detector")
    assert found["parameters"] == [weights.count(graph)] * 2
    assert len(found["losses"]) == len(found["dlbench"]) == len(found["handwritten"]) == 8
    assert len({round(loss, 3) for loss, _ in found["losses"]}) > 4  # not the same step all along
    assert bench_harness.difference(found) == ""
    ours, theirs = np.array(found["losses"]).T
    assert np.abs(theirs / ours - 1).max() < 1e-4  # the optimiser does the same, too


def test_only_a_release_s_first_way_to_train_and_tuned_are_held_against_it() -> None:
    assert bench_harness.written("pytorch:tuned", KINDS) == list(KINDS)
    assert bench_harness.written("theano", KINDS) == ["cnn"]
    assert bench_harness.written("jax", KINDS) == ["cnn", "mlp", "lstm", "resnet"]
    with pytest.raises(SystemExit, match="first variant"):
        bench_harness.written("pytorch:compile", KINDS)
