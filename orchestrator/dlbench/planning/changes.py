"""Changes of a workload: `size=small`, of its recipe `batch=8`, `optimizer.lr=0.1`; one text each.

A suite makes them for a workload, a sweep for each of its points. A changed recipe is checked like
one that somebody wrote: types by `workloads/_recipe.py`, ranges by `recipes.check`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dlbench import extensions, workloads
from dlbench.errors import UserError, unknown
from dlbench.extensions import Extension
from dlbench.planning import recipes
from dlbench.planning.graph import GraphError
from dlbench.planning.recipes import Recipe
from dlbench.suites.extent import Value
from dlbench.workloads import Workload

SIZE = "size"
_PLAIN = ("batch", "shuffle", "warmup", "clip")
_PARTS: dict[str, tuple[Callable[..., Any], ...]] = {
    "optimizer": tuple(recipes.OPTIMIZERS.values()),
    "schedule": tuple(recipes.SCHEDULES.values()),
    "stopping": (recipes.stopping,),
    "augment": (recipes.augmentation,),
}
_NAMED = ("optimizer", "schedule")
_REMOVABLE = ("clip", "schedule", "stopping", "augment")


def _fields() -> tuple[str, ...]:
    dotted = [
        f"{part}.{name}"
        for part, builders in _PARTS.items()
        for build in builders
        for name in (*(("name",) if part in _NAMED else ()), *inspect.signature(build).parameters)
    ]
    return (*_PLAIN, *_REMOVABLE[1:], *dict.fromkeys(dotted))


FIELDS = (SIZE, *_fields())
"""What can be changed: a workload's size, and these of its recipe; a part such as `stopping` can
only be taken away (none)."""


def read_value(text: str) -> Value:
    """A value as it is written on a command line."""
    words: dict[str, Value] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?[0-9]{1,15}", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text[:60]):
        return float(text)
    return text


def written(value: Value) -> str:
    """The one way in which a value is written: `0.1`, `1`, `true`, `none`."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)


def changed(name: str, changes: Mapping[str, Value], where: Path | str = "--sweep") -> Workload:
    """The workload in the size and with the recipe that the changes ask for; `where` they do.

    A value that is not possible is refused with a sentence that names it."""
    from dlbench.toml_file import Table
    from dlbench.workloads._recipe import read_recipe

    workload = _sized(workloads.find(name), changes.get(SIZE), where)
    changes = {field: value for field, value in changes.items() if field != SIZE}
    if not changes:
        return workload
    content = _edited(workload.recipe, changes, where)
    table = Table(Path(where), "", content)
    recipe = read_recipe(table, workload.graph["outputs"])
    for graph in (workload.graph, workload.proof_graph):
        try:
            recipes.check(graph, recipe)
        except GraphError as error:
            asked = " ".join(texts_of(changes))
            raise UserError(
                f"{where}: {asked} is not possible on {name}: {error}", "Give another value."
            ) from error
    return replace(workload, recipe=recipe)


def _sized(workload: Workload, size: Value, where: Path | str) -> Workload:
    """The workload with the graphs and the recipe that it has in a size; None: its own."""
    if size is None:
        return workload
    if size not in workload.sizes:
        sizes = ", ".join(workload.sizes) or "none but its own"
        raise UserError(
            f"{where}: {workload.name} has no size {written(size)!r}.", f"Its sizes: {sizes}."
        )
    other = workloads.find(workload.sizes[str(size)])
    return replace(workload, graph=other.graph, recipe=other.recipe, proof=other.proof)


def _edited(recipe: Recipe, changes: Mapping[str, Value], where: Path | str) -> Recipe:
    """The recipe with the values put in, not yet checked."""
    content: Recipe = {
        key: dict(value) if isinstance(value, dict) else value for key, value in recipe.items()
    }
    # another optimiser or schedule first: its own coefficients come after it
    for field in sorted(changes, key=lambda field: not field.endswith(".name")):
        value = changes[field]
        if field not in FIELDS:
            raise UserError(
                f"{where}: a recipe has no field {field!r}.", unknown("field", field, FIELDS).remedy
            )
        part, dot, name = field.partition(".")
        if not dot:
            if part in _PARTS and value is not None:
                raise UserError(
                    f"{where}: {field}={written(value)} is not possible.",
                    f"Write {field}=none to go without, or name what to change:"
                    f" {', '.join(f for f in FIELDS if f.startswith(f'{part}.'))}.",
                )
            content[part] = value
        elif part == "optimizer" and name == "name" and value in recipes.OPTIMIZERS:
            kept = {key: content[part][key] for key in ("lr", "weight_decay")}
            content[part] = recipes.OPTIMIZERS[str(value)](**kept)
        elif part == "schedule" and name == "name" and value in recipes.SCHEDULES:
            content[part] = {"name": value, "warmup": (content[part] or {}).get("warmup", 0)}
        else:
            start = {"validation": 0.1} if part == "stopping" else {}
            content[part] = {**(content[part] or start), name: value}
    return content


def proven(changes: Iterable[str]) -> tuple[str, ...]:
    """Those of the changes that need a proof of their own.

    A certificate draws every coefficient of the optimisers anew: it holds for others, too. It does
    not hold for another formula, nor for another batch: some faults show at some sizes alone."""
    texts = tuple(changes)
    kept: tuple[str, ...] = (f"{SIZE}=", "batch=", "schedule", "clip")
    if any(text.startswith(("optimizer.name=", "optimizer.nesterov=")) for text in texts):
        kept = (*kept, "optimizer.")
    return tuple(text for text in texts if text.startswith(kept))


def texts_of(changes: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(f"{field}={written(value)}" for field, value in changes.items())


def parsed(texts: Iterable[str]) -> dict[str, Value]:
    """The changes that `texts_of` wrote."""
    pairs = (text.partition("=") for text in texts)
    return {field: read_value(value) for field, _, value in pairs}


def workload_of(name: str, changes: Iterable[str]) -> Workload:
    changes = tuple(changes)
    if not changes:
        return workloads.find(name)
    return _workload_of(name, changes, extensions.search_path())


@cache
def _workload_of(
    name: str, changes: tuple[str, ...], _search_path: tuple[Extension, ...]
) -> Workload:
    """Made once, because there may be thousands of trials."""
    return changed(name, parsed(changes), "plan.jsonl")
