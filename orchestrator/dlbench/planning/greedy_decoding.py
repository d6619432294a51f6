"""Which graphs can be decoded word by word: no word may depend on a later one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlbench.planning.graph import GraphError

GREEDY = "greedy-accuracy"
_PLACE_BY_PLACE = frozenset({
    "embedding", "dense", "dropout", "batchnorm", "relu", "tanh", "sigmoid", "softmax", "add",
    "concat",
})  # fmt: skip
"""Ops whose output at one place of a sequence depends on that place of their inputs alone."""


def check_greedy(graph: Mapping[str, Any], metric: Mapping[str, Any]) -> None:
    """Refuse a metric that could not feed a decoder its own words."""
    what = f"The metric {GREEDY} of graph {graph['name']!r}"
    named = {spec["name"]: spec for spec in graph["inputs"]}
    spec = named.get(metric.get("input") or "")
    if spec is None:
        raise GraphError(f"{what} needs `input`: which input of the graph has the decoder's words.")
    name, output = spec["name"], metric["output"]
    if spec["dtype"] != "int32" or len(spec["shape"]) != 1:
        raise GraphError(f"{what} reads words from {name!r}, which is not a row of whole numbers.")
    places = spec["shape"][0]
    shapes = {node["name"]: node["shape"] for node in graph["nodes"]}
    shape: list[int] = shapes.get(output, [])
    if len(shape) != 2 or shape[0] != places:
        raise GraphError(
            f"{what} needs logits for each of the {places} places of {name!r}; {output!r} has"
            f" the shape {shape}."
        )
    so_far, at_once = _readers(graph, name)
    if output in at_once:
        raise GraphError(
            f"{what} would find words one by one, but {at_once[output]!r} reads all of {name!r} at"
            f" once, and {output!r} depends on it."
        )
    if output not in so_far:
        raise GraphError(f"{what}: {output!r} does not depend on {name!r}.")
    for node in graph["nodes"]:
        if node["op"] == "embedding" and name in node["inputs"] and node["vocabulary"] < shape[1]:
            raise GraphError(
                f"{what} chooses among {shape[1]:,} words, of which embedding {node['name']!r}"
                f" can read {node['vocabulary']:,}."
            )


def readers_place_by_place(graph: Mapping[str, Any], output: str) -> list[str]:
    """The rows of words of which `output` [T,V] reads each at its own place or before it, and whose
    embeddings know all V words."""
    shapes = {node["name"]: node["shape"] for node in graph["nodes"]}
    shape: list[int] = shapes.get(output, [])
    if len(shape) != 2:
        return []
    found = []
    for spec in graph["inputs"]:
        if spec["dtype"] != "int32" or spec["shape"] != shape[:1]:
            continue
        so_far, at_once = _readers(graph, spec["name"])
        known = all(
            node["vocabulary"] >= shape[1]
            for node in graph["nodes"]
            if node["op"] == "embedding" and spec["name"] in node["inputs"]
        )
        if known and output in so_far and output not in at_once:
            found.append(spec["name"])
    return found


def _readers(graph: Mapping[str, Any], name: str) -> tuple[set[str], dict[str, str]]:
    """Values that at each place depend on the input up to that place; and all others that depend
    on it, with the node that reads all of it at once."""
    so_far, at_once = {name}, dict[str, str]()
    for node in graph["nodes"]:
        own, lstm = node["name"], node["op"] == "lstm"
        read = [*node["inputs"], *(node.get("initial") or ()), node.get("lengths")]
        before = next((at_once[each] for each in read if each in at_once), None)
        if before is not None:
            at_once |= dict.fromkeys((own, f"{own}:h", f"{own}:c"), before)
        elif so_far.intersection(read):
            by_place = node["op"] in _PLACE_BY_PLACE or (lstm and node["output"] == "sequence")
            so_far |= {own} if by_place else set()
            at_once |= dict.fromkeys((f"{own}:h", f"{own}:c"), own) if lstm else {}
            at_once |= {} if by_place else {own: own}
    return so_far, at_once
