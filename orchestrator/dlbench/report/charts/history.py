"""Training time over the releases of each framework, and where its level changed."""

from __future__ import annotations

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import TRAINING
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row


def history(material: Material) -> tuple[Chart | None, list[str]]:
    lines: dict[tuple[str, ...], list[Group]] = {}
    for group in material.groups:
        if group.certified and group.values(TRAINING):
            line = group.name.replace(group.release, group.framework)
            key = (group.case, group.framework, line, group.conditions.machine)
            lines.setdefault(key, []).append(group)
    rows: list[Row] = []
    for (case, framework, line, _), groups in lines.items():
        for group in groups if len(groups) > 1 else ():
            time = material.estimate(group, TRAINING)
            if time is not None:
                rows.append((case, line, group.name, framework, group.release.partition("@")[2],
                             time.middle, time.low, time.high, time.interval, time.n))  # fmt: skip
    note = "Median training time of each release, oldest first, with its interval or range."
    columns = "case line contender framework release median low high interval n"
    chart = Chart.of("history", "history", "Over the releases", columns, rows, note, unit="s")
    return chart, _changes(material) if chart else []


def _changes(material: Material) -> list[str]:
    """Where the level of a framework's training time changed along its releases."""
    sentences = []
    for case in material.cases:
        compared = material.compared(case.label, TRAINING)
        for line in compared.history if compared else ():
            start = f"{case.label}: {line.framework}."
            sentences += [f"{start} {change.sentence}" for change in line.changes]
    return sentences
