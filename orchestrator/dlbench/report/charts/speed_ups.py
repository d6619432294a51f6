"""GPU against CPU: the training time of the same release, variant and setting on either."""

from __future__ import annotations

from collections.abc import Sequence

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Cell, Chart, Table
from dlbench.statistics.effects import effect

_COLUMNS = ("case", "contender", "framework", "median", "low", "high", "interval", "n", "certified")
_SHARED = ("workload", "release", "variant", "setting", "machine", "point")


def speed_ups(material: Material) -> Chart | None:
    timed = [group for group in material.groups if group.certified and group.values(TRAINING)]
    on_cpu = {_key(group): group for group in timed if group.rows[0]["device"] == "cpu"}
    rows: list[Sequence[Cell]] = []
    for group in timed:
        cpu = on_cpu.get(_key(group))
        if cpu is None or group.rows[0]["device"] == "cpu":
            continue
        ratio = effect(cpu.values(TRAINING), group.values(TRAINING))
        around = ratio.interval
        low, high, named = (around.low, around.high, around.name) if around else (None, None, "")
        rows += [
            (
                case,
                cpu.name,
                group.framework,
                ratio.estimate,
                low,
                high,
                named,
                min(ratio.runs),
                "yes",
            )
            for case in (cpu.case, group.case)
        ]
    if not rows:
        return None
    note = "Median training time on the CPU over that on the GPU; above 1 the GPU is faster."
    return Chart("speed-ups", "bars", "GPU against CPU", Table.of_rows(_COLUMNS, rows), note,
                 {"unit": "×", "less": False})  # fmt: skip


def _key(group: Group) -> tuple[str, ...]:
    return tuple(str(group.rows[0][column]) for column in _SHARED)
