"""A graph built again with some of its nodes changed: shapes and parameters follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dlbench.confounds.confound import DoesNotApply
from dlbench.planning.graph import Graph, GraphError

Json = dict[str, Any]
Change = Callable[[Json], Json | None]
"""A node as it shall be; None: without it, whoever reads it reads what it read."""

_NOT_ATTRIBUTES = ("name", "op", "inputs", "shape", "parameters")


def rebuilt(graph: Mapping[str, Any], change: Change) -> Json:
    """The graph with each node changed; a graph that can't be is refused with the node's name."""
    g = Graph(graph["name"])
    for spec in graph["inputs"]:
        sizes = [tuple(size) for size in spec.get("sizes", ())]
        g.input(spec["name"], tuple(spec["shape"]), spec["dtype"], sizes=sizes)
    instead: dict[str, str] = {}
    for old in graph["nodes"]:
        node = change(dict(old))
        if node is None:
            source = old["inputs"][0]
            instead[old["name"]] = instead.get(source, source)
            continue
        read = [instead.get(name, name) for name in node["inputs"]]
        initial = node.get("initial")
        if initial:
            node = {**node, "initial": [instead.get(name, name) for name in initial]}
        try:
            _add(g, {**node, "inputs": read})
        except GraphError as error:
            raise DoesNotApply(f"at node {node['name']!r}, {error}".rstrip(".")) from error
    try:
        g.outputs(*(instead.get(name, name) for name in graph["outputs"]))
    except GraphError as error:
        raise DoesNotApply(str(error).rstrip(".")) from error
    return g.to_json()


def _add(g: Graph, node: Mapping[str, Any]) -> None:
    """One node, by the builder's function of its op."""
    op, read, name = node["op"], node["inputs"], node["name"]
    given = {key: value for key, value in node.items() if key not in _NOT_ATTRIBUTES}
    drawn = {key: spec["init"] for key, spec in node["parameters"].items()}
    build = getattr(g, op)
    if op in ("conv2d", "maxpool", "avgpool"):
        sizes = ("kernel", "size", "stride")
        given = {key: tuple(v) if key in sizes else v for key, v in given.items()}
    if op in ("conv2d", "dense"):
        given["init"] = drawn["kernel"]
    elif op == "embedding":
        given["init"] = drawn["table"]
    elif op == "lstm":
        given |= {"init": drawn["input_kernel"], "recurrent_init": drawn["recurrent_kernel"]}
        given["initial"] = tuple(given["initial"]) if given["initial"] else None
    elif op == "proposals":
        given = {"detector": given}
    build(*read, **given, name=name)
