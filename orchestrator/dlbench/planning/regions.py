"""Graphs whose second part works on regions of an image: what has to hold for their recipes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dlbench.planning.graph import GraphError, all_shapes

DETECTION_METRICS = ("average-precision", "average-precision-11", "boxes-found")
"""Of a whole split's detections: they need a graph with regions."""


def proposals_of(graph: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The node that finds the regions, if there is one."""
    return next((node for node in graph["nodes"] if node["op"] == "proposals"), None)


def check_regions(graph: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
    """Refuse a recipe that mixes up rows of images and rows of regions."""
    node = proposals_of(graph)
    own = f"{node['name']}:" if node else ":"
    regions = regions_of(graph)
    for spec in (*recipe["losses"], *recipe["metrics"]):
        for name in filter(None, (spec["target"], spec["mask"])):
            if ":" in name and not (node and name.startswith(own)):
                raise GraphError(
                    f"{name!r} is not made by a node of proposals of {graph['name']!r}."
                )
    for spec in recipe["losses"]:
        for name in filter(None, (spec["target"], spec["mask"])):
            if (spec["output"] in regions) != (":" in name):
                raise GraphError(
                    f"The loss of {spec['output']!r} reads {name!r}: one has a row for each region,"
                    " the other one for each image."
                )
        _check_shapes(graph, spec)
    for spec in recipe["metrics"]:
        of_regions = spec["name"] in DETECTION_METRICS
        if (spec["output"] in regions) != of_regions:
            raise GraphError(f"The metric {spec['name']} can't be taken of {spec['output']!r}.")
        if of_regions and (not node or spec.get("deltas") not in regions & set(graph["outputs"])):
            raise GraphError(f"The metric {spec['name']} needs the output that moves the regions.")
        if of_regions and node and node["name"] not in graph["outputs"]:
            raise GraphError(f"The metric {spec['name']} needs {node['name']!r} as an output.")
    if node is None:
        return
    if recipe["batch"] != 1:
        raise GraphError(
            f"{node['name']!r} finds regions of one image: {graph['name']!r} needs a batch of 1."
        )
    found_by = reached(graph, [node["name"]], through=True)
    learning = reached(graph, [spec["output"] for spec in recipe["losses"]], through=False)
    for other in graph["nodes"]:
        learns = other["parameters"] and other["op"] != "affine" and not other.get("frozen")
        if learns and other["name"] in found_by and other["name"] not in learning:
            raise GraphError(
                f"{other['name']!r} can't learn: no gradient passes through {node['name']!r}, and"
                " no loss reads it otherwise."
            )


def check_boxes(graph: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse data that a detector can't be fed with; `shapes` are of a split's arrays."""
    node = proposals_of(graph)
    assert node is not None
    boxes, classes, size, _ = node["inputs"][2:]
    image = next(spec for spec in graph["inputs"] if len(spec["shape"]) == 3)
    most = shapes.get(boxes, (0, 0))[1:2]
    wanted = {image["name"]: (None, None, image["shape"][2]), boxes: (*most, 4), classes: most,
              "difficult": most, size: (2,)}  # fmt: skip
    for name, row in wanted.items():
        if name not in shapes:
            raise GraphError(f"The data have no array {name!r}, which {graph['name']!r} reads.")
        found = shapes[name][1:]
        if len(found) != len(row) or any(
            w not in (None, f) for w, f in zip(row, found, strict=True)
        ):
            raise GraphError(
                f"The array {name!r} has rows of the shape {list(found)}; {graph['name']!r} needs"
                f" {['any' if extent is None else extent for extent in row]}."
            )


def _check_shapes(graph: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """What a host node makes has the shape that the loss needs, and whole numbers for classes."""
    shapes = all_shapes(graph)
    by_class = spec["name"] == "softmax-cross-entropy"
    places = shapes[spec["output"]][:-1] if by_class else shapes[spec["output"]]
    for name in (spec["target"], spec["mask"]):
        if name and ":" in name and shapes[name] != places:
            raise GraphError(
                f"The loss {spec['name']} of {spec['output']!r} needs the shape {list(places)};"
                f" {name!r} has {list(shapes[name])}."
            )
    if ":" in spec["target"] and by_class != spec["target"].endswith(":labels"):
        raise GraphError(f"The loss {spec['name']} can't be taken of {spec['target']!r}.")


def regions_of(graph: Mapping[str, Any]) -> set[str]:
    """The names of the nodes whose rows are regions."""
    names: set[str] = set()
    for node in graph["nodes"]:
        if node["op"] in ("proposals", "roialign") or names & set(node["inputs"]):
            names.add(node["name"])
    return names


def reached(graph: Mapping[str, Any], names: Iterable[str], *, through: bool) -> set[str]:
    """The nodes that these values depend on; `through`: also by way of a node of proposals."""
    found = {name.partition(":")[0] for name in names}
    for node in reversed(graph["nodes"]):
        if node["name"] in found and (through or node["op"] != "proposals"):
            read = [*node["inputs"], *(node.get("initial") or ())]
            found.update(name.partition(":")[0] for name in read)
    return found
