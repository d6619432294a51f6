"""What a report is made of: the cases of a campaign, their groups, and the comparisons of these.

All of it comes from `dlbench.analysis`, so that the report, `compare` and `show` say the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dlbench.analysis.across_workloads import WorkloadRanking
from dlbench.analysis.campaign_comparison import CaseComparison, describe_case
from dlbench.analysis.error_rate import ErrorRate, error_rate
from dlbench.analysis.groups import Case, Group, cases_of
from dlbench.analysis.metrics import KNOWN, QUALITY, TRAINING, Metric
from dlbench.analysis.results import ALPHA, Results, open_results
from dlbench.analysis.selection import only
from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.certificate_file import Certificate, read_certificates
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.errors import UserError
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
class Estimate:
    """The median or mean of a group with its interval, in the unit that is shown."""

    middle: float
    low: float | None
    high: float | None
    n: int
    interval: str
    """What low and high are: `95 % interval`, `range of 3 runs`; empty where there are none."""

    @property
    def is_range(self) -> bool:
        return self.interval.startswith("range")


@dataclass(frozen=True)
class Relation:
    """How one group compares with another of its case, seen from its side."""

    decision: Decision
    estimate: float | None
    """Ratio of medians, or difference of means in the unit that is shown."""
    interval: Interval | None
    verdict: Verdict

    @property
    def low(self) -> float | None:
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval.high if self.interval else None

    @property
    def is_range(self) -> bool:
        return self.interval is not None and self.interval.is_range

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
    rate: ErrorRate
    study: Study | None = None
    """The published study whose claims are judged."""
    _compared: dict[Metric, dict[str, CaseComparison]] = field(default_factory=dict, repr=False)
    _questions: dict[Metric, int] = field(default_factory=dict, repr=False)
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

    def compared(self, case: str, metric: Metric) -> CaseComparison | None:
        """All contenders of a case on a tested metric; None where nobody has it."""
        if metric not in self.tested:
            return None
        if metric not in self._compared:
            stability = metric is TRAINING
            comparison = self.results.compare(metric.column, alpha=self._alpha, stability=stability)
            self._questions[metric] = comparison.questions
            self._across[metric] = comparison.across
            self._compared[metric] = {one.case.label: one for one in comparison.cases}
        return self._compared[metric].get(case)

    @cached_property
    def _alpha(self) -> float:
        """Of each question."""
        return self.rate.of_each(self.results, [metric.column for metric in self.tested])

    def error_rate(self, metrics: Sequence[Metric]) -> str:
        """How often differences that are claimed on these metrics may be none, in a sentence."""
        for metric in metrics:
            self.compared("", metric)
        return self.rate.sentence(sum(self._questions.get(metric, 0) for metric in metrics))

    def across(self, metric: Metric) -> tuple[WorkloadRanking, ...]:
        """The contenders ranked across workloads, where there are enough of these."""
        self.compared("", metric)
        return self._across.get(metric, ())

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
        factor = metric.factor
        low, high = (around.low * factor, around.high * factor) if around else (None, None)
        return Estimate(middle * factor, low, high, summary.n, around.name if around else "")

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
        tuple(replace(case, groups=tuple(sorted(case.groups, key=_order))) for case in cases),
        tuple(sorted(certificates, key=_place)),
        error_rate(results, alpha, over),
        study_of(results, study),
    )


def _place(certificate: Certificate) -> tuple[object, ...]:
    return certificate.workload, release_order(certificate.release), certificate.device


def _order(group: Group) -> tuple[object, ...]:
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
    if not ratio and estimate is not None:
        estimate *= metric.factor
    if not ratio and around is not None:
        around = replace(around, low=around.low * metric.factor, high=around.high * metric.factor)
    return Relation(decision, estimate, around, verdict)
