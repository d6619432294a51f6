"""What a report is made of: the cases of a campaign, their groups, and the comparisons of these.

All of it comes from `dlbench.analysis`, so that the report, `compare` and `show` say the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dlbench.analysis.campaign_comparison import (
    CampaignComparison,
    CaseComparison,
    describe_case,
)
from dlbench.analysis.error_rate import ErrorRate, error_rate
from dlbench.analysis.groups import Case, Group, cases_of
from dlbench.analysis.metrics import KNOWN, QUALITY, TRAINING, Metric
from dlbench.analysis.results import ALPHA, Results, open_results
from dlbench.analysis.selection import only
from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.certificate_file import Certificate, read_certificates
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.errors import UserError
from dlbench.report.numbers import span, written
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.intervals import Interval
from dlbench.statistics.verdicts import Decision, Verdict
from dlbench.studies.claims import Study
from dlbench.studies.reading import study_of
from dlbench.versions import release_order

ALWAYS_TESTED = (TRAINING, *QUALITY)
"""What the headline and its sentences are about."""
_MOST_PAIRS = 50_000
"""Pairs of contenders, over all cases and metrics, up to which every metric is tested and every
contender can be the baseline of the page."""

PHASES = {
    "import": "import_s",
    "load": "load_s",
    "build": "build_s",
    "first-step": "first_step_s",
    "warm-up": "warm_up_s",
    "train": "steady_s",
    "evaluate": "evaluate_s",
    "validate": "validate_s",
    "decode": "decode_s",
    "evaluate-train": "evaluate_train_s",
    "save": "save_s",
}
"""The phases of a trial in their order, with their columns."""

_COLUMNS = (
    *(metric.column for metric in KNOWN if metric.in_report),
    *PHASES.values(),
    "loss", "reason", "weights_sha256", "wall_s", "data_source",
    "step_ms_p05", "step_ms_p95", "certificate", "lock", "started",
)  # fmt: skip


@dataclass(frozen=True)
class _WithInterval:
    """What has an interval around it, or the range of single runs, or neither."""

    around: Interval | None

    @property
    def low(self) -> float | None:
        return self.around.low if self.around else None

    @property
    def high(self) -> float | None:
        return self.around.high if self.around else None

    @property
    def is_range(self) -> bool:
        return self.around is not None and self.around.is_range

    @property
    def interval(self) -> str:
        """What low and high are: `95 % interval`, `range of 3 runs`; empty where there are none."""
        return self.around.name if self.around else ""


@dataclass(frozen=True)
class Estimate(_WithInterval):
    """The median or mean of a group with its interval, in the unit that is shown."""

    middle: float
    n: int

    @property
    def span(self) -> str:
        """Its interval, or the range of its runs; empty where there is neither."""
        if self.around is None:
            return ""
        return span(written(self.low), written(self.high), self.is_range)


@dataclass(frozen=True)
class Relation(_WithInterval):
    """How one group compares with another of its case, seen from its side."""

    decision: Decision
    estimate: float | None
    """Ratio of medians, or difference of means in the unit that is shown."""
    verdict: Verdict

    @property
    def by_failures(self) -> bool:
        """Whether runs that failed decided, against what those that finished show."""
        effect = self.verdict.effect
        return self.verdict.different and effect is not None and effect.seen != effect.direction


@dataclass(frozen=True)
class Material:
    results: Results
    cases: tuple[Case, ...]
    """By label; their groups by framework and version."""
    certificates: tuple[Certificate, ...]
    """Failed proofs first."""
    rate: ErrorRate
    study: Study | None = None
    """The published study whose claims are judged."""
    _compared: dict[Metric, CampaignComparison] = field(default_factory=dict, repr=False)
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
        ordered = sorted(first.values(), key=_by_version)
        return {group.name: group.framework for group in ordered}

    @cached_property
    def drawn(self) -> tuple[Metric, ...]:
        """The metrics that any complete trial has."""
        shown = (metric for metric in KNOWN if metric.in_report)
        return tuple(m for m in shown if any(group.values(m) for group in self.groups))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Those of them on which contenders are compared with the best."""
        return tuple(metric for metric in self.drawn if metric.judged)

    @cached_property
    def all_pairs(self) -> bool:
        """Whether there are so few contenders that the page can hold every pair of them."""
        pairs = sum(math.comb(len(case.groups), 2) for case in self.cases)
        return pairs * len(self.metrics) <= _MOST_PAIRS

    @cached_property
    def tested(self) -> tuple[Metric, ...]:
        """The metrics on which differences are tested; of the others sizes are shown."""
        if self.all_pairs:
            return self.metrics
        return tuple(metric for metric in self.metrics if metric in ALWAYS_TESTED)

    def on(self, metric: Metric) -> CampaignComparison | None:
        """The whole campaign on a metric; None: it is not tested."""
        if metric in self.tested and metric not in self._compared:
            self._compared[metric] = self.results.compare(
                metric.column, alpha=self._alpha, stability=metric is TRAINING
            )
        return self._compared.get(metric)

    def compared(self, case: str, metric: Metric) -> CaseComparison | None:
        """All contenders of a case on a tested metric; None where nobody has it."""
        comparison = self.on(metric)
        return comparison.by_label.get(case) if comparison else None

    @cached_property
    def _alpha(self) -> float:
        """The alpha of each question."""
        return self.rate.of_each(self.results, [metric.column for metric in self.tested])

    def error_rate(self, metrics: Sequence[Metric]) -> str:
        """How often differences that are claimed on these metrics may be none, in a sentence."""
        compared = (self.on(metric) for metric in metrics)
        return self.rate.sentence(sum(one.questions for one in compared if one is not None))

    def comparison(self, case: str, metric: Metric) -> Comparison | None:
        """As `compared`, for all metrics; those not tested are described against the best."""
        if metric not in self.drawn:
            return None
        if metric in self.tested:
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
        scaled = around.times(metric.factor) if around else None
        return Estimate(scaled, middle * metric.factor, summary.n)

    def relation(self, group: Group, other: str, metric: Metric) -> Relation | None:
        """How the group compares with another of its case; None: they were not compared."""
        comparison = self.comparison(group.case, metric)
        verdict = comparison.between(group.name, other) if comparison else None
        return None if verdict is None else _from_side_of(group.name, verdict, metric)

    def best(self, group: Group, metric: Metric) -> str | None:
        """The best of the group's case that it may be compared with; None: it is not ranked."""
        comparison = self.comparison(group.case, metric)
        if comparison is None or group.name not in comparison.ranking:
            return None
        for name in comparison.ranking:
            if name == group.name:
                return name
            relation = self.relation(group, name, metric)
            if relation is not None and relation.decision is not Decision.NOT_COMPARABLE:
                return name
        return None


