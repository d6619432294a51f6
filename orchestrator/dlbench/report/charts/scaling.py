"""How cost and quality change with what was swept: a line a contender over a field's values."""

from __future__ import annotations

from dlbench.analysis.scaling import DRAWN, lines_of, sentences
from dlbench.report.material import Material
from dlbench.report.tables import Chart


def scaling(material: Material) -> tuple[Chart | None, list[str]]:
    lines = lines_of(material.cases)
    rows = [
        (group.case, line.family, line.field, line.contender, line.framework, metric.title,
         metric.unit, value, cost.middle, cost.low, cost.high, cost.interval, cost.n)
        for line in lines
        for metric in DRAWN
        for value, group in line.points
        if (cost := material.estimate(group, metric)) is not None
    ]  # fmt: skip
    note = (
        "Median over complete trials at each value of the field, with its 95 % interval, or with"
        " the range of single runs. Contenders were compared within each value, not across them."
    )
    columns = "case family field contender framework metric unit value median low high interval n"
    chart = Chart.of("scaling", "scaling", "How cost and quality change", columns, rows, note)
    return chart, list(sentences(lines)) if chart else []
