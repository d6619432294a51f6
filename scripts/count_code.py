"""How much there is to write: the words of mnist-cnn by hand in each framework (`handwritten/`).

    scripts/count_code.py > orchestrator/dlbench/studies/by_hand.csv

A word is a name, a number or a text: lines would count how code is laid out, and statements whether
a model is one expression or a class. Counted are model, loss and optimiser, a batch's way into the
framework's arrays, and one step; not imports, and not the loop that takes times.
"""

from __future__ import annotations

import ast
import datetime
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent / "handwritten"
_ADAPTERS = {"keras": ("keras2", "keras3")}
"""Of a loop by hand that is written the same way for several; else it has its adapter's name."""
_SHARED = {"__init__", "keras_nets", "against"}
_DEFINED = ast.FunctionDef | ast.ClassDef
_WORDS = ast.Name | ast.Attribute | ast.Constant | ast.arg | ast.keyword | _DEFINED


def words(loop: str) -> int:
    """Of what `make("cnn")` of this module reaches."""
    nodes = [node for file in ("keras_nets", loop) for node in _cnn(_HERE / f"{file}.py").body]
    known = {node.name: node for node in nodes if isinstance(node, _DEFINED)}
    reached, todo = dict[str, ast.AST](), ["make"]
    while todo:
        if (name := todo.pop()) in known and name not in reached:
            reached[name] = known[name]
            todo += [node.id for node in ast.walk(known[name]) if isinstance(node, ast.Name)]
    return sum(isinstance(n, _WORDS) for part in reached.values() for n in ast.walk(part))


def _cnn(file: Path) -> ast.Module:
    """What is left of a module where `kind` is "cnn", without the texts that explain it."""

    class Left(ast.NodeTransformer):
        def visit_If(self, node: Any) -> Any:
            self.generic_visit(node)
            names = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
            if names != {"kind"}:
                return node
            return node.body if eval(ast.unparse(node.test), {"kind": "cnn"}) else node.orelse

        visit_IfExp = visit_If

        def visit_Subscript(self, node: ast.Subscript) -> Any:
            if not isinstance(node.value, ast.Dict):
                return self.generic_visit(node)
            keys = [getattr(key, "value", "") for key in node.value.keys]
            return node.value.values[keys.index("cnn")]

        def visit_Expr(self, node: ast.Expr) -> Any:
            return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    tree: ast.Module = Left().visit(ast.parse(file.read_text()))
    return tree


if __name__ == "__main__":
    print("adapter,words,counted")
    loops = {file.stem for file in _HERE.glob("*.py") if not file.stem.endswith("_detector")}
    for loop in sorted(loops - _SHARED):
        for adapter in _ADAPTERS.get(loop, (loop,)):
            print(f"{adapter},{words(loop)},{datetime.date.today()}")
