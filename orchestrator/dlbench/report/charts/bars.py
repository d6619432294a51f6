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
                         value.high, value.interval, value.n, group.proof))  # fmt: skip
    if not rows:
        return None
    table = Table.of_rows(
        ("case", "contender", "framework", metric.middle, "low", "high", "interval", "n",
         "certified"), rows
    )  # fmt: skip
    word = "Less is better." if metric.kind.less_is_better else "More is better."
    middle = metric.middle.capitalize()
    note = (
        f"{middle} over complete trials with its 95 % interval, or with the range of single runs"
        f" where these are too few for one. {word if metric.judged else ''}".rstrip()
    )
    settings = {
        "unit": metric.unit,
        "less": metric.kind.less_is_better,
        # Bars begin at 0; what is compared by its difference has no such beginning.
        "dots": metric.kind.scale == "difference",
    }
    return Chart(f"bars-{metric.column}".replace("_", "-"), "bars", metric.title, table,
                 note, settings)  # fmt: skip
