"""`dlbench show workload NAME`: its layers with shapes, parameters and arithmetic; its recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlbench.cli.console import print_json, print_table, stdout

if TYPE_CHECKING:
    from dlbench.workloads import Workload

_NAME_WIDTH, _READS_WIDTH = 14, 16
"""So that the table fits 80 columns."""


def show_workload(name: str, *, as_json: bool) -> None:
    from dlbench.workloads import find

    workload = find(name)
    if as_json:
        print_json(workload_json(workload))
        return
    console = stdout()
    for line in _head(workload):
        console.print(line, markup=False, soft_wrap=not console.is_terminal)
    layers = layers_of(workload)
    rows = [
        [
            _cut(layer["name"], _NAME_WIDTH),
            layer["op"],
            _cut(", ".join(layer["inputs"]), _READS_WIDTH),
            "x".join(map(str, layer["shape"])),
            f"{layer['parameters']:,}" if layer["parameters"] else "-",
            short_count(layer["flops"]) if layer["flops"] else "-",
        ]
        for layer in layers
    ]
    total = sum(layer["flops"] for layer in layers)
    rows.append(["total", "", "", "", f"{workload.parameters:,}", short_count(total)])
    print_table(["layer", "op", "reads", ">output", ">parameters", ">FLOPs"], rows, title="\nmodel")
    console.print("FLOPs: one row's forward pass in evaluation, 2 for a multiply-add.")


def workload_json(workload: Workload) -> dict[str, Any]:
    from dlbench.planning.flops import FORMULAS

    layers = layers_of(workload)
    return {
        **summary(workload),
        "source": workload.source,
        "recipe": workload.recipe,
        "inputs": workload.graph["inputs"],
        "outputs": workload.graph["outputs"],
        "layers": layers,
        "flops_formulas": {op: FORMULAS[op] for op in sorted({layer["op"] for layer in layers})},
    }


def summary(workload: Workload) -> dict[str, Any]:
    """What `dlbench list workloads --json` says of each."""
    from dlbench.planning.flops import flops

    return {
        "name": workload.name,
        "task": workload.task,
        "dataset": workload.dataset,
        "parameters": workload.parameters,
        "flops": flops(workload.graph),
        "batch": workload.recipe["batch"],
        "epochs": workload.recipe["epochs"],
        "optimizer": workload.recipe["optimizer"]["name"],
        "recipe_words": recipe_words(workload),
        "about": workload.about,
        "aliases": workload.aliases,
        "origin": workload.origin,
    }


def layers_of(workload: Workload) -> list[dict[str, Any]]:
    """Each node of the graph: its name, op, what it reads, its output's shape, and its size."""
    from dlbench.planning.flops import flops_by_node
    from dlbench.planning.graph import count_parameters

    graph = workload.graph
    arithmetic = flops_by_node(graph)
    return [
        {
            "name": node["name"],
            "op": node["op"],
            "inputs": [*node["inputs"], *(node.get("initial") or ())],
            "shape": node["shape"],
            "parameters": count_parameters({**graph, "nodes": [node]}),
            "flops": arithmetic[node["name"]],
        }
        for node in graph["nodes"]
    ]


def recipe_words(workload: Workload) -> str:
    """`sgd lr 0.01 momentum 0.5, batch 128, 15 epochs`."""
    recipe = workload.recipe
    optimizer = recipe["optimizer"]
    words = f"{optimizer['name']} lr {optimizer['lr']:g}"
    if optimizer.get("momentum"):
        words += f" momentum {optimizer['momentum']:g}"
    if optimizer.get("nesterov"):
        words += " (Nesterov's)"
    if optimizer["weight_decay"]:
        words += f" weight decay {optimizer['weight_decay']:g}"
    epochs = f"{recipe['epochs']} epoch{'' if recipe['epochs'] == 1 else 's'}"
    words += f", batch {recipe['batch']}, {epochs}"
    if not recipe["shuffle"]:
        words += ", not shuffled"
    if recipe.get("schedule"):
        words += f", {recipe['schedule']['name']} schedule"
    if recipe.get("clip"):
        words += f", clipped at {recipe['clip']:g}"
    if recipe.get("stopping"):
        words += f", patience {recipe['stopping']['patience']}"
    return words + (", augmented" if recipe.get("augment") else "")


def short_count(number: float) -> str:
    """`24.1 M`: three digits and a unit."""
    for unit in ("", " k", " M", " G"):
        if number < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:,.0f} T"


def _head(workload: Workload) -> list[str]:
    inputs = ", ".join(
        f"{spec['name']} {'x'.join(map(str, spec['shape'])) or 'one number'}"
        for spec in workload.graph["inputs"]
    )
    also = f" (also {', '.join(workload.aliases)})" if workload.aliases else ""
    lines = [
        f"{workload.name}{also}: {workload.about or workload.task}",
        f"task: {workload.task}; data: {workload.dataset}; inputs: {inputs}",
        f"recipe: {recipe_words(workload)}",
    ]
    return [*lines, f"model from: {workload.source}"] if workload.source else lines


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
