"""Every adapter has a loop by hand that `scripts/bench_harness.py` can hold it against."""

from __future__ import annotations

import ast
import tokenize
from pathlib import Path

import pytest

from dlbench.environments.releases import load_releases
from dlbench.studies.effort import LINES_BY_HAND
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


def _lines_with_code(path: Path) -> int:
    """Without comments, blank lines and docstrings."""
    tree = ast.parse(path.read_text())
    strings = [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    ]
    told = {n for one in strings for n in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    code = {
        n
        for token in tokens
        if token.type not in _NO_CODE
        for n in range(token.start[0], token.end[0] + 1)
    }
    return len(code - told)


_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENCODING, tokenize.ENDMARKER)  # fmt: skip


def test_the_lines_by_hand_that_reports_show_are_those_of_the_loops() -> None:
    counted = {
        adapter: _lines_with_code(HANDWRITTEN / f"{SAME.get(adapter, adapter)}.py")
        for adapter in ADAPTERS
    }
    assert counted == LINES_BY_HAND
