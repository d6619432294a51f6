"""Whoever adds an op is told what is missing: each part of dlbench names every op there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from bench.ops import ELEMENTWISE, OPS
from bench.reference.layers import OPERATIONS
from dlbench.planning.graph import Graph
from dlbench.workloads import workloads
from tests.bench import random_graphs

BENCH = Path(__file__).resolve().parents[2] / "bench"
ADAPTERS = sorted(path.parent for path in (BENCH / "adapters").glob("*/__init__.py"))
FILES = ("__init__.py", "layers.py", "model.py", "training.py")


def _keys(module: Path) -> tuple[str, ...]:
    """The keys of the dictionary OPERATIONS, read without importing a framework."""
    for statement in ast.parse(module.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            if "OPERATIONS" in names:
                return tuple(ast.literal_eval(key) for key in statement.value.keys if key)
        if isinstance(statement, ast.ImportFrom) and "OPERATIONS" in {
            name.name for name in statement.names
        }:
            return _keys(BENCH.parent / (str(statement.module).replace(".", "/") + ".py"))
    raise AssertionError(f"{module} has no table OPERATIONS")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda path: path.name)
def test_every_adapter_has_every_op_and_the_same_files(adapter: Path) -> None:
    if adapter.name == "numpy":  # its layers are the reference's
        assert set(OPERATIONS) == set(OPS)
        return
    assert set(FILES) <= {path.name for path in adapter.glob("*.py")}
    keys = _keys(adapter / "layers.py")
    assert sorted(keys) == sorted(OPS)


def test_there_is_an_adapter_for_each_name_in_the_releases() -> None:
    names = {path.name for path in ADAPTERS}
    used = {
        re.search(r'^adapter = "(\w+)"', path.read_text(), re.MULTILINE)[1]
        for path in (BENCH.parent / "images").glob("*/*/release.toml")
    }
    assert used == names


def test_the_graph_the_formats_and_the_draw_have_every_op() -> None:
    assert all(callable(getattr(Graph, op, None)) for op in OPS)
    assert set(OPS) >= ELEMENTWISE
    assert sorted(random_graphs.DRAW) == sorted(OPS)
    text = (BENCH / "FORMATS.md").read_text()
    table = text[text.index("| op | reads |") : text.index("`batchnorm`: training")]
    first = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    assert {op for cell in first for op in re.findall(r"\w+", cell)} == set(OPS)


def test_the_shipped_graphs_have_every_op() -> None:
    used = {node["op"] for w in workloads().values() for node in w.proof_graph["nodes"]}
    assert used == set(OPS)
