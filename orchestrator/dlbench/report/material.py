"""What a report is made of: the cases of a campaign, their groups, and the comparisons of these.

All of it comes from `dlbench.analysis`, so that the report, `compare` and `show` say the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dlbench.analysis.across_workloads import WorkloadRanking
from dlbench.analysis.campaign_comparison import CaseComparison, describe_case
from dlbench.analysis.groups import Case, Group, cases_of
from dlbench.analysis.metrics import KNOWN, QUALITY, TRAINING, Metric
from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.campaigns.sources import CampaignSource
from dlbench.errors import UserError, damaged
from dlbench.running.certificates import Certificate
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.intervals import Interval
from dlbench.statistics.verdicts import Verdict
from dlbench.versions import release_order

TESTED = (TRAINING, *QUALITY)
"""The metrics on which differences are tested. Of the others sizes and intervals are shown, and
nothing is claimed: asking ten questions of each pair would make every answer weaker."""

PHASES = {
    "import": "import_s",
    "load": "load_s",
    "build": "build_s",
    "first-step": "first_step_s",
    "warm-up": "warm_up_s",
    "train": "steady_s",
    "evaluate": "evaluate_s",
    "validate": "validate_s",
    "save": "save_s",
}
"""The phases of a trial in their order, with their columns."""

_COLUMNS = (
    *(metric.column for metric in KNOWN if metric.in_report),
    *PHASES.values(),
    "loss", "reason", "weights_sha256",
)  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """The median or mean of a group with its interval, in the unit that is shown."""

    middle: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class AgainstBest:
    """How a group compares with the best of its case."""

    estimate: float
    """Ratio of medians, or difference of means in the unit shown; less than the best is worse for
    scores."""
    interval: Interval | None
    verdict: Verdict | None
    """None: it is the best."""


@dataclass(frozen=True)
class Material:
    results: Results
    cases: tuple[Case, ...]
    """By label; their groups by framework and version."""
    certificates: tuple[Certificate, ...]
    _compared: dict[Metric, dict[str, CaseComparison]] = field(default_factory=dict, repr=False)
    _across: dict[Metric, tuple[WorkloadRanking, ...]] = field(default_factory=dict, repr=False)
    _described: dict[Metric, dict[str, Comparison]] = field(default_factory=dict, repr=False)

    @property
    def about(self) -> CampaignAbout:
        """What campaign.json says."""
        return self.results.sources[0].about

    @cached_property
    def planned(self) -> dict[str, PlannedTrial]:
        return {
            planned.id: planned for source in self.results.sources for planned in source.planned
        }

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return tuple(group for case in self.cases for group in case.groups)

    @cached_property
    def contenders(self) -> dict[str, str]:
        """The framework of each contender, in the order of frameworks and versions."""
        first = {group.name: group for group in self.groups}
        names = sorted(first, key=lambda name: (release_order(first[name].release), name))
        return {name: first[name].framework for name in names}

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that any complete trial has."""
        shown = (metric for metric in KNOWN if metric.in_report)
        return tuple(m for m in shown if any(group.values(m) for group in self.groups))

    def compared(self, case: str, metric: Metric) -> CaseComparison | None:
        """All contenders of a case on a tested metric; None where nobody has it."""
        if metric not in self.metrics or metric not in TESTED:
            return None
        if metric not in self._compared:
            comparison = self.results.compare(metric.column, stability=metric is TRAINING)
            self._across[metric] = comparison.across
            self._compared[metric] = {one.case.label: one for one in comparison.cases}
        return self._compared[metric].get(case)

    def across(self, metric: Metric) -> tuple[WorkloadRanking, ...]:
        """The contenders ranked across workloads, where there are enough of these."""
        self.compared("", metric)
        return self._across.get(metric, ())

    def comparison(self, case: str, metric: Metric) -> Comparison | None:
        """As `compared`, for all metrics; those not tested are described against the best."""
        if metric in TESTED:
            compared = self.compared(case, metric)
            return compared.comparison if compared else None
        if metric not in self._described:
            self._described[metric] = {one.label: describe_case(one, metric) for one in self.cases}
        return self._described[metric].get(case)

    def estimate(self, group: Group, metric: Metric) -> Estimate | None:
        """None: no complete trial of the group has the metric."""
        comparison = self.comparison(group.case, metric)
        summary = comparison.summaries.get(group.name) if comparison else None
        if summary is None or not summary.n or not group.complete:
            return None
        middle, around = summary.middle(metric.kind)
        factor = metric.factor
        low, high = (around.low * factor, around.high * factor) if around else (None, None)
        return Estimate(middle * factor, low, high, summary.n)

    def against_best(self, group: Group, metric: Metric) -> AgainstBest | None:
        """None: the group is not ranked."""
        comparison = self.comparison(group.case, metric)
        if comparison is None or group.name not in comparison.ranking:
            return None
        for best in comparison.ranking:
            if best == group.name:
                return AgainstBest(1.0 if metric.kind.scale == "ratio" else 0.0, None, None)
            verdict = comparison.between(group.name, best)
            if verdict is not None and verdict.effect is not None:
                return _from_side_of_group(verdict, best, metric)
        return None


def load(path: Path) -> Material:
    """A campaign, read for a report."""
    results = open_results(path)
    trials = results.trials()
    if not len(trials):
        raise UserError(
            f"{path} has no trial that has ended.", f"`dlbench watch {path}` follows it."
        )
    cases = sorted(cases_of(trials, "release", _COLUMNS), key=lambda case: case.label)
    return Material(
        results,
        tuple(replace(case, groups=tuple(sorted(case.groups, key=_order))) for case in cases),
        tuple(one for source in results.sources for one in _certificates(source)),
    )


def _order(group: Group) -> tuple[object, ...]:
    return release_order(group.release), group.name


def _from_side_of_group(verdict: Verdict, best: str, metric: Metric) -> AgainstBest:
    """The effect of the group against the best, whichever of them the verdict names first."""
    assert verdict.effect is not None
    estimate, around = verdict.effect.estimate, verdict.effect.interval
    ratio = metric.kind.scale == "ratio"
    if verdict.first == best:
        estimate = 1 / estimate if ratio else -estimate
        if around is not None:
            around = around.inverse() if ratio else around.negative()
    if not ratio:
        estimate *= metric.factor
        if around is not None:
            around = replace(
                around, low=around.low * metric.factor, high=around.high * metric.factor
            )
    return AgainstBest(estimate, around, verdict)


def _certificates(source: CampaignSource) -> tuple[Certificate, ...]:
    certificates = []
    for path in sorted((source.folder / "certificates").glob("*.json")):
        try:
            certificates.append(Certificate.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(path, error) from error
    certificates.sort(key=lambda c: (c.workload, release_order(c.release), c.device))
    return tuple(certificates)
