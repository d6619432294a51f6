"""enthalpy-fcrn-10 of gupta2023: dense layers with a shortcut around each."""

from __future__ import annotations

from typing import Any

from dlbench.planning.graph import Graph
from dlbench.planning.recipes import adam, loss, metric, recipe
from dlbench.workloads import Workload


def fcrn(name: str, widths: tuple[int, ...]) -> dict[str, Any]:
    """After each dense layer its input is added: as it is where widths match, else projected."""
    g = Graph(name)
    x, width = g.input("fractions", (86,)), 86
    for units in widths:
        y = g.relu(g.dense(x, units))
        x = g.add(y, x if units == width else g.dense(x, units))
        width = units
    g.outputs(g.dense(x, 1, name="enthalpy"))
    return g.to_json()


WORKLOAD = Workload(
    name="enthalpy-fcrn-10",
    task="regression",
    dataset="enthalpy",
    graph=fcrn("enthalpy-fcrn-10", (1024, 1024, 512, 512, 256, 256, 128, 64, 32)),
    recipe=recipe(
        batch=32,
        epochs=100,
        optimizer=adam(1e-4),
        losses=[loss("mean-absolute-error", "enthalpy", "value")],
        metrics=[metric("mean-absolute-error", "enthalpy", "value")],
    ),
    about="Formation enthalpy from element fractions: ten dense layers with shortcuts",
    proof=fcrn("enthalpy-fcrn-10-proof", (32, 32, 16, 16, 8)),
)
