"""Every adapter has a loop by hand that `scripts/bench_harness.py` can hold it against."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dlbench.environments.releases import load_releases
from scripts import bench_harness
from scripts.handwritten import CNN_ALONE, KINDS, SAME, against

HANDWRITTEN = Path(__file__).resolve().parents[2] / "scripts" / "handwritten"
ADAPTERS = sorted({release.adapter for release in load_releases()} - {"numpy"})


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_loop_by_hand_is_as_the_benchmark_calls_it(adapter: str) -> None:
    tree = ast.parse((HANDWRITTEN / f"{SAME.get(adapter, adapter)}.py").read_text())
    (make,) = [node for node in tree.body if getattr(node, "name", "") == "make"]
    assert isinstance(make, ast.FunctionDef)
    assert [argument.arg for argument in make.args.args] == ["kind"]
    assert ast.unparse(make.body[-1]).startswith(("return timed(", "return run"))
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert adapter in CNN_ALONE or set(KINDS) <= named


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_model_that_the_loop_by_hand_can_read(kind: str) -> None:
    graph, recipe = bench_harness.model(kind)
    rows = against.drawn(graph, recipe, 6)
    assert set(rows) == {spec["name"] for spec in graph["inputs"]} | {"label"}
    assert {len(array) for array in rows.values()} == {6}
    if kind == "lstm":  # words end where a text ends, as Keras' masks have it
        assert ((rows["tokens"] != 0).sum(axis=1) == rows["length"]).all()


def test_only_a_release_s_first_way_to_train_and_tuned_are_held_against_it() -> None:
    assert bench_harness.written("pytorch:tuned", KINDS) == list(KINDS)
    assert bench_harness.written("theano", KINDS) == ["cnn"]
    with pytest.raises(SystemExit, match="first variant"):
        bench_harness.written("pytorch:compile", KINDS)
