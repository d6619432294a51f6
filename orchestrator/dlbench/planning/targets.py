"""What losses and metrics are held against: arrays of the data, of which inputs may be some.

One array is of one kind and one shape, whoever reads it: classes are whole numbers, all other
targets are real, and no array of a batch is both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dlbench.planning.graph import GraphError, Shape, all_shapes
from dlbench.planning.greedy_decoding import GREEDY
from dlbench.planning.regions import DETECTION_METRICS

BY_CLASS = ("softmax-cross-entropy", "accuracy", "perplexity", GREEDY)
"""Their targets are whole numbers, one for each place of the output's last axis."""

_Json = Mapping[str, Any]


def places_of(spec: _Json, shapes: Mapping[str, Shape]) -> Shape:
    """The shape of a row of the targets of a loss or metric."""
    output = shapes[spec["output"]]
    return output[:-1] if spec["name"] in BY_CLASS else output


def check_targets(graph: _Json, recipe: _Json, when: str = "") -> None:
    """Refuse a target or mask that no array of the data can be; `when`: for images of which size
    the shapes are, where there are several."""
    shapes = all_shapes(graph)
    when = when and f" {when}"
    inputs = {spec["name"]: spec["dtype"] for spec in graph["inputs"]}
    seen: dict[str, tuple[_Json, str]] = {}
    for spec, name, kind in _read(recipe):
        places = places_of(spec, shapes)
        what = f"The {spec['name']} of {spec['output']!r} is compared with"
        if name in inputs:
            if shapes[name] != places:
                raise GraphError(
                    f"{what} the input {name!r}: it has the shape {list(shapes[name])}, not"
                    f" {list(places)}{when}."
                )
            if kind and inputs[name] != kind:
                raise GraphError(
                    f"{what} the input {name!r}: it is {inputs[name]}, and must be {kind}."
                )
        first, other = seen.setdefault(name, (spec, kind))
        if places_of(first, shapes) != places or (kind and other and kind != other):
            raise GraphError(
                f"{what} {name!r}, and so is the {first['name']} of {first['output']!r}, which"
                f" needs another shape or other numbers{when}. Give each an array of its own."
            )
        seen[name] = first, other or kind
    _check_whole_numbers(graph, recipe)


def values_allowed(graph: _Json, recipe: _Json) -> dict[str, tuple[float, float, str]]:
    """{array: (least, largest, what its values are)} of what can't be just any numbers.

    What several read is what all of them can."""
    shapes, allowed = all_shapes(graph), dict[str, tuple[float, float, str]]()

    def limit(array: str, low: float, high: float, what: str) -> None:
        least, most, _ = allowed.get(array, (low, high, ""))
        allowed[array] = max(low, least), min(high, most), what

    for node in graph["nodes"]:
        if node["op"] == "embedding":
            what = f"tokens of {node['name']!r}"
            limit(node["inputs"][0], 0, node["vocabulary"] - 1, what)
        if node.get("lengths"):
            limit(node["lengths"], 1, shapes[node["inputs"][0]][0], f"lengths of {node['name']!r}")
    for spec in (*recipe["losses"], *recipe["metrics"]):
        if spec["name"] in BY_CLASS:
            classes = shapes[spec["output"]][-1]
            limit(spec["target"], 0, classes - 1, f"classes of {spec['output']!r}")
        if spec["mask"] is not None:
            limit(spec["mask"], 0, math.inf if spec.get("divisor") else 1, "values of a mask")
    return allowed


def read_as_whole(graph: _Json, recipe: _Json) -> set[str]:
    """The arrays that hold whole numbers."""
    specs = (*recipe["losses"], *recipe["metrics"])
    inputs = {spec["name"] for spec in graph["inputs"] if spec["dtype"] == "int32"}
    return inputs | {spec["target"] for spec in specs if spec["name"] in BY_CLASS}


def _read(recipe: _Json) -> Iterator[tuple[_Json, str, str]]:
    """(loss or metric, array, its dtype) of all targets and masks; a mask may have either."""
    for spec in (*recipe["losses"], *recipe["metrics"]):
        if spec["name"] in DETECTION_METRICS:  # `check_boxes` knows their arrays
            continue
        yield spec, spec["target"], "int32" if spec["name"] in BY_CLASS else "float32"
        if spec["mask"] is not None:
            yield spec, spec["mask"], ""


def _check_whole_numbers(graph: _Json, recipe: _Json) -> None:
    """Refuse lengths, which begin at 1, that can only be 0 for whoever else reads them."""
    allowed = values_allowed(graph, recipe)
    for node in graph["nodes"]:
        lengths = node.get("lengths")
        if lengths and allowed[lengths][1] < 1:
            raise GraphError(
                f"{lengths!r} holds the lengths of {node['name']!r}, from 1, and is also read as a"
                " token or class that can only be 0."
            )
