"""When trials ran: the parts of campaigns that ran in one go, and how much these differ.

Within a session contenders take turns, so what the machine does concerns them all. Between two
sessions anything may have changed, and a difference between the days looks like one between the
contenders. Whoever was measured in both sessions shows by how much they differ.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from dlbench.analysis.metrics import Metric
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.verdicts import Decision, Verdict
from dlbench.statistics.words import listing

if TYPE_CHECKING:
    from dlbench.analysis.groups import Case, Group

PAUSE = 3600.0
"""Seconds. A campaign that rested longer goes on in a new session: it was resumed or extended."""
_LONGEST = 1e7
_MOST = 3
"""So many groups are named one by one."""


def sessions_of(trials: pl.DataFrame) -> list[str]:
    """The session of each row: its campaign, with a number after its first pause."""
    sessions = [str(campaign) for campaign in trials["campaign"].to_list()]
    began: list[int | None] = trials["started"].dt.epoch("s").to_list()
    took: list[float | None] = trials["wall_s"].to_list()
    known = [(sessions[i], start, i) for i, start in enumerate(began) if start is not None]
    ended: dict[str, float] = {}
    part: dict[str, int] = {}
    for campaign, start, i in sorted(known):
        before = ended.get(campaign, start)
        if start - before > PAUSE:
            part[campaign] = part.get(campaign, 1) + 1
        if campaign in part:
            sessions[i] = f"{campaign}/{part[campaign]}"
        seconds = took[i]
        # What a damaged file says of its length counts as nothing.
        lasted = seconds if seconds is not None and 0 < seconds < _LONGEST else 0.0
        ended[campaign] = max(before, start + lasted)
    return sessions


def session_notes(case: Case, metric: Metric, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What to say where groups that are compared were never measured in the same session."""
    apart = [verdict for verdict in verdicts if verdict.apart]
    if not apart:
        if found := session_difference(case, metric):
            yield f"Measured in several sessions. {_differs(found, metric)}"
        return
    groups = {group.name: group for group in case.groups}
    names = dict.fromkeys(name for v in apart for name in (v.first, v.second))
    when = [f"{name} {_when(groups[name])}" for name in list(names)[:_MOST]]
    if len(names) > _MOST:
        when.append(f"{len(names) - _MOST} others at other times")
    yield (
        f"Not measured in the same session: {listing(when)}. What changed on the machine in between"
        " counts as a difference between them."
    )
    found = session_difference(case, metric)
    if found is None:
        yield "No contender was measured in two sessions: how much these differ is not known."
    else:
        yield f"{_differs(found, metric)} A smaller difference between sessions means nothing."
    baseline = groups[apart[0].second].release
    yield (
        f"Measure the baseline anew in the same campaign: `dlbench run --against {baseline}` puts"
        " it into the same rounds."
    )


def _when(group: Group) -> str:
    days = sorted({str(row["started"].date()) for row in group.rows if row["started"] is not None})
    campaigns = sorted({str(row["campaign"]) for row in group.rows})
    day = (
        f"on {days[0]}" if len(set(days)) == 1 else f"from {days[0]} to {days[-1]}" if days else ""
    )
    where = f"in campaign {campaigns[0]}" if len(campaigns) == 1 else "in several campaigns"
    return f"{day} {where}".strip()


def session_difference(case: Case, metric: Metric) -> tuple[float, str] | None:
    """By how much sessions differ, a factor or a difference, and in whom this was seen; None where
    nobody was measured in two of them."""
    ratio = metric.kind.scale == "ratio"
    seen = []
    for group in case.groups:
        middles = [middle for middle in _middles(group, metric).values() if math.isfinite(middle)]
        if len(middles) > 1 and not (ratio and min(middles) <= 0):
            low, high = min(middles), max(middles)
            seen.append((high / low if ratio else high - low, group.name))
    return max(seen, default=None)


def within_session_difference(comparison: Comparison, case: Case, metric: Metric) -> Comparison:
    """No difference is shown between sessions that is no larger than what one contender alone
    differs by between sessions."""
    if not any(verdict.apart and verdict.different for verdict in comparison.tested):
        return comparison
    found = session_difference(case, metric)
    if found is None:
        return comparison
    ratio = metric.kind.scale == "ratio"

    def judged(verdict: Verdict) -> Verdict:
        effect = verdict.effect
        if effect is None or any(effect.failed) or not (verdict.apart and verdict.different):
            return verdict
        estimate = effect.estimate
        away = max(estimate, 1 / estimate) if ratio else abs(estimate)
        small = away <= found[0]
        return replace(verdict, decision=Decision.NOT_SHOWN) if small else verdict

    return replace(comparison, verdicts=tuple(map(judged, comparison.verdicts)))


def _differs(found: tuple[float, str], metric: Metric) -> str:
    size, name = found
    return f"Between sessions {name} alone differs by {metric.kind.size(size)}."


def _middles(group: Group, metric: Metric) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in group.measured(metric):
        values.setdefault(str(row["session"]), []).append(float(row[metric.column]))
    middle: Any = statistics.fmean if metric.kind.scale == "difference" else statistics.median
    return {session: middle(own) for session, own in values.items()}
