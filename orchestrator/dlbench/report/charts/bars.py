"""Bars (or dots, for qualities): the median or mean of each group on one metric."""

from __future__ import annotations

from dlbench.analysis.metrics import Metric
from dlbench.report.material import Material
from dlbench.report.tables import Chart


def bars(material: Material, metric: Metric) -> Chart | None:
    """With intervals; groups that are not certified are hollow."""
    rows = [
        (group, value.middle, value.low, value.high, value.interval, value.n, group.proof)
        for group in material.groups
        if (value := material.estimate(group, metric)) is not None
    ]
    word = "Less is better." if metric.kind.less_is_better else "More is better."
    middle = metric.middle.capitalize()
    note = (
        f"{middle} over complete trials with its 95 % interval, or with the range of single runs"
        f" where these are too few for one. {word if metric.judged else ''}".rstrip()
    )
    return Chart.of(
        f"bars-{metric.column}".replace("_", "-"), "bars", metric.title,
        f"group {metric.middle} low high interval n certified", rows, note,
        unit=metric.unit, less=metric.kind.less_is_better,
        # Bars begin at 0; what is compared by its difference has no such beginning.
        dots=metric.kind.scale == "difference",
    )  # fmt: skip
