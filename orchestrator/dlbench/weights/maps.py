"""Which layer of a file is which node of a graph: by known names, a map, or by order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlbench.errors import UserError
from dlbench.plain_json import printable
from dlbench.toml_file import Table
from dlbench.weights.known_names import in_order
from dlbench.weights.layouts import (
    EPSILON,
    GATES,
    LAYOUTS,
    LayoutRules,
    Misfit,
    Module,
    Node,
    parameters_of,
)
from dlbench.weights.tensors import Tensor

TORCHVISION = "torchvision-resnet"
BUILT_IN = (TORCHVISION,)
_GIVE_A_MAP = "Give a map: `--map MAP.toml`, see docs/weights.md."


@dataclass(frozen=True)
class Map:
    """What a file's layers are called in a graph."""

    name: str
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Node: module."""
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameter: the tensor, or tensors to be added."""
    prefix: str = ""
    """What all names of tensors have in front."""
    layout: str = ""
    gates: str = GATES
    epsilon: float = EPSILON
    partial: bool = False
    """Modules that do not fit are left out, and said; otherwise they are refused."""
    notes: tuple[str, ...] = ()


# ---- a user's -----------------------------------------------------------------------------------


def read_map(path: Path) -> Map:
    """A map in TOML: [nodes], [parameters], prefix, layout, gates, epsilon."""
    if not path.is_file():
        raise UserError(
            f"There is no map {str(path)!r}.", f"Give a TOML file, or {', '.join(BUILT_IN)}."
        )
    table = Table.read(path)
    table.check_keys((), ("nodes", "parameters", "prefix", "layout", "gates", "epsilon"))
    nodes, parameters = table.table("nodes", {}), table.table("parameters", {})
    epsilon, gates = table.get("epsilon", float, EPSILON), table.get("gates", str, GATES)
    if not 0 < epsilon < 1:
        raise table.error("epsilon", "must be between 0 and 1")
    if sorted(gates) != sorted(GATES):
        raise table.error("gates", "must be the letters i, f, g, o in the file's order")
    layout = table.maybe("layout", str) or ""
    if layout not in ("", *LAYOUTS):
        raise table.error("layout", f"must be {' or '.join(LAYOUTS)}")
    return Map(
        path.name,
        {name: nodes.get(name, str) for name in nodes.values},
        {
            name: (own,) if isinstance(own, str) else parameters.strings(name)
            for name, own in parameters.values.items()
        },
        table.maybe("prefix", str) or "",
        layout,
        gates,
        epsilon,
    )


# ---- of ResNets ---------------------------------------------------------------------------------


def torchvision_resnet(graph: Mapping[str, Any], names: Mapping[str, str]) -> Map | None:
    """The map of a ResNet, if the graph has as many convolutions with a normalisation behind them,
    or with its constants: a detector has others between and behind them.

    `names`: torchvision's names, and what the file calls these layers."""
    units, blocks = list(_units(graph)), list(_blocks(names))
    if len(units) != len(blocks):
        return None
    nodes: dict[str, str] = {}
    for unit, block in zip(units, blocks, strict=True):
        nodes.update(zip(unit, (names[part] for part in block), strict=True))
    heads = [node["name"] for node in graph["nodes"] if node["op"] == "dense"]
    if len(heads) == 1 and "fc" in names:
        nodes[heads[0]] = names["fc"]
    return Map(
        TORCHVISION,
        nodes,
        partial=True,
        notes=(
            "Public weights were trained on photographs of 224 pixels, normalised channel by"
            " channel; how a workload's images are made ready stays as it is.",
        ),
    )


