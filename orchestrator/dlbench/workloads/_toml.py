"""A workload from a TOML file: what it trains on, its layers in order, its recipe.

bench/FORMATS.md describes the file. The graph is built, and so checked, by `planning/graph.py`.
"""

from __future__ import annotations

from pathlib import Path

from dlbench.toml_file import Table
from dlbench.workloads import Workload
from dlbench.workloads._recipe import read_recipe
from dlbench.workloads._toml_graph import GRAPH_KEYS, read_graph

_KEYS = {"name", "task", "dataset", "about", "recipe", "proof", *GRAPH_KEYS}


def load(path: Path) -> Workload:
    """Read a workload file, strictly."""
    table = Table.read(path)
    table.refuse_others(_KEYS)
    name = table.get("name", str, path.stem)
    proof = None
    if "proof" in table.values:
        smaller = table.table("proof")
        smaller.refuse_others(GRAPH_KEYS)
        proof = read_graph(smaller, f"{name}-proof")
    graph = read_graph(table, name)
    return Workload(
        name=name,
        task=table.get("task", str),
        dataset=table.get("dataset", str),
        graph=graph,
        recipe=read_recipe(table.table("recipe"), graph["outputs"]),
        about=table.get("about", str, ""),
        proof=proof,
    )
