"""The graph of a workload in TOML: inputs, layers in order, outputs.

A layer's `op` is a method of the graph builder, its other keys are that method's parameters: an op
that the builder learns can be written in TOML at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from dlbench.errors import unknown
from dlbench.planning.graph import Graph, GraphError
from dlbench.planning.hints import as_tuples, fits, words
from dlbench.toml_file import Table

GRAPH_KEYS = frozenset({"inputs", "layers", "outputs"})
_OPS = sorted(
    name
    for name, method in inspect.getmembers(Graph, inspect.isfunction)
    if not name.startswith("_") and name != "input" and get_type_hints(method)["return"] is str
)
"""The methods that add a node: they return its name."""
_DTYPES = ("float32", "int32")


def read_graph(table: Table, name: str) -> dict[str, Any]:
    """The graph in JSON form, every attribute and shape explicit."""
    graph = Graph(name)
    inputs = table.table("inputs")
    for key in inputs.values:
        _add_input(graph, inputs, key)
    last = next(iter(inputs.values)) if len(inputs.values) == 1 else None
    for layer in table.tables("layers"):
        last = _add_layer(graph, layer, last)
    try:
        graph.outputs(*(table.strings("outputs") if "outputs" in table.values else [str(last)]))
    except GraphError as error:
        raise table.error("outputs", f"is wrong: {error}", "Name layers or inputs.") from error
    return graph.to_json()


def _add_input(graph: Graph, inputs: Table, key: str) -> None:
    """`image = [8, 8, 1]`, or with a type `tokens = { shape = [500], dtype = "int32" }`.

    An image that comes in several sizes has them in `sizes`.
    """
    if isinstance(inputs.values[key], dict):
        spec = inputs.table(key)
        spec.refuse_others({"shape", "dtype", "sizes"})
    else:
        spec = Table(inputs.file, f"{inputs.position}{key}.", {"shape": inputs.values[key]})
    shape, dtype = spec.get("shape", list), spec.get("dtype", str, "float32")
    if not all(type(extent) is int for extent in shape):
        raise spec.error("shape", "must list whole numbers", "Write it as [8, 8, 1].")
    if dtype not in _DTYPES:
        raise spec.error("dtype", f"must be one of {', '.join(_DTYPES)}", f"It is {dtype!r}.")
    sizes = as_tuples(spec.get("sizes", list, []))
    if not fits(sizes, Sequence[tuple[int, int]]):
        raise spec.error("sizes", "must list heights and widths", "Write [[600, 800], [800, 600]].")
    try:
        graph.input(key, tuple(shape), dtype, sizes=sizes)
    except GraphError as error:
        raise inputs.error(key, f"is wrong: {error}", "Correct it.") from error


def _add_layer(graph: Graph, layer: Table, last: str | None) -> str:
    op = layer.get("op", str)
    if op not in _OPS:
        raise layer.error("op", f"names no layer: {op!r}", unknown("layer", op, _OPS).remedy)
    hints = _parameters(op)
    layer.refuse_others({"op", "input", "inputs", *hints})
    options: dict[str, Any] = {}
    for key, value in layer.values.items():
        if key in ("op", "input", "inputs"):
            continue
        options[key] = as_tuples(value)
        if not fits(options[key], hints[key]):
            raise layer.error(key, f"must be {words(hints[key])}", f"It is {value!r}: correct it.")
    add: Callable[..., str] = getattr(graph, op)
    try:
        return add(*_sources(layer, last), **options)
    except GraphError as error:
        raise layer.error("op", f"can't be built ({op}): {error}", "Correct the layer.") from error
    except TypeError as error:  # a parameter without a default was left out
        raise layer.error("op", f"can't be built ({op}): {error}", "Correct the layer.") from error


def _sources(layer: Table, last: str | None) -> list[str]:
    """What the layer reads: what it names, or else the layer before it."""
    if "inputs" in layer.values:
        if "input" in layer.values:
            raise layer.error("inputs", "stands beside `input`", "Keep one of them.")
        return list(layer.strings("inputs"))
    if last is None and "input" not in layer.values:
        raise layer.error(
            "input", "is missing", "Name the input that it reads: the graph has several."
        )
    return [layer.get("input", str, last)]


def _parameters(op: str) -> dict[str, Any]:
    """The types of the parameters of this builder method, by name, but for what it reads."""
    method = getattr(Graph, op)
    parameters = inspect.signature(method).parameters.values()
    hints = get_type_hints(method)
    names = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):  # the pooling layers share the rest
        hints = get_type_hints(Graph._pool) | hints
        names |= inspect.signature(Graph._pool).parameters.keys() - {"op"}
    return {name: hints[name] for name in sorted(names - {"self", "x"})}