def _units(graph: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(convolution, what normalises it), in the graph's order."""
    readers = {}
    for node in graph["nodes"]:
        if node["op"] in ("batchnorm", "affine"):
            readers[node["inputs"][0]] = node["name"]
    for node in graph["nodes"]:
        if node["op"] == "conv2d" and node["name"] in readers:
            yield node["name"], readers[node["name"]]


def _blocks(modules: Collection[str]) -> Iterator[tuple[str, str]]:
    yield "conv1", "bn1"
    for stage in range(1, 5):
        block = 0
        while f"layer{stage}.{block}.conv1" in modules:
            start = f"layer{stage}.{block}."
            for number in (1, 2, 3):
                if f"{start}conv{number}" in modules:
                    yield f"{start}conv{number}", f"{start}bn{number}"
            if f"{start}downsample.0" in modules:
                yield f"{start}downsample.0", f"{start}downsample.1"
            block += 1


# ---- by order -----------------------------------------------------------------------------------


def by_order(
    graph: Mapping[str, Any], modules: Mapping[str, Module], tensors: Sequence[Tensor],
    rules: LayoutRules, *, as_saved: bool,
) -> Map:  # fmt: skip
    """The layers of a file in the order of the graph's, each by its kind and shapes.

    Layers of one kind and one shape are taken in their order, if there are as many of them in the
    file as in the graph, and something says their order; otherwise nothing says which is which.
    `as_saved`: the order in the file is that of the model.
    """
    nodes = [node for node in graph["nodes"] if node["parameters"]]
    if all(not module.layout for module in modules.values()):
        return _one_by_one(nodes, tensors)
    fitting = {name: [n["name"] for n in nodes if _fits(n, module, rules)]
               for name, module in modules.items()}  # fmt: skip
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name, own in fitting.items():
        if own:
            kinds.setdefault(tuple(own), []).append(name)
    chosen: dict[str, str] = {}
    for places, names in kinds.items():
        if len(places) != len(names):
            raise UserError(
                f"Which layer is node {places[0]!r} can't be told: {len(names)} layers of the file"
                f" fit ({printable(', '.join(names[:4]), 200)}"
                f"{', …' if len(names) > 4 else ''}), and {len(places)} nodes of the graph"
                f" ({', '.join(places[:4])}{', …' if len(places) > 4 else ''}).",
                _GIVE_A_MAP,
            )
        ordered = in_order(names, as_saved=as_saved)
        if ordered is None:
            raise UserError(
                f"Which layer is node {places[0]!r} can't be told: {len(names)} layers of the file"
                f" fit ({printable(', '.join(names[:4]), 200)}"
                f"{', …' if len(names) > 4 else ''}), and the file has them in the order of their"
                " names, not in that of the model.",
                f"Use the same weights as a PyTorch file (.pth, .bin). {_GIVE_A_MAP}",
            )
        for place, name in zip(places, ordered, strict=True):
            if place in chosen:
                raise UserError(
                    f"Which layer is node {place!r} can't be told: {printable(chosen[place], 100)}"
                    f" and {printable(name, 100)} fit.",
                    _GIVE_A_MAP,
                )
            chosen[place] = name
    several = any(len(names) > 1 for names in kinds.values())
    note = "Layers of one kind and shape were taken in order: their names tell whether it is right."
    return Map("the graph's order", chosen, notes=(note,) if several else ())


def _fits(node: Node, module: Module, rules: LayoutRules) -> bool:
    """Whether the module has all of the node's parameters, in their shapes."""
    try:
        return set(parameters_of(node, module, rules)) == set(node["parameters"])
    except Misfit as misfit:
        if "--layout" in str(misfit):
            raise UserError(f"Node {node['name']!r}: {misfit}.", "Give --layout.") from misfit
        return False


def _one_by_one(nodes: Sequence[Node], tensors: Sequence[Tensor]) -> Map:
    """Arrays without names, such as Keras' get_weights(): one a parameter, in the graph's order."""
    wanted = [f"{node['name']}/{name}" for node in nodes for name in node["parameters"]]
    if len(wanted) != len(tensors):
        raise UserError(
            f"The file has {len(tensors)} arrays whose names say nothing; the graph has"
            f" {len(wanted)} parameters.",
            _GIVE_A_MAP,
        )
    parameters = {name: (tensor.name,) for name, tensor in zip(wanted, tensors, strict=True)}
    return Map("the order of the arrays", parameters=parameters)
