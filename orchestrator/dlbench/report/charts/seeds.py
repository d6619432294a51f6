"""Reproducibility: what one seed gives in different trials and in different frameworks."""

from __future__ import annotations

from dlbench.analysis.metrics import QUALITY
from dlbench.analysis.reproducibility import sentences
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row
from dlbench.statistics.words import count

_MOST_SEEDS = 40


def seeds(material: Material) -> tuple[Chart | None, list[str]]:
    """Final quality by seed, and what repeating a seed gave."""
    metric = next((m for m in QUALITY if m in material.metrics), None)
    if metric is None:
        return None, []
    rows: list[Row] = []
    for group in material.groups:
        seeded = [row for row in group.complete if row["seed"] is not None]
        wanted = sorted({row["seed"] for row in seeded})[:_MOST_SEEDS]
        for row in seeded:
            value = row[metric.column]
            if value is not None and row["seed"] in wanted:
                rows.append((group, row["seed"], value * metric.factor, row["loss"]))
    note = (
        f"Final {metric.title.lower()} of every trial; hover to see the same seed elsewhere."
        " In the matched setting a seed means the same initial weights and batch order everywhere."
    )
    title = f"{metric.title} at a fixed seed"
    columns = "group seed value loss"
    chart = Chart.of("seeds", "dots", title, columns, rows, note, unit=metric.unit)
    return chart, [*_repeated(material), *_initial_weights(material)] if chart else []


def _repeated(material: Material) -> list[str]:
    """What seeds that ran more than once gave."""
    found = sentences(material.groups, with_case=len(material.cases) > 1)
    return list(found) or [
        "No contender ran the same seed twice, so bit-for-bit repeatability was not tested."
        " `dlbench run --seeds same` tests it."
    ]


def _initial_weights(material: Material) -> list[str]:
    """Whether equal seeds really began with equal weights."""
    digests: dict[tuple[str, int], set[str]] = {}
    names: dict[tuple[str, int], set[str]] = {}
    for group in material.groups:
        for row in group.rows:
            if row["weights_sha256"] and row["setting"] == "matched":
                key = (row["workload"], row["seed"])
                digests.setdefault(key, set()).add(row["weights_sha256"])
                names.setdefault(key, set()).add(group.name)
    shared = [key for key in digests if len(names[key]) > 1]
    if not shared:
        return []
    different = [key for key in shared if len(digests[key]) > 1]
    if not different:
        return [
            "At every seed that several contenders ran, all began with the same initial weights"
            f" (SHA-256 equal for {count(len(shared), 'combination')} of workload and seed)."
        ]
    return [
        f"At {count(len(different), 'combination')} of workload and seed the initial weights"
        " differ between contenders, although the setting is matched."
    ]
