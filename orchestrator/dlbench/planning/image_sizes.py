"""Whether a graph works for every size of its images: its shapes are those of the first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlbench.planning.graph import GraphError, slide


def check_sizes(graph: Mapping[str, Any]) -> None:
    """Refuse a graph in which a node has no pixel left, or two sizes meet."""
    for spec in graph["inputs"]:
        for size in spec.get("sizes", [])[1:]:
            _check_size(graph, spec["name"], tuple(size))


def _check_size(graph: Mapping[str, Any], image: str, size: tuple[int, ...]) -> None:
    places = {spec["name"]: tuple(spec["shape"][:2]) for spec in graph["inputs"]}
    places[image] = size
    for node in graph["nodes"]:
        name, stated = node["name"], tuple(node["shape"][:2])
        if len(node["shape"]) != 3 or node["op"] in ("embedding", "roialign"):
            places[name] = stated
            continue
        read = {places[source] for source in node["inputs"]}
        if len(read) > 1:
            raise GraphError(
                f"{name!r} reads {', '.join(node['inputs'])}, which have different sizes when"
                f" {image!r} is {size[0]} by {size[1]}."
            )
        places[name] = _slid(node, read.pop())
        if min(places[name]) < 1:
            raise GraphError(
                f"{name!r} has no pixel left when {image!r} is {size[0]} by {size[1]}."
            )


def _slid(node: Mapping[str, Any], places: tuple[int, ...]) -> tuple[int, ...]:
    """Height and width behind a node."""
    if "stride" not in node:
        return places
    window = node["kernel"] if "kernel" in node else node["size"]
    return slide(places, window, node["stride"], node["padding"])