def load(
    path: Path,
    chosen: str | None = None,
    alpha: float = ALPHA,
    over: str = "workload",
    study: str | None = None,
) -> Material:
    """A campaign, read for a report; `chosen`: only these of its trials (`--only`); `study`: whose
    claims are judged, where that is not the campaign's suite."""
    results = only(open_results(path), chosen)
    trials = results.trials()
    if not len(trials):
        raise UserError(
            f"{path} has no trial that has ended.", f"`dlbench watch {path}` follows it."
        )
    cases = cases_of(trials, "release", _COLUMNS)
    certificates = (one for s in results.sources for one in read_certificates(s.folder))
    return Material(
        results,
        tuple(replace(case, groups=tuple(sorted(case.groups, key=_by_version))) for case in cases),
        tuple(sorted(certificates, key=_failed_first)),
        error_rate(results, alpha, over),
        study_of(results, study),
    )


def _failed_first(one: Certificate) -> tuple[object, ...]:
    return one.passed, one.workload, release_order(one.release), one.device


def _by_version(group: Group) -> tuple[object, ...]:
    return release_order(group.release), group.name


_REVERSED = {Decision.BETTER: Decision.WORSE, Decision.WORSE: Decision.BETTER}


def _from_side_of(name: str, verdict: Verdict, metric: Metric) -> Relation:
    """The verdict as the group of this name sees it, whichever it names first."""
    decision, effect = verdict.decision, verdict.effect
    estimate = effect.estimate if effect else None
    around = effect.interval if effect else None
    ratio = metric.kind.scale == "ratio"
    if verdict.first != name:
        decision = _REVERSED.get(decision, decision)
        if estimate is not None:
            estimate = 1 / estimate if ratio else -estimate
        if around is not None:
            around = around.inverse() if ratio else around.negative()
    if not ratio:
        estimate = None if estimate is None else estimate * metric.factor
        around = around.times(metric.factor) if around else None
    return Relation(around, decision, estimate, verdict)
