"""Workloads: dataset + model graph + training recipe. One file each; the file defines WORKLOAD."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any

from dlbench.errors import unknown
from dlbench.planning.graph import count_parameters


@dataclass(frozen=True)
class Workload:
    """What is trained on what, and how."""

    name: str
    task: str
    dataset: str
    graph: dict[str, Any]
    recipe: dict[str, Any]
    about: str = ""
    proof: dict[str, Any] | None = None
    """The same model in a smaller size, for the certificate; None: the model itself is small."""
    only_proof: bool = False
    """A graph that is there to be certified, not to be trained for a result."""

    @property
    def proof_graph(self) -> dict[str, Any]:
        return self.proof or self.graph

    @property
    def parameters(self) -> int:
        return count_parameters(self.graph)


@cache
def workloads() -> dict[str, Workload]:
    """All workloads by name."""
    found = (
        importlib.import_module(f"{__name__}.{module.name}").WORKLOAD
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    )
    return {workload.name: workload for workload in sorted(found, key=lambda w: w.name)}


def find(name: str) -> Workload:
    if name not in workloads():
        raise unknown("workload", name, workloads(), "dlbench list workloads")
    return workloads()[name]
