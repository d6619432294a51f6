"""`--margin 1.05 --margin accuracy=0.01`: which differences do not matter, by the kind of metric.

A bare factor above 1 is for what is compared by its ratio, a bare difference below 0.5 for scores.
Errors and losses have no scale that everybody knows: their margin is given by name, or for the only
metric that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dlbench.analysis.metrics import Metric, find_metric
from dlbench.errors import UserError
from dlbench.statistics.margins import margin_problem
from dlbench.statistics.measurements import LOSS

_BOTH = "Give one for each kind, such as `--margin 1.05 --margin accuracy=0.01`."


def margins_by_metric(
    given: Sequence[str], metrics: Sequence[Metric], columns: Mapping[str, Any]
) -> dict[str, float]:
    """The margin of each metric that has one, by its column."""
    margins: dict[str, float] = {}
    for text in (one for one in given if "=" in one):
        name, _, value = text.partition("=")
        column = find_metric(name.strip(), columns).column
        metric = next((one for one in metrics if one.column == column), None)
        if metric is None:
            raise UserError(f"The margin {text!r} is for a metric that is not compared.", _BOTH)
        _add(margins, metric, _number(value, text))
    by_name = set(margins)
    for text in (one for one in given if "=" not in one):
        margin = _number(text, text)
        fitting = [metric for metric in metrics if _fits(margin, metric, len(metrics) == 1)]
        if not fitting:
            why = margin_problem(margin, metrics[0].kind)
            kind = f" for {metrics[0].column}: {why}" if why else ""
            raise UserError(f"A margin of {margin:g} is not possible{kind}.", _BOTH)
        for metric in fitting:
            if metric.column not in by_name:
                _add(margins, metric, margin)
    return margins


def _fits(margin: float, metric: Metric, only: bool) -> bool:
    if metric.kind == LOSS and not only:
        return False
    return not margin_problem(margin, metric.kind)


def _add(margins: dict[str, float], metric: Metric, margin: float) -> None:
    if metric.column in margins:
        raise UserError(f"There are two margins for {metric.column}.", _BOTH)
    check_margin(margin, metric)
    margins[metric.column] = margin


def check_margin(margin: float, metric: Metric) -> None:
    if why := margin_problem(margin, metric.kind):
        raise UserError(
            f"A margin of {margin:g} is not possible for {metric.column}: {why}.", _BOTH
        )


def _number(value: str, text: str) -> float:
    try:
        margin = float(value)
    except ValueError:
        raise UserError(f"The margin {text!r} is not a number.", _BOTH) from None
    if not math.isfinite(margin) or margin <= 0:
        raise UserError(f"A margin of {margin:g} is not possible.", _BOTH)
    return margin
