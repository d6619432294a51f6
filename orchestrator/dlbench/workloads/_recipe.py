"""The recipe of somebody's own workload: how it is trained, as bench/FORMATS.md has it.

What decides the result must be written down: coefficients of an optimiser have no default, but for
those whose 0 means that they are not used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dlbench.errors import unknown
from dlbench.planning import recipes
from dlbench.toml_file import Table

_KEYS = set(inspect.signature(recipes.recipe).parameters)


def read_recipe(table: Table, outputs: Collection[str]) -> dict[str, Any]:
    """The recipe in JSON form, every key explicit."""
    table.refuse_others(_KEYS)
    return {
        "batch": table.count("batch"),
        "epochs": table.count("epochs"),
        "shuffle": table.get("shuffle", bool, True),
        "warmup": table.count("warmup", 10, least=0),
        "optimizer": _built(table.table("optimizer"), recipes.OPTIMIZERS),
        "schedule": _optional(table, "schedule", lambda each: _built(each, recipes.SCHEDULES)),
        "clip": table.get("clip", float) if table.values.get("clip") is not None else None,
        "stopping": _optional(table, "stopping", lambda each: _called(each, recipes.stopping)),
        "augment": _optional(table, "augment", lambda each: _called(each, recipes.augmentation)),
        "evaluate": list(table.strings("evaluate")) if "evaluate" in table.values else ["test"],
        "losses": [
            {
                **_head(loss, recipes.LOSSES, outputs, {"weight", "divisor"}),
                "weight": loss.get("weight", float, 1.0),
                **_written(loss, "divisor", float),
            }
            for loss in table.tables("losses")
        ],
        "metrics": [
            {
                **_head(metric, recipes.METRICS, outputs, {"input", "deltas"}),
                **_written(metric, "input", str),
                **_written(metric, "deltas", str),
            }
            for metric in (table.tables("metrics") if table.values.get("metrics") else ())
        ],
    }


def _written(table: Table, key: str, kind: type) -> dict[str, Any]:
    """The key and its value, if they were written; else nothing."""
    return {} if table.values.get(key) is None else {key: table.get(key, kind)}


def _optional(
    table: Table, key: str, read: Callable[[Table], dict[str, Any]]
) -> dict[str, Any] | None:
    return read(table.table(key)) if table.values.get(key) is not None else None


def _built(table: Table, kinds: Mapping[str, Callable[..., dict[str, Any]]]) -> dict[str, Any]:
    """An optimiser or a schedule, by its name."""
    return _called(table, kinds[_one_of(table, "name", kinds)], "name")


def _called(table: Table, build: Callable[..., dict[str, Any]], *others: str) -> dict[str, Any]:
    """Every coefficient that has no 0 for "not used" must be written down."""
    settings = inspect.signature(build, eval_str=True).parameters
    table.refuse_others({*others, *settings})
    values: dict[str, Any] = {}
    for key, setting in settings.items():
        unused = setting.default if setting.default in (0, False) else None
        if setting.annotation is int:
            values[key] = table.count(key, unused, least=0)
        elif setting.annotation == float | None:
            values[key] = None if table.values.get(key) is None else table.get(key, float)
        else:
            values[key] = table.get(key, setting.annotation, unused)
    return build(**values)


def _head(
    table: Table, names: Collection[str], outputs: Collection[str], more: Collection[str] = ()
) -> dict[str, Any]:
    """What a loss and a metric have in common: which output is compared with which target."""
    table.refuse_others({"name", "output", "target", "mask", *more})
    return {
        "name": _one_of(table, "name", names),
        "output": _one_of(table, "output", outputs),
        "target": table.get("target", str),
        "mask": table.get("mask", str) if table.values.get("mask") is not None else None,
    }


def _one_of(table: Table, key: str, known: Collection[str]) -> str:
    value = table.get(key, str)
    if value not in known:
        raise table.error(
            key, f"must be one of {', '.join(known)}", unknown("value", value, known).remedy
        )
    return value
