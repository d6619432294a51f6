"""The recipe of somebody's own workload: how it is trained, as bench/FORMATS.md has it.

What decides the result must be written down: coefficients of an optimiser have no default, but for
those whose 0 means that they are not used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dlbench.errors import unknown
from dlbench.workloads._table import Table

_NEEDED = None
_OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"lr": _NEEDED, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "adam": {
        "lr": _NEEDED,
        "beta1": _NEEDED,
        "beta2": _NEEDED,
        "epsilon": _NEEDED,
        "weight_decay": 0.0,
    },
    "adadelta": {"lr": _NEEDED, "rho": _NEEDED, "epsilon": _NEEDED, "weight_decay": 0.0},
}
_LOSSES = (
    "softmax-cross-entropy",
    "sigmoid-cross-entropy",
    "mean-squared-error",
    "mean-absolute-error",
)
_METRICS = ("accuracy", "binary-accuracy", "mean-absolute-error", "mean-squared-error")
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
            {**_head(loss, _LOSSES, outputs, {"weight"}), "weight": loss.get("weight", float, 1.0)}
            for loss in table.tables("losses")
        ],
        "metrics": [_head(metric, _METRICS, outputs) for metric in table.tables("metrics")],
    }


def _optimizer(table: Table) -> dict[str, Any]:
    name = _one_of(table, "name", _OPTIMIZERS)
    settings = _OPTIMIZERS[name]
    table.refuse_others({"name", *settings})
    values = {
        key: table.get(key, bool if isinstance(default, bool) else float, default)
        for key, default in settings.items()
    }
    return {"name": name, **values}


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
