"""Under what circumstances a number came about: what has to stand beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import TRAINING
from dlbench.host.machine import cautions
from dlbench.report.material import Material
from dlbench.statistics.stability import Finding
from dlbench.statistics.words import count


def of_case(material: Material, case: Case) -> tuple[str, ...]:
    """`synthetic data`, `200 steps`, `batch 64`, …: what all contenders of a case share, and the
    range where they do not."""
    rows = [row for group in case.groups for row in group.rows]
    machines = material.results.machines()
    used = {str(row["machine"]) for row in rows}
    busy = cautions({digest: one for digest, one in machines.items() if digest in used})
    threads = _several(row["threads"] or row["threads_used"] for row in rows)
    limits = _several(row["cpus"] for row in rows)
    parts = [
        _data(rows),
        _budget(rows),
        f"batch {batch}" if (batch := _several(row["batch"] for row in rows)) else "",
        f"{threads} thread{'' if threads == '1' else 's'}" if threads else "",
        f"{limits} core{'' if limits == '1' else 's'} allowed" if limits else "",
        "busy machine" if busy else "",
        f"{len(used)} machines" if len(used) > 1 else "",
    ]
    return tuple(part for part in parts if part)


def cautions_of(material: Material) -> list[str]:
    """What a reader has to know before any number."""
    said = (_synthetic(material), _short(material), *cautions(material.results.machines()))
    return [sentence for sentence in said if sentence]


def _synthetic(material: Material) -> str:
    made_up = [case for case in material.cases if "synthetic" in _sources(case)]
    if not made_up:
        return ""
    what = "All data are" if len(made_up) == len(material.cases) else "The data of some cases are"
    return f"{what} synthetic: times are comparable, accuracies and errors mean nothing."


def _short(material: Material) -> str:
    """Where `--steps` cut the training short."""
    cut = [
        case
        for case in material.cases
        if any(row["budget_steps"] is not None for group in case.groups for row in group.rows)
    ]
    if not cut:
        return ""
    steps = _several(row["budget_steps"] for c in cut for g in c.groups for row in g.rows)
    what = "Every training was" if len(cut) == len(material.cases) else "Some trainings were"
    return f"{what} cut to {steps} steps: qualities are not those of a whole training."


def weaknesses(material: Material, group: Group) -> tuple[str, ...]:
    """What weakens the times of a group, in sentences."""
    return tuple(finding.sentence for finding in _findings(material, group))


def marks(material: Material, group: Group) -> tuple[str, ...]:
    """The same in two words each."""
    return tuple(dict.fromkeys(finding.concern.value for finding in _findings(material, group)))


def failed(group: Group) -> str:
    """`2 of 10 failed`; empty where none has."""
    lost = len(group.rows) - len(group.complete)
    return f"{lost} of {len(group.rows)} failed" if lost else ""


def _findings(material: Material, group: Group) -> tuple[Finding, ...]:
    compared = material.compared(group.case, TRAINING)
    return compared.steadiness.groups.get(group.name, ()) if compared else ()


def _sources(case: Case) -> set[str]:
    return {str(row["data_source"]) for group in case.groups for row in group.rows}


def _data(rows: Iterable[Mapping[str, Any]]) -> str:
    kinds = sorted({str(row["data_source"]) for row in rows if row["data_source"]})
    return f"{' and '.join(kinds)} data" if kinds else ""


def _budget(rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    steps = _several(row["budget_steps"] for row in rows)
    if steps:
        return f"{steps} steps"
    epochs = [row["budget_epochs"] for row in rows if row["budget_epochs"] is not None]
    if not epochs:
        return ""
    if len(set(epochs)) == 1:
        return count(epochs[0], "epoch")
    return f"{_several(epochs)} epochs"


def _several(values: Iterable[Any]) -> str:
    """One number, or the range of several; empty where nothing is known."""
    known = sorted({value for value in values if value is not None})
    if not known:
        return ""
    return f"{known[0]:g}" if len(known) == 1 else f"{known[0]:g} to {known[-1]:g}"
