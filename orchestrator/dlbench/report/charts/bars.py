"""Bars (or dots, for qualities): the median or mean of each group on one metric."""

from __future__ import annotations

from collections.abc import Sequence

from dlbench.analysis.metrics import Metric
from dlbench.report.material import Material
from dlbench.report.tables import Cell, Chart, Table


def bars(material: Material, metric: Metric) -> Chart | None:
    """With intervals; groups that are not certified are hollow."""
    rows: list[Sequence[Cell]] = []
    for group in material.groups:
        value = material.estimate(group, metric)
        if value is not None:
            rows.append((group.case, group.name, group.framework, value.middle, value.low,
                         value.high, value.n, group.proof))  # fmt: skip
    if not rows:
        return None
    table = Table.of_rows(
        ("case", "contender", "framework", metric.middle, "low", "high", "n", "certified"), rows
    )
    word = "Less" if metric.kind.less_is_better else "More"
    middle = metric.middle.capitalize()
    note = f"{middle} over complete trials with its 95 % bootstrap interval. {word} is better."
    settings = {
        "unit": metric.unit,
        "less": metric.kind.less_is_better,
        # Bars begin at 0; what is compared by its difference has no such beginning.
        "dots": metric.kind.scale == "difference",
    }
    return Chart(f"bars-{metric.column}".replace("_", "-"), "bars", metric.title, table,
                 f"{note} {_few_runs(material)}".strip(), settings)  # fmt: skip


def _few_runs(material: Material) -> str:
    """What intervals of so few runs can cover, where that is less than they say."""
    least = min((len(g.complete) for g in material.groups if len(g.complete) >= 3), default=0)
    if least < 3:
        return "Groups of fewer than 3 trials get no interval."
    at_most = 1 - 2.0 ** (1 - least)
    if at_most >= 0.95:
        return ""
    return f"With {least} trials an interval covers at most {100 * at_most:.0f} %."
