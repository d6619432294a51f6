"""The sections of the report."""

from __future__ import annotations

from dlbench.analysis.metrics import KNOWN
from dlbench.report.sections import _CHARTS


def test_every_metric_of_the_report_has_its_bars() -> None:
    drawn = {metric for _, _, what in _CHARTS if isinstance(what, tuple) for metric in what}
    assert drawn == {metric for metric in KNOWN if metric.in_report}
