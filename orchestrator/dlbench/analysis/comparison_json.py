"""A comparison as plain JSON: numbers for programs, the same sentences for people."""

from __future__ import annotations

import math
from typing import Any

from dlbench.analysis.campaign_comparison import CampaignComparison, CaseComparison
from dlbench.analysis.circumstances import group_notes
from dlbench.statistics.effects import Effect
from dlbench.statistics.friedman import Friedman
from dlbench.statistics.intervals import Interval
from dlbench.statistics.stability import Finding
from dlbench.statistics.summary import Summary
from dlbench.statistics.thresholds import ThresholdResult
from dlbench.statistics.verdicts import Verdict


def comparison_json(comparison: CampaignComparison) -> dict[str, Any]:
    return {
        "v": 1,
        "metric": comparison.metric.column,
        "words": comparison.metric.words,
        "kind": comparison.metric.kind.name,
        "less_is_better": comparison.metric.kind.less_is_better,
        "by": comparison.by,
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "cases": [_case(case) for case in comparison.cases],
        "across": [
            {"fixed": dict(one.fixed), "sentence": one.sentence, **_friedman(one.friedman)}
            for one in comparison.across
        ],
    }


def threshold_json(result: ThresholdResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "condition": str(result.threshold),
        "result": result.outcome.value,
        "failed": result.failed,
        "exit_code": result.outcome.exit_code,
        "sentence": result.sentence,
        "p_holm": result.adjusted,
        "verdict": _verdict(result.verdict) if result.verdict else None,
    }


def _case(case: CaseComparison) -> dict[str, Any]:
    comparison = case.comparison
    return {
        "workload": case.case.workload,
        "fixed": dict(case.case.fixed),
        "label": case.case.label,
        "circumstances": list(case.circumstances),
        "copies": case.case.copies,
        "sample_size": comparison.sample_size_sentence,
        "test": comparison.test_sentence,
        "answer": comparison.answer,
        "warnings": list(case.warnings),
        "ranking": list(comparison.ranking),
        "groups": [
            {
                "name": group.name,
                **_summary(comparison.summaries[group.name]),
                "set_apart": [r.value for r in comparison.set_apart.get(group.name, ())],
                "machine": group.conditions.machine,
                "scale": group.conditions.scale,
                "failed": len(group.failed),
                "interrupted": len(group.interrupted),
                "without_metric": group.without(case.metric),
                "incomplete": group.incomplete or None,
                "notes": list(group_notes(group)),
                "trials": [row["id"] for row in group.measured(case.metric)],
                "findings": [_finding(f) for f in case.steadiness.groups.get(group.name, ())],
            }
            for group in case.case.groups
        ],
        "between": [_finding(finding) for finding in case.steadiness.between],
        "order": case.steadiness.order.sentence if case.steadiness.order else None,
        "pairs": [_verdict(verdict) for verdict in comparison.verdicts],
        "history": [
            {
                "framework": line.framework,
                "releases": [point.name for point in line.points],
                "sentence": line.sentence,
                "changes": [
                    {
                        "since": change.name,
                        "before": list(change.before),
                        "until": change.until,
                        "better": change.better,
                        "p": change.p,
                        "effect": _effect(change.effect),
                        "sentence": change.sentence,
                    }
                    for change in line.changes
                ],
            }
            for line in case.history
        ],
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "n": summary.n,
        "median": _finite(summary.median),
        "median_interval": _interval(summary.median_interval),
        "interval_name": summary.median_interval.name if summary.median_interval else None,
        "mean": _finite(summary.mean),
        "mean_interval": _interval(summary.mean_interval),
        "sd": summary.sd,
        "mad": _finite(summary.mad),
        "iqr": _finite(summary.iqr),
        "least": _finite(summary.low),
        "greatest": _finite(summary.high),
        "sentence": summary.sentence,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    test, equivalent = verdict.test, verdict.equivalence
    return {
        "first": verdict.first,
        "second": verdict.second,
        "verdict": verdict.decision.value,
        "reasons": [reason.value for reason in verdict.reasons],
        "effect": _effect(verdict.effect) if verdict.effect else None,
        "p": test.p if test else None,
        "p_holm": verdict.adjusted,
        "equivalence_p": equivalent.p if equivalent else None,
        "same_session": not verdict.apart,
        "sentence": verdict.sentence,
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "scale": effect.kind.scale,
        "estimate": _finite(effect.estimate),
        "interval": _interval(effect.interval),
        "hodges_lehmann": _finite(effect.shift),
        "hodges_lehmann_interval": _interval(effect.shift_interval),
        "cliffs_delta": effect.delta,
        "paired": effect.paired,
        "runs": list(effect.runs),
        "failed": list(effect.failed),
        "interval_is_range": bool(effect.interval and effect.interval.is_range),
    }


def _friedman(test: Friedman) -> dict[str, Any]:
    return {
        "workloads": test.workloads,
        "left_out": list(test.left_out),
        "statistic": test.statistic,
        "p": test.p,
        "method": test.method,
        "enough": test.enough,
        "mean_ranks": dict(zip(test.groups, test.mean_ranks, strict=True)),
        "critical_difference": _finite(test.critical_difference),
        "cliques": [list(clique) for clique in test.cliques],
        "pairs": [
            {
                "better": pair.better,
                "worse": pair.worse,
                "rank_gap": pair.rank_gap,
                "p": pair.p,
                "p_holm": pair.adjusted,
                "beyond_critical_difference": pair.beyond_critical,
                "shown": pair.shown,
            }
            for pair in test.pairs
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "concern": finding.concern.value,
        "size": finding.size,
        "p": finding.p,
        "sentence": finding.sentence,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return [interval.low, interval.high] if interval else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
