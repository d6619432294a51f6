"""What a report is made of: a campaign's trials in groups, and the comparisons between these.

A group is one contender on one workload. What may not be compared (another machine, engine or
amount of work) is told apart in the contender's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dlbench.campaign import Campaign
from dlbench.certificates import Certificate
from dlbench.errors import UserError
from dlbench.plan import Trial
from dlbench.report.metrics import COMPARED, Metric
from dlbench.results import TrialResult
from dlbench.statistics import Comparison, Measurements, Summary, Verdict, compare


@dataclass(frozen=True)
class Group:
    """The trials of one contender on one workload."""

    workload: str
    contender: str
    results: tuple[TrialResult, ...]

    @property
    def release(self) -> str:
        return self.results[0].release

    @property
    def framework(self) -> str:
        return self.release.partition("@")[0]

    @property
    def device(self) -> str:
        return self.results[0].device

    @cached_property
    def complete(self) -> tuple[TrialResult, ...]:
        return tuple(result for result in self.results if result.complete)

    @property
    def certified(self) -> bool | None:
        states = {result.certified for result in self.results}
        return False if False in states else True if states == {True} else None

    def values(self, metric: Metric) -> list[float]:
        found = (metric.of(result) for result in self.complete)
        return [value for value in found if value is not None]

    def typical(self, metric: Metric) -> TrialResult | None:
        """The complete trial in the middle: shown where one trial must stand for all."""
        ranked = sorted(
            (value, result.index, result)
            for result in self.complete
            if (value := metric.of(result)) is not None
        )
        return ranked[(len(ranked) - 1) // 2][2] if ranked else None


@dataclass(frozen=True)
class Material:
    campaign: Campaign
    about: Mapping[str, Any]
    plan: tuple[Trial, ...]
    results: tuple[TrialResult, ...]
    certificates: tuple[Certificate, ...]
    groups: tuple[Group, ...]
    _compared: dict[tuple[str, str], Comparison | None] = field(default_factory=dict, repr=False)

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.workload for group in self.groups))

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """In the order of frameworks and versions."""
        first = {group.contender: group for group in self.groups}
        return tuple(sorted(first, key=lambda name: (*_order(first[name].release), name)))

    @cached_property
    def frameworks(self) -> tuple[str, ...]:
        return tuple(sorted({group.framework for group in self.groups}))

    def of_workload(self, workload: str) -> tuple[Group, ...]:
        return self._by_workload[workload]

    @cached_property
    def _by_workload(self) -> dict[str, tuple[Group, ...]]:
        return {
            workload: tuple(group for group in self.groups if group.workload == workload)
            for workload in self.workloads
        }

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that any complete trial has."""
        return tuple(m for m in COMPARED if any(group.values(m) for group in self.groups))

    def comparison(self, workload: str, metric: Metric) -> Comparison | None:
        """All contenders of a workload on a metric; None where nobody has it."""
        key = workload, metric.key
        if key not in self._compared:
            measured = {
                group.contender: _measurements(group, metric)
                for group in self.of_workload(workload)
                if group.values(metric)
            }
            self._compared[key] = (
                compare(measured, metric.kind, metric=metric.title.lower(), draws=_draws(measured))
                if measured
                else None
            )
        return self._compared[key]

    def summary(self, group: Group, metric: Metric) -> Summary | None:
        comparison = self.comparison(group.workload, metric)
        return comparison.summaries.get(group.contender) if comparison else None

    def against_best(self, group: Group, metric: Metric) -> tuple[str, Verdict | None] | None:
        """(best comparable contender, verdict against it); None: the group is not ranked."""
        comparison = self.comparison(group.workload, metric)
        if comparison is None or group.contender not in comparison.ranking:
            return None
        for best in comparison.ranking:
            if best == group.contender:
                return best, None
            verdict = _between(comparison, group.contender, best)
            if verdict is not None and verdict.effect is not None:
                return best, verdict
        return None


def load(folder: Path) -> Material:
    """A campaign, read for a report."""
    campaign = Campaign.open(folder)
    about = campaign.about()
    plan = tuple(campaign.trials())
    results = tuple(result for trial in plan if (result := campaign.result(trial.id)) is not None)
    if not results:
        raise UserError(
            f"{folder} has no trial that has ended.", f"`dlbench watch {folder}` follows it."
        )
    return Material(campaign, about, plan, results, _certificates(campaign), _groups(results))


def _groups(results: Sequence[TrialResult]) -> tuple[Group, ...]:
    from dlbench.summary import contender

    several_engines = len({result.engine for result in results}) > 1
    machines = {m: n for n, m in enumerate(dict.fromkeys(r.machine for r in results), 1)}
    names: dict[tuple[str, ...], str] = {}
    budgets: dict[str, set[str]] = {}
    for result in results:
        budgets.setdefault(result.workload, set()).add(_budget(result))
    grouped: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        key = (result.release, result.variant, result.device, result.setting)
        if key not in names:
            names[key] = contender(result)
        name = names[key]
        if several_engines:
            name += f" {result.engine}"
        if len(machines) > 1:
            name += f" machine {machines[result.machine]}"
        if len(budgets[result.workload]) > 1:
            name += f" {_budget(result)}"
        grouped.setdefault((result.workload, name), []).append(result)
    groups = [Group(workload, name, tuple(found)) for (workload, name), found in grouped.items()]
    return tuple(sorted(groups, key=lambda g: (g.workload, *_order(g.release), g.contender)))


def _budget(result: TrialResult) -> str:
    scale = result.scale
    if scale.get("steps"):
        return f"{scale['steps']} steps"
    return f"{scale.get('epochs')} epochs" if scale.get("epochs") else ""


def _order(release: str) -> tuple[Any, ...]:
    """Frameworks by name, versions by their numbers."""
    framework, _, version = release.partition("@")
    numbers = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|[a-z]+", version)
    )
    return framework, numbers


def _measurements(group: Group, metric: Metric) -> Measurements:
    pairs = [(r, value) for r in group.complete if (value := metric.of(r)) is not None]
    first = pairs[0][0]
    return Measurements(
        values=tuple(value for _, value in pairs),
        keys=tuple(str(result.seed) for result, _ in pairs),
        certified=group.certified is not False,
        complete=True,
        data=str(first.scale.get("data", "")),
        machine=first.machine,
        scale="/".join(
            f"{key}={first.scale.get(key)}"
            for key in ("epochs", "steps", "batch", "cpus", "memory_bytes", "threads")
        ),
    )


def _draws(measured: Mapping[str, Measurements]) -> int:
    """Fewer resamples where there are very many runs: their intervals need no more."""
    runs = sum(len(group.values) for group in measured.values())
    return 2000 if runs <= 2000 else 1000


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
