"""Reproducibility: what one seed gives in different trials and in different frameworks."""

from __future__ import annotations

from collections.abc import Sequence

from dlbench.campaigns.trial_result import TrialResult
from dlbench.report.groups import Group
from dlbench.report.material import Material
from dlbench.report.metrics import QUALITY, Metric, written
from dlbench.report.tables import Cell, Chart, Table
from dlbench.statistics.words import count, listing

_MOST_SEEDS = 40


def seeds(material: Material) -> tuple[Chart | None, list[str]]:
    """Final quality by seed, and what repeating a seed gave."""
    metric = next((m for m in QUALITY if m in material.metrics), None)
    if metric is None:
        return None, []
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        wanted = sorted({result.seed for result in group.complete})[:_MOST_SEEDS]
        for result in group.complete:
            value = metric.of(result)
            if value is not None and result.seed in wanted:
                rows.append((group.place, group.contender, group.framework, result.seed, value,
                             result.metrics.get("loss")))  # fmt: skip
    if not rows:
        return None, []
    said = [*_repeated(material, metric), *_starts(material)]
    columns = ("workload", "contender", "framework", "seed", "value", "loss")
    note = (
        f"Final {metric.title.lower()} of every trial; hover to see the same seed elsewhere."
        " In the matched setting a seed means the same initial weights and batch order everywhere."
    )
    title = f"{metric.title} at a fixed seed"
    return Chart("seeds", "dots", title, Table.of_rows(columns, rows), note,
                 {"unit": metric.unit, "title": metric.title}), said  # fmt: skip


def _repeated(material: Material, metric: Metric) -> list[str]:
    """Contenders that ran a seed more than once: the same to the last digit, or how far apart?"""
    alike, apart = [], []
    for group in material.groups:
        spread = _spread(group, metric)
        if spread is None:
            continue
        where = f"{group.contender} on {group.place}"
        if spread == 0:
            alike.append(where)
        else:
            apart.append(f"{where} by up to {written(spread)}{metric.unit and ' ' + metric.unit}")
    said = []
    if alike:
        said.append(f"The same seed gave the same loss and quality again: {listing(alike)}.")
    if apart:
        said.append(f"The same seed gave different results: {listing(apart)}.")
    if not alike and not apart:
        said.append(
            "No contender ran the same seed twice, so bit-for-bit repeatability was not tested."
        )
    return said


def _spread(group: Group, metric: Metric) -> float | None:
    """How far trials of one seed differ in quality; None: no seed came twice."""
    by_seed: dict[int, list[TrialResult]] = {}
    for result in group.complete:
        by_seed.setdefault(result.seed, []).append(result)
    spreads = []
    for same in by_seed.values():
        values = [value for result in same if (value := metric.of(result)) is not None]
        if len(values) > 1:
            spreads.append(max(values) - min(values))
    return max(spreads) if spreads else None


def _starts(material: Material) -> list[str]:
    """Whether equal seeds really began with equal weights."""
    digests: dict[tuple[str, int], set[str]] = {}
    names: dict[tuple[str, int], set[str]] = {}
    for group in material.groups:
        for result in group.results:
            digest = result.model.get("weights_sha256")
            if digest and result.setting == "matched":
                digests.setdefault((group.workload, result.seed), set()).add(str(digest))
                names.setdefault((group.workload, result.seed), set()).add(group.contender)
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
