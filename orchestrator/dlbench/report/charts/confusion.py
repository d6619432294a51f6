"""Confusion matrices: one a contender, of the trial with the middle accuracy."""

from __future__ import annotations

import numpy as np

from dlbench.analysis.confusion import Labels, counts_of, labels_of
from dlbench.analysis.metrics import ACCURACY
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row

_MOST_CLASSES = 30


def confusion(material: Material) -> tuple[Chart | None, list[str]]:
    """(the chart, what had to be left out)."""
    rows: list[Row] = []
    left_out: dict[str, None] = {}
    known: dict[Labels, Labels] = {}
    for group in material.groups:
        trial = group.typical(ACCURACY)
        if trial is None:
            continue
        record = material.results.trial(trial["id"])
        named = labels_of(record)
        if named is None:
            continue
        labels = known.setdefault(named, named)  # read once
        if labels.values is None:
            left_out[
                f"The labels of {labels.data} are not in the data cache, so there is no confusion"
                f" matrix of {trial['workload']}. `dlbench data fetch {labels.data}` brings them."
            ] = None
            continue
        counts = counts_of(record, labels)
        if counts is not None and len(counts) > _MOST_CLASSES:
            left_out[
                f"{trial['workload']} has {len(counts)} classes, too many for a confusion matrix;"
                " `dlbench show --verbose` names those that are taken for others most often."
            ] = None
        elif counts is not None:
            rows += [
                (group, label, predicted, int(number))
                for (label, predicted), number in np.ndenumerate(counts)
            ]
    note = "Test split, the trial with the middle accuracy. Shade: share of the true class."
    columns = "group label predicted count"
    chart = Chart.of("confusion", "confusion", "Confusion matrices", columns, rows, note)
    return chart, list(left_out)
