"""GPU against CPU: the training time of the same release, variant and setting on either."""

from __future__ import annotations

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import TRAINING
from dlbench.analysis.results import ALPHA
from dlbench.host.machine import used_gpus
from dlbench.report.beside_numbers import used_devices
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row
from dlbench.statistics.effects import effect
from dlbench.statistics.sample_size import fewest_repeats
from dlbench.statistics.words import listing

_SHARED = (
    "workload", "release", "variant", "setting", "engine", "point", "cpus", "memory_limit_bytes",
)  # fmt: skip
_SHOWN = fewest_repeats(ALPHA, 1)
"""With fewer runs of each no difference between two can be shown."""


def speed_ups(material: Material) -> tuple[Chart | None, list[str]]:
    timed = [group for group in material.groups if group.certified and group.values(TRAINING)]
    on_cpu = {_key(group): group for group in timed if group.rows[0]["device"] == "cpu"}
    rows: list[Row] = []
    pairs: list[int] = []
    for group in timed:
        cpu = on_cpu.get(_key(group))
        if cpu is None or group.rows[0]["device"] == "cpu":
            continue
        ratio = effect(cpu.values(TRAINING), group.values(TRAINING))
        # Of several GPUs each has a case of its own; beside the CPU one name would stand for all.
        shared = (cpu.case, group.case) if group.rows[0]["device"] == "gpu" else (group.case,)
        around = ratio.interval
        low, high, named = (around.low, around.high, around.name) if around else (None, None, "")
        of = (cpu.name, group.framework, ratio.estimate, low, high, named, min(ratio.runs), "yes")
        rows += [(case, *of) for case in shared]
        pairs.append(min(ratio.runs))
    note = (
        "Median training time on the CPU over that on the GPU, of runs under equal conditions;"
        f" above 1 the GPU is faster.{_models(material)}"
    )
    chart = Chart.of(
        "speed-ups", "bars", "GPU against CPU",
        "case contender framework median low high interval n certified", rows, note,
        unit="×", less=False,
    )  # fmt: skip
    few = [runs for runs in pairs if runs < _SHOWN]
    which = "These come" if len(few) == len(pairs) else f"{len(few)} of {len(pairs)} come"
    caution = (
        f"{which} from fewer than {_SHOWN} runs on a device: they show sizes, and prove nothing."
    )
    return chart, [caution] if few else []


def _models(material: Material) -> str:
    """Which GPUs trained."""
    used = used_devices(material, material.groups)
    names = [
        str(card.get("name"))
        for machine in material.results.machines().values()
        for _, card in used_gpus(machine, used)
        if card.get("name")
    ]
    return f" GPU: {listing(list(dict.fromkeys(names)))}." if names else ""


def _key(group: Group) -> tuple[object, ...]:
    """What is equal on both devices: machine, data and scale, too."""
    return group.conditions, *(str(group.rows[0][column]) for column in _SHARED)
