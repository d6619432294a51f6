"""Confounds of the model: what is left out of a graph, added to it, or has another size."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from dlbench.confounds.confound import AlreadySo, Altered, DoesNotApply, WrongParameter
from dlbench.confounds.rebuilding import Change, rebuilt

Json = dict[str, Any]
_ACTIVATIONS = ("relu", "tanh", "sigmoid")
_MOST_LAYERS, _MOST_UNITS = 100, 1_000_000


def no_dropout(model: Altered) -> Altered:
    _some(model, "dropout", "dropout")
    outputs = set(model.graph["outputs"])

    def change(node: Json) -> Json | None:
        if node["op"] != "dropout":
            return node
        # an output has its name from somebody who reads it: there it stays, and drops nothing
        return {**node, "rate": 0.0} if node["name"] in outputs else None

    return _with(model, change)


def no_padding(model: Altered, convolution: int | None = None) -> Altered:
    """Of all convolutions, or of the one with this number alone."""
    nodes = _some(model, "conv2d", "convolution")
    if convolution:
        if convolution > len(nodes):
            raise DoesNotApply(f"it has {len(nodes)} convolutions")
        nodes = [nodes[convolution - 1]]
    names = {node["name"] for node in nodes if any(pad for side in node["padding"] for pad in side)}
    if not names:
        raise AlreadySo(
            "no convolution of it is padded" if not convolution else "it has no padding"
        )
    none = [[0, 0], [0, 0]]
    return _with(model, lambda node: {**node, "padding": none} if node["name"] in names else node)


def early_strides(model: Altered) -> Altered:
    """From each strided convolution to the 1x1 in front of it that nothing else reads."""
    graph = model.graph
    nodes = {node["name"]: node for node in graph["nodes"]}
    read = Counter([name for node in graph["nodes"] for name in node["inputs"]] + graph["outputs"])
    strides: dict[str, list[int]] = {}
    for node in _some(model, "conv2d", "convolution"):
        front = nodes.get(node["inputs"][0])
        while front and front["op"] in ("batchnorm", *_ACTIVATIONS) and read[front["name"]] == 1:
            front = nodes.get(front["inputs"][0])
        if (
            front and front["op"] == "conv2d" and read[front["name"]] == 1
            and front["kernel"] == front["stride"] == [1, 1]
            and node["kernel"] != [1, 1] and node["stride"] != [1, 1]
        ):  # fmt: skip
            strides |= {front["name"]: node["stride"], node["name"]: [1, 1]}
    if not strides:
        raise DoesNotApply("no convolution with a stride has a 1x1 in front of it")

    def change(node: Json) -> Json:
        return {**node, "stride": strides[node["name"]]} if node["name"] in strides else node

    return _with(model, change)


def kernel_1x1(model: Altered) -> Altered:
    nodes = _some(model, "conv2d", "convolution")
    if all(node["kernel"] == [1, 1] for node in nodes):
        raise AlreadySo("all its convolutions are 1x1")
    none = [[0, 0], [0, 0]]
    return _with(model, lambda node: _set(node, "conv2d", kernel=[1, 1], padding=none))


def batchnorm_keep(model: Altered, keep: float) -> Altered:
    nodes = _some(model, "batchnorm", "batch normalisation")
    if keep > 1:
        raise WrongParameter(f"keep={keep:g} is not possible: a number from 0 to 1 is expected")
    if all(node["keep"] == keep for node in nodes):
        raise AlreadySo(f"all its batch normalisations keep {keep:g}")
    return _with(model, lambda node: _set(node, "batchnorm", keep=keep))


def convolution_biases(model: Altered) -> Altered:
    nodes = _some(model, "conv2d", "convolution")
    if all(node["bias"] for node in nodes):
        raise AlreadySo("all its convolutions have biases")
    return _with(model, lambda node: _set(node, "conv2d", bias=True))


def softmax_twice(model: Altered) -> Altered:
    """Behind each output that a softmax cross-entropy reads, which takes a softmax of its own."""
    losses, outputs = model.recipe["losses"], model.graph["outputs"]
    read = [loss["output"] for loss in losses if loss["name"] == "softmax-cross-entropy"]
    if not read:
        raise DoesNotApply("no loss of it takes a softmax")
    made = {node["name"] for node in model.graph["nodes"] if node["op"] == "softmax"}
    names = {node["name"] for node in model.graph["nodes"]}
    names |= {spec["name"] for spec in model.graph["inputs"]}
    behind = {name: _free(f"{name}_softmax", 0, 1, names) for name in outputs
              if name in read and name not in made}  # fmt: skip
    if not behind:
        raise AlreadySo("a softmax makes what its losses take a softmax of")
    nodes = list(model.graph["nodes"])
    for name, own in behind.items():
        nodes.append({"name": own, "op": "softmax", "inputs": [name], "parameters": {}})
    graph = {**model.graph, "nodes": nodes, "outputs": [behind.get(one, one) for one in outputs]}
    recipe = {**model.recipe}
    for part in ("losses", "metrics"):
        recipe[part] = [{**one, "output": behind.get(one["output"], one["output"])}
                        for one in model.recipe[part]]  # fmt: skip
    return replace(model, graph=rebuilt(graph, lambda node: node), recipe=recipe)


def hidden_units(model: Altered, units: str) -> Altered:
    """Other widths for a chain of dense layers: those in front of the last one."""
    if units != "none" and not re.fullmatch(r"[1-9][0-9]{0,6}(-[1-9][0-9]{0,6})*", units):
        raise WrongParameter(f"units={units!r} is not possible: widths such as 64-32-16, or none")
    wanted = [] if units == "none" else [int(width) for width in units.split("-")]
    if len(wanted) > _MOST_LAYERS or max(wanted, default=1) > _MOST_UNITS:
        raise WrongParameter(f"units={units[:60]!r} is not possible: it is too large")
    front, hidden, last = _chain(model.graph)
    if [layer["units"] for layer, _ in hidden] == wanted:
        raise AlreadySo(f"its hidden layers have {units} units")
    nodes, source = list(front), last["inputs"][0] if not hidden else hidden[0][0]["inputs"][0]
    names = {name for node in (*front, last) for name in (node["name"],)}
    # a layer that the model has keeps its name, and with it its stream of initial weights
    activation = hidden[0][1] if hidden else None
    if wanted and activation is None:
        raise DoesNotApply("it has no hidden layer to take the activation from")
    for place, width in enumerate(wanted):
        old = hidden[min(place, len(hidden) - 1)]
        own = [_free(name, place, len(hidden), names) for name in (old[0]["name"], old[1]["name"])]
        nodes.append({**old[0], "name": own[0], "inputs": [source], "units": width})
        nodes.append({**old[1], "name": own[1], "inputs": [own[0]]})
        source = own[1]
    nodes.append({**last, "inputs": [source]})
    graph = {**model.graph, "nodes": nodes}
    return replace(model, graph=rebuilt(graph, lambda node: node))


def _free(name: str, place: int, known: int, taken: set[str]) -> str:
    own = name if place < known else f"{name}_{place + 1}"
    while own in taken:
        own += "_"
    taken.add(own)
    return own


def _chain(graph: Json) -> tuple[list[Json], list[tuple[Json, Json]], Json]:
    """What is in front of the first dense layer, the (dense, activation) pairs, the last layer."""
    why = "it is not a chain of dense layers, each with an activation, that ends in a dense layer"
    nodes = graph["nodes"]
    for before, node in zip([None, *nodes], nodes, strict=False):
        source = before["name"] if before else graph["inputs"][0]["name"]
        if node["inputs"] != [source] or node["op"] not in ("dense", "flatten", *_ACTIVATIONS):
            raise DoesNotApply(why)
    front = [node for node in nodes if node["op"] == "flatten"]
    rest = nodes[len(front) :]
    pairs = list(zip(rest[:-1:2], rest[1:-1:2], strict=False))
    fits = (
        front == nodes[: len(front)] and len(rest) == 2 * len(pairs) + 1
        and all(d["op"] == "dense" and a["op"] in _ACTIVATIONS for d, a in pairs)
        and rest[-1]["op"] == "dense" and graph["outputs"] == [rest[-1]["name"]]
        and len({a["op"] for _, a in pairs}) <= 1
    )  # fmt: skip
    if not fits:
        raise DoesNotApply(why)
    return front, pairs, rest[-1]


def recurrent_units(model: Altered, embedding: int, units: int) -> Altered:
    """Other sizes for every embedding and every LSTM."""
    if max(embedding, units) > _MOST_UNITS:
        raise WrongParameter(f"{max(embedding, units):,} units are too many")
    _some(model, "lstm", "LSTM")
    sizes = {"embedding": embedding, "lstm": units}
    if all(node["units"] == sizes[node["op"]] for node in model.graph["nodes"]
           if node["op"] in sizes):  # fmt: skip
        raise AlreadySo(f"its embeddings have {embedding} units and its LSTMs {units}")

    def change(node: Json) -> Json:
        return {**node, "units": sizes[node["op"]]} if node["op"] in sizes else node

    return _with(model, change)


def _some(model: Altered, op: str, what: str) -> list[Json]:
    """The nodes of an op, of which there must be one."""
    nodes = [node for node in model.graph["nodes"] if node["op"] == op]
    if not nodes:
        raise DoesNotApply(f"it has no {what}")
    return nodes


def _set(node: Json, op: str, **attributes: Any) -> Json:
    return {**node, **attributes} if node["op"] == op else node


def _with(model: Altered, change: Change) -> Altered:
    return replace(model, graph=rebuilt(model.graph, change))
