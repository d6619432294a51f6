"""Makes a canonical file of weights of another program's: `dlbench weights convert`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dlbench.errors import UserError
from dlbench.plain_json import printable
from dlbench.statistics.words import count, listing
from dlbench.weights.canonical import Graph, shapes_of
from dlbench.weights.known_names import resnet_names
from dlbench.weights.layouts import (
    COUNTER,
    LAYOUTS,
    Floats,
    LayoutRules,
    Misfit,
    Parameter,
    modules_of,
    orders_of,
    parameter_of,
    parameters_of,
)
from dlbench.weights.maps import (
    BUILT_IN,
    Map,
    by_order,
    read_map,
    torchvision_resnet,
)
from dlbench.weights.tensors import Tensor, TensorFile, shown

_WRAPPER = "module."
"""What PyTorch's DataParallel puts before every name."""
_TURNED = ("float16", "bfloat16", "float64")


@dataclass(frozen=True)
class Conversion:
    arrays: dict[str, Floats]
    sources: dict[str, tuple[str, ...]]
    """The tensors that each parameter was made of."""
    unfilled: tuple[str, ...]
    """Parameters of the graph that the file does not have, in the graph's order."""
    unused: tuple[str, ...]
    """Tensors of the file that went nowhere, in its order."""
    map_name: str
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "map": self.map_name,
            "parameters": {name: list(own) for name, own in self.sources.items()},
            "unfilled": list(self.unfilled),
            "unused": list(self.unused),
            "notes": list(self.notes),
        }


def convert(file: TensorFile, graph: Graph, chosen: str = "", layout: str = "") -> Conversion:
    """The graph's parameters of the file's tensors; `chosen` is a map's name or path."""
    if layout not in ("", *LAYOUTS):
        raise UserError(f"--layout {printable(layout, 60)} is not known.",
                        f"Give {' or '.join(LAYOUTS)}.")  # fmt: skip
    notes = list(file.notes)
    own_map = read_map(Path(chosen)) if chosen and chosen not in BUILT_IN else None
    tensors, said = _without_prefix(file.tensors, own_map.prefix if own_map else "")
    notes += said
    if not own_map and not chosen and set(tensors) <= set(shapes_of(graph)):
        own_map = Map("the canonical names", parameters={name: (name,) for name in tensors},
                      layout=LAYOUTS[1])  # fmt: skip
    orders = LayoutRules(layout, orders=orders_of(graph))
    used = own_map or _found_map(graph, tensors, chosen, orders, file.as_saved)
    notes += used.notes
    rules = LayoutRules(layout or used.layout, used.gates, used.epsilon, orders.orders)
    filled, left = _filled(graph, tensors, used, rules)
    notes += left
    sources = {name: one.sources for name, one in filled.items()}
    named = {tensor for own in sources.values() for tensor in own}
    counters = [name for name in tensors if name.rpartition(".")[2] == COUNTER]
    if counters:
        notes.append(f"{count(len(counters), 'counter')} of batches ({COUNTER}) left out.")
    if other := _other_types(tensors, named):
        notes.append(f"{listing(other)} became float32.")
    if not filled:
        raise UserError(
            "None of the file's tensors is a parameter of this workload.",
            "`dlbench weights show FILE` lists them; give a map with --map.",
        )
    return Conversion(
        arrays={name: filled[name].values for name in shapes_of(graph) if name in filled},
        sources={name: sources[name] for name in shapes_of(graph) if name in sources},
        unfilled=tuple(name for name in shapes_of(graph) if name not in filled),
        unused=tuple(n for n in tensors if n not in named and n not in counters),
        map_name=used.name,
        notes=tuple(notes),
    )


def _without_prefix(
    tensors: Mapping[str, Tensor], prefix: str
) -> tuple[dict[str, Tensor], list[str]]:
    """The tensors by their names without what all have in front."""
    said = []
    if not prefix and tensors and all(name.startswith(_WRAPPER) for name in tensors):
        prefix = _WRAPPER
        said = [f"All names begin with {_WRAPPER!r}, which was left out."]
    found = {}
    for name, tensor in tensors.items():
        short = name.removeprefix(prefix)
        found[short] = Tensor(short, tensor.stored, tensor.values)
    if len(found) != len(tensors):
        raise UserError(f"Without {prefix!r} two tensors have one name.", "Give another prefix.")
    return found, said


