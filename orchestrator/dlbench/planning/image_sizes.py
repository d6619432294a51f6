"""A graph for every size of its images: the shapes that it states are those of the first one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dlbench.planning.graph import GraphError, slide


def at_every_size(graph: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(what to say of the size, the graph with its shapes), the first size as the graph states it.

    Refuses a graph in which a node has no pixel left, or two sizes meet.
    """
    yield "", graph
    for spec in graph["inputs"]:
        for height, width in spec.get("sizes", [])[1:]:
            when = f"when {spec['name']!r} is {height} by {width}"
            yield when, _at_size(graph, spec["name"], (height, width), when)


def _at_size(
    graph: Mapping[str, Any], image: str, size: tuple[int, ...], when: str
) -> Mapping[str, Any]:
    inputs = [
        {**spec, "shape": [*size, *spec["shape"][2:]]} if spec["name"] == image else spec
        for spec in graph["inputs"]
    ]
    places = {spec["name"]: tuple(spec["shape"][:2]) for spec in inputs}
    nodes = []
    for node in graph["nodes"]:
        name, here = node["name"], tuple(node["shape"][:2])
        if len(node["shape"]) == 3 and node["op"] not in ("embedding", "roialign"):
            read = {places[source] for source in node["inputs"]}
            if len(read) > 1:
                sources = ", ".join(node["inputs"])
                raise GraphError(f"{name!r} reads {sources}, which have different sizes {when}.")
            here = _slid(node, read.pop())
            if min(here) < 1:
                raise GraphError(f"{name!r} has no pixel left {when}.")
            node = {**node, "shape": [*here, *node["shape"][2:]]}
        places[name] = here
        nodes.append(node)
    return {**graph, "inputs": inputs, "nodes": nodes}


def _slid(node: Mapping[str, Any], places: tuple[int, ...]) -> tuple[int, ...]:
    """Height and width behind a node."""
    if "stride" not in node:
        return places
    window = node["kernel"] if "kernel" in node else node["size"]
    return slide(places, window, node["stride"], node["padding"])
