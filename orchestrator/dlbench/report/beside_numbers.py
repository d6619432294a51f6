"""What stands beside numbers on the page: circumstances, failures, and what weakens them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlbench.analysis.circumstances import cautions_of as cautions_of_groups
from dlbench.analysis.circumstances import circumstances, is_busy, machine_notes
from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import TRAINING
from dlbench.host.machine import cautions, gpu_cautions
from dlbench.monitor.gpu import digest_of
from dlbench.report.material import Material
from dlbench.statistics.stability import Finding


def of_case(material: Material, case: Case) -> str:
    """`synthetic data, 200 steps, batch 64, busy machine`: under what its numbers came about."""
    machines = {group.conditions.machine for group in case.groups}
    known = material.results.machines()
    here = {one: known[one] for one in machines if one in known}
    parts = [*circumstances(case.groups)]
    if cautions(here) or any(map(is_busy, case.groups)):
        parts.append("busy machine")
    if gpu_cautions(here, used_devices(material, case.groups)):
        parts.append("busy GPU")
    if len(machines) > 1:
        parts.append(f"{len(machines)} machines")
    return ", ".join(parts)


def cautions_of(material: Material) -> list[str]:
    """What a reader has to know before any number."""
    return [
        *cautions_of_groups(material.groups),
        *cautions(material.results.machines()),
        *busy_gpus(material),
    ]


def busy_gpus(material: Material) -> list[str]:
    """Who else used the GPUs that were measured, in sentences."""
    return gpu_cautions(material.results.machines(), used_devices(material, material.groups))


def used_devices(material: Material, groups: Iterable[Group]) -> set[str]:
    """The devices that trained: `gpu:1` where the plan tells which GPU that was, `gpu:` and the
    digest of its UUID where it tells that, else `gpu`."""
    found = set()
    for row in (row for group in groups for row in group.rows):
        planned = material.planned.get(row["id"])
        gpus = planned.trial.gpus if planned else ()
        given = gpus[0].rpartition("=")[2] if gpus else ""
        which = "0" if given == "all" else given
        if which.startswith(("GPU-", "MIG-")):
            which = digest_of(which)
        known = row["device"] == "gpu" and which
        found.add(f"gpu:{which}" if known else str(row["device"]))
    return found


def lost(group: Group) -> str:
    """`2 of 10 failed`; empty where every trial was completed."""
    of = len(group.rows)
    counts = ((len(group.failed), "failed"), (len(group.interrupted), "interrupted"))
    return ", ".join(f"{n} of {of} {word}" for n, word in counts if n)


def weaknesses(material: Material, group: Group) -> tuple[str, ...]:
    """What weakens the times of a group, in sentences."""
    return tuple(finding.sentence for finding in _findings(material, group))


def marks(material: Material, group: Group) -> tuple[str, ...]:
    """What weakens the times of a group, in two words each."""
    found = [finding.concern.value for finding in _findings(material, group)]
    return tuple(dict.fromkeys([*found, *machine_notes(group)]))


def _findings(material: Material, group: Group) -> Sequence[Finding]:
    compared = material.compared(group.case, TRAINING)
    return compared.steadiness.groups.get(group.name, ()) if compared else ()
