"""What a report is made of: a campaign's trials in groups, and the comparisons between these.

Groups and comparisons are those of `dlbench compare`, so that both say the same. A place is a
workload on a device in a setting: what stands in one column of the summary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dlbench.analysis.campaign_comparison import Across, CaseComparison
from dlbench.analysis.groups import Case, cases_of
from dlbench.analysis.metrics import find_metric
from dlbench.analysis.opened import read_files
from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.trial_result import TrialResult
from dlbench.errors import UserError
from dlbench.planning.plan import Trial
from dlbench.report.groups import Group, described
from dlbench.report.metrics import COMPARED, QUALITY, TRAINING, Metric
from dlbench.running.certificates import Certificate
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.intervals import Interval
from dlbench.statistics.verdicts import Verdict

TESTED = (TRAINING, *QUALITY)
"""The metrics on which differences are tested. Of the others sizes and intervals are shown, and
nothing is claimed: asking ten questions of each pair would make every answer weaker."""


@dataclass(frozen=True)
class ShownValue:
    """A group's middle with its interval, in the unit that is shown."""

    middle: float
    """The median; the mean of what is compared by the difference of means."""
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class AgainstBest:
    """How a group compares with the best of its place."""

    best: str
    estimate: float
    """Ratio of medians, or difference of means in the unit shown; less than the best is worse for
    scores."""
    interval: Interval | None
    verdict: Verdict | None
    """None: it is the best."""


