"""The recipe of somebody's own workload: how it is trained, as bench/FORMATS.md has it.

What decides the result must be written down: coefficients of an optimiser have no default, but for
those whose 0 means that they are not used.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

from dlbench.errors import unknown
from dlbench.planning import recipes
from dlbench.workloads._table import Table

_KEYS = {"batch", "epochs", "shuffle", "warmup", "optimizer", "losses", "metrics"}


def read_recipe(table: Table, outputs: Collection[str]) -> dict[str, Any]:
    """The recipe in JSON form, every key explicit."""
    table.refuse_others(_KEYS)
    return {
        "batch": table.count("batch"),
        "epochs": table.count("epochs"),
        "shuffle": table.get("shuffle", bool, True),
        "warmup": table.count("warmup", 10, least=0),
        "optimizer": _optimizer(table.table("optimizer")),
        "losses": [
            {
                **_head(loss, recipes.LOSSES, outputs, {"weight"}),
                "weight": loss.get("weight", float, 1.0),
            }
            for loss in table.tables("losses")
        ],
        "metrics": [_head(metric, recipes.METRICS, outputs) for metric in table.tables("metrics")],
    }


def _optimizer(table: Table) -> dict[str, Any]:
    """Every coefficient that has no 0 for "not used" must be written down."""
    build = recipes.OPTIMIZERS[_one_of(table, "name", recipes.OPTIMIZERS)]
    settings = inspect.signature(build).parameters
    table.refuse_others({"name", *settings})
    values = {
        key: table.get(
            key,
            bool if isinstance(setting.default, bool) else float,
            setting.default if setting.default in (0.0, False) else None,
        )
        for key, setting in settings.items()
    }
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
