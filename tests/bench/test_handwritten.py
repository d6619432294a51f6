"""Every adapter has a loop by hand that `scripts/bench_harness.py` can hold it against."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dlbench.environments.releases import load_releases
from scripts.handwritten import SAME

HANDWRITTEN = Path(__file__).resolve().parents[2] / "scripts" / "handwritten"
ADAPTERS = sorted({release.adapter for release in load_releases()} - {"numpy"})


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_loop_by_hand_is_as_the_benchmark_calls_it(adapter: str) -> None:
    tree = ast.parse((HANDWRITTEN / f"{SAME.get(adapter, adapter)}.py").read_text())
    (make,) = [node for node in tree.body if getattr(node, "name", "") == "make"]
    assert isinstance(make, ast.FunctionDef)
    loops = {
        node.name: [argument.arg for argument in node.args.args]
        for node in make.body
        if isinstance(node, ast.FunctionDef)
    }
    assert loops["run"] == ["ks", "done"]
    assert ast.unparse(make.body[-1]) == "return run"