def _found_map(
    graph: Graph, tensors: Mapping[str, Tensor], chosen: str, rules: LayoutRules, as_saved: bool
) -> Map:
    modules = modules_of(tensors)
    names = resnet_names(modules)
    found = torchvision_resnet(graph, names) if names else None
    if found is not None:
        return found
    if chosen:
        raise UserError(
            f"The map {chosen} does not fit: the file and the graph are not ResNets of as many"
            " convolutions.",
            "`dlbench weights show FILE` and `dlbench show workload NAME` list them.",
        )
    real = [tensor for tensor in tensors.values() if tensor.values.dtype.kind == "f"]
    return by_order(graph, modules, real, rules, as_saved=as_saved)


def _filled(
    graph: Graph, tensors: Mapping[str, Tensor], used: Map, rules: LayoutRules
) -> tuple[dict[str, Parameter], list[str]]:
    """The parameters that the map fills, and what did not fit."""
    nodes = {node["name"]: node for node in graph["nodes"] if node["parameters"]}
    modules, filled, left = modules_of(tensors), {}, []
    for name, module in used.nodes.items():
        if name not in nodes:
            raise UserError(f"The map {used.name} names node {shown(name)}, which is not in"
                            " the graph, or has no parameters.", "Correct it.")  # fmt: skip
        own = modules.get(module) or modules.get(f"{module}.l0")
        if own is None:
            raise UserError(f"The map {used.name} names {shown(module)} for node {name!r}, which"
                            " is not in the file.", "Correct it.")  # fmt: skip
        try:
            found = parameters_of(nodes[name], own, rules)
        except Misfit as misfit:
            if not used.partial:
                raise _refused(f"{name}", misfit) from misfit
            left.append(f"Node {name!r} is not filled: {misfit}.")
            continue
        if not found and not used.partial:
            raise UserError(f"{shown(module)} has no parameters of node {name!r}"
                            f" ({nodes[name]['op']}).", "Correct the map.")  # fmt: skip
        filled.update({f"{name}/{parameter}": one for parameter, one in found.items()})
    for name, listed in used.parameters.items():
        node, _, parameter = name.partition("/")
        if node not in nodes or parameter not in nodes[node]["parameters"]:
            raise UserError(f"The map {used.name} names {shown(name)}, which is not in the graph.",
                            "Parameters are NODE/PARAMETER; correct it.")  # fmt: skip
        missing = [source for source in listed if source not in tensors]
        if missing:
            raise UserError(f"The map {used.name} names tensor {shown(missing[0])}, which is not"
                            " in the file.", "Correct it.")  # fmt: skip
        sources = [tensors[source] for source in listed]
        try:
            own_rules = _layout_by_name(sources, rules)
            filled[name] = parameter_of(nodes[node], parameter, sources, own_rules)
        except Misfit as misfit:
            raise _refused(name, misfit) from misfit
    return filled, left


def _layout_by_name(sources: list[Tensor], rules: LayoutRules) -> LayoutRules:
    """The layout that the tensors' own names say, where nobody said another."""
    if rules.layout:
        return rules
    known = {module.layout for module in modules_of({t.name: t for t in sources}).values()}
    layout = known.pop() if len(known) == 1 else ""
    return replace(rules, layout=layout)


def _refused(name: str, misfit: Misfit) -> UserError:
    return UserError(f"{name} can't be filled: {misfit}.", "Correct the map, or leave it out.")


def _other_types(tensors: Mapping[str, Tensor], named: set[str]) -> list[str]:
    """`3 tensors of float16`: types that were turned into float32."""
    stored = [tensors[name].stored for name in named]
    return [f"{count(stored.count(kind), 'tensor')} of {kind}" for kind in _TURNED
            if kind in stored]  # fmt: skip