@dataclass(frozen=True)
class Material:
    frames: Results
    about: Mapping[str, Any]
    plan: tuple[Trial, ...]
    results: tuple[TrialResult, ...]
    certificates: tuple[Certificate, ...]
    groups: tuple[Group, ...]
    _places: Mapping[tuple[str, tuple[tuple[str, str], ...]], str] = field(repr=False)
    _families: dict[str, dict[str, CaseComparison]] = field(default_factory=dict, repr=False)
    _across: dict[str, tuple[Across, ...]] = field(default_factory=dict, repr=False)
    _described: dict[str, dict[str, Comparison]] = field(default_factory=dict, repr=False)

    @cached_property
    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.place for group in self.groups))

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """In the order of frameworks and versions."""
        first = {group.contender: group for group in self.groups}
        return tuple(sorted(first, key=lambda name: (*_order(first[name].release), name)))

    @cached_property
    def frameworks(self) -> tuple[str, ...]:
        return tuple(sorted({group.framework for group in self.groups}))

    @cached_property
    def _by_place(self) -> dict[str, tuple[Group, ...]]:
        return {
            place: tuple(group for group in self.groups if group.place == place)
            for place in self.places
        }

    def at(self, place: str) -> tuple[Group, ...]:
        return self._by_place[place]

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that any complete trial has."""
        return tuple(m for m in COMPARED if any(group.values(m) for group in self.groups))

    def case(self, place: str, metric: Metric) -> CaseComparison | None:
        """All contenders of a place on a metric; None where nobody has it."""
        if metric not in self.metrics or metric not in TESTED:
            return None
        if metric.key not in self._families:
            compared = self.frames.compare(metric.key, stability=metric is TRAINING)
            self._across[metric.key] = compared.across
            self._families[metric.key] = {
                self._places[case.case.workload, case.case.fixed]: case for case in compared.cases
            }
        return self._families[metric.key].get(place)

    def across(self, metric: Metric) -> tuple[Across, ...]:
        """The contenders ranked across workloads, where there are enough of these."""
        if self.places:
            self.case(self.places[0], metric)
        return self._across.get(metric.key, ())

    def comparison(self, place: str, metric: Metric) -> Comparison | None:
        """As `case`, for all metrics; those not tested are described against the best."""
        if metric in TESTED:
            case = self.case(place, metric)
            return case.comparison if case else None
        if metric.key not in self._described:
            self._described[metric.key] = {
                place: described(self.at(place), metric) for place in self.places
            }
        return self._described[metric.key].get(place)

    def shown(self, group: Group, metric: Metric) -> ShownValue | None:
        comparison = self.comparison(group.place, metric)
        summary = comparison.summaries.get(group.contender) if comparison else None
        if summary is None or not summary.n or not group.complete:
            return None
        middle, around, factor = summary.median, summary.median_interval, metric.factor
        if metric.kind.scale == "difference":
            middle, around = summary.mean, summary.mean_interval
        low, high = (around.low * factor, around.high * factor) if around else (None, None)
        return ShownValue(middle * factor, low, high, summary.n)

    def against_best(self, group: Group, metric: Metric) -> AgainstBest | None:
        """None: the group is not ranked."""
        comparison = self.comparison(group.place, metric)
        if comparison is None or group.contender not in comparison.ranking:
            return None
        for best in comparison.ranking:
            if best == group.contender:
                return AgainstBest(best, _neutral(metric), None, None)
            verdict = _between(comparison, group.contender, best)
            if verdict is not None and verdict.effect is not None:
                return _turned(verdict, best, metric)
        return None


def load(folder: Path) -> Material:
    """A campaign, read for a report."""
    frames = open_results(folder)
    trials = frames.trials()
    if not len(trials):
        raise UserError(
            f"{folder} has no trial that has ended.", f"`dlbench watch {folder}` follows it."
        )
    names = trials["id"].to_list()
    folders = {name: frames.trial(name).folder for name in names}
    contents = read_files([folders[name] / "trial.json" for name in names])
    results = {
        name: TrialResult.from_json(json.loads(content))
        for name, content in zip(names, contents, strict=True)
        if content is not None
    }
    every = cases_of(trials, find_metric(TRAINING.key, trials.schema), "release")
    places = _places(every)
    groups = []
    for case in every:
        for group in case.groups:
            own = [name for name in group.members if name in results]
            groups.append(
                Group(
                    places[case.workload, case.fixed],
                    group.name,
                    tuple(results[name] for name in own),
                    group.conditions,
                    {results[name].id: folders[name] for name in own},
                )
            )
    groups.sort(key=lambda g: (g.place, *_order(g.release), g.contender))
    sources = [Campaign.open(source.folder) for source in frames.sources]
    return Material(
        frames,
        frames.sources[0].about.to_json(),
        tuple(trial for source in sources for trial in source.trials()),
        tuple(results.values()),
        tuple(certificate for source in sources for certificate in _certificates(source)),
        tuple(groups),
        places,
    )


def _places(every: Sequence[Case]) -> dict[tuple[str, tuple[tuple[str, str], ...]], str]:
    """A name for each case: the workload, and what else tells it apart."""
    engines = {dict(case.fixed).get("engine") for case in every}
    named = {}
    for case in every:
        fixed = dict(case.fixed)
        apart = [fixed[key] for key, usual in (("device", "cpu"), ("setting", "matched"))
                 if fixed.get(key, usual) != usual]  # fmt: skip
        if len(engines) > 1:
            apart.append(fixed.get("engine", ""))
        name = f"{case.workload} ({', '.join(apart)})" if apart else case.workload
        named[case.workload, case.fixed] = name
    return named


def _order(release: str) -> tuple[str, Any]:
    """Frameworks by name, versions by their numbers."""
    from packaging.version import InvalidVersion, Version

    framework, _, version = release.partition("@")
    number, _, rest = version.partition("-")
    try:
        return framework, (Version(number), rest)
    except InvalidVersion:
        return framework, (Version("0"), version)


def _neutral(metric: Metric) -> float:
    return 1.0 if metric.kind.scale == "ratio" else 0.0


def _turned(verdict: Verdict, best: str, metric: Metric) -> AgainstBest:
    """The verdict's effect, read from the group's side."""
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
            low, high = around.low * metric.factor, around.high * metric.factor
            around = Interval(low, high, around.level, around.runs, around.method)
    return AgainstBest(best, estimate, around, verdict)


def _between(comparison: Comparison, first: str, second: str) -> Verdict | None:
    """The verdict on the pair, whichever way round it was made."""
    for verdict in comparison.verdicts:
        if {verdict.first, verdict.second} == {first, second}:
            return verdict
    return None


def _certificates(campaign: Campaign) -> tuple[Certificate, ...]:
    found = []
    for path in sorted((campaign.folder / "certificates").glob("*.json")):
        try:
            found.append(Certificate.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged ({error}).", "Restore it from a copy.") from error
    return tuple(sorted(found, key=lambda c: (c.workload, *_order(c.release), c.device)))
