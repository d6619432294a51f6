"""Which trials are one group, and which groups may stand beside each other.

Trials that differ in nothing but seed and repeat are replicates: one group. Groups that differ in
the field that is asked about, and in nothing else that was chosen, are one case. Machine, data
and scale are conditions: groups under other conditions are kept apart and said to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dlbench.analysis.metrics import Metric
from dlbench.errors import unknown
from dlbench.statistics.measurements import Measurements

BY = ("release", "device", "variant", "engine")
_CHOSEN = ("workload", "release", "variant", "device", "setting", "engine")
_READ = (
    *_CHOSEN, "id", "campaign", "seed", "round", "index", "outcome", "certified", "machine",
    "data", "budget_epochs", "budget_steps", "batch", "threads", "cpus", "memory_limit_bytes",
    "threads_used", "system_cpu_percent_mean", "cpu_percent_mean",
)  # fmt: skip


@dataclass(frozen=True)
class Conditions:
    """What must be equal for numbers to be compared."""

    machine: str
    data: str
    scale: str


@dataclass(frozen=True)
class Group:
    """The replicates of one contender."""

    name: str
    conditions: Conditions
    measurements: Measurements
    trials: tuple[dict[str, Any], ...]
    """The rows behind the values, in their order."""
    members: tuple[str, ...] = ()
    """The ids of all its trials, complete or not."""
    incomplete: str = ""
    """How many trials are not among the values, and why."""

    @property
    def release(self) -> str:
        return str(self.trials[0]["release"])


@dataclass(frozen=True)
class Case:
    """Groups that differ in what is asked about."""

    workload: str
    fixed: tuple[tuple[str, str], ...]
    """What else they share: (field, value)."""
    groups: tuple[Group, ...]

    @property
    def label(self) -> str:
        """`mnist-cnn`, with what is not the usual."""
        fixed = dict(self.fixed)
        shown = [fixed[key] for key in ("release", "variant") if key in fixed]
        shown += [value for key, value in self.fixed if key == "device" and value != "cpu"]
        shown += [value for key, value in self.fixed if key == "setting" and value != "matched"]
        return f"{self.workload}: {' '.join(shown)}" if shown else self.workload


def cases_of(trials: pl.DataFrame, metric: Metric, by: str) -> list[Case]:
    """All that can be compared on a metric."""
    if by not in BY:
        raise unknown("field to compare by", by, BY)
    # A release's variants are contenders like releases.
    own = {"release", "variant"} if by == "release" else {by}
    fixed = [field for field in _CHOSEN if field not in own]
    rows = trials.select(*_READ, pl.col(metric.column).alias("value")).rows(named=True)
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[field] for field in fixed), []).append(row)
    return [
        Case(
            str(members[0]["workload"]),
            tuple((field, str(members[0][field])) for field in fixed if field != "workload"),
            _groups(members, by),
        )
        for _, members in sorted(found.items(), key=lambda item: tuple(map(str, item[0])))
    ]


def conditions_of(row: dict[str, Any]) -> Conditions:
    parts = [f"{row['budget_epochs']} epochs"] if row["budget_steps"] is None else []
    parts += [f"{row['budget_steps']} steps"] if row["budget_steps"] is not None else []
    parts.append(f"batch {row['batch']}")
    parts += [f"{row['threads']} threads"] if row["threads"] is not None else []
    parts += [f"{row['cpus']:g} cores"] if row["cpus"] is not None else []
    if row["memory_limit_bytes"] is not None:
        parts.append(f"{row['memory_limit_bytes'] / 2**20:g} MiB")
    return Conditions(str(row["machine"] or ""), str(row["data"] or ""), ", ".join(parts))


def _groups(rows: Sequence[dict[str, Any]], by: str) -> tuple[Group, ...]:
    several = _of_several_variants(rows) if by == "release" else frozenset()
    named: dict[str, dict[Conditions, list[dict[str, Any]]]] = {}
    for row in rows:
        name = str(row[by])
        if name in several:
            name = f"{name}:{row['variant']}"
        named.setdefault(name, {}).setdefault(conditions_of(row), []).append(row)
    found = []
    # "gpu is faster than cpu" reads better than the reverse.
    for name, parts in sorted(named.items(), reverse=by == "device"):
        for conditions, members in sorted(parts.items(), key=lambda part: str(part[0])):
            tag = _told_apart(conditions, list(parts)) if len(parts) > 1 else ""
            found.append(group_of(f"{name}{tag}", conditions, members))
    return tuple(found)


def _of_several_variants(rows: Sequence[dict[str, Any]]) -> frozenset[str]:
    pairs = {(str(row["release"]), row["variant"]) for row in rows}
    return frozenset(release for release, n in Counter(r for r, _ in pairs).items() if n > 1)


def _told_apart(own: Conditions, every: Sequence[Conditions]) -> str:
    """What tells groups of one name apart."""
    said = []
    if len({c.machine for c in every}) > 1:
        said.append(f"machine {own.machine[:6] or 'unknown'}")
    if len({c.scale for c in every}) > 1:
        said.append(own.scale)
    if len({c.data for c in every}) > 1:
        said.append(f"data {own.data[:6]}")
    return f" ({', '.join(said)})"


def group_of(name: str, conditions: Conditions, rows: Sequence[dict[str, Any]]) -> Group:
    """Complete trials are the group's values; only where there are none, the truncated ones are."""
    whole = [row for row in rows if row["outcome"] == "ok"]
    kept = whole or [row for row in rows if row["value"] is not None] or list(rows)
    measured = [row for row in kept if row["value"] is not None]
    return Group(
        name,
        conditions,
        Measurements(
            values=tuple(float(row["value"]) for row in measured),
            keys=tuple(str(row["seed"]) for row in measured),
            certified=all(row["certified"] is True for row in rows),
            complete=bool(whole),
            data=conditions.data,
            machine=conditions.machine,
            scale=conditions.scale,
        ),
        tuple(measured or rows[:1]),
        tuple(str(row["id"]) for row in rows),
        _incomplete(rows, len(whole)),
    )


def _incomplete(rows: Sequence[dict[str, Any]], whole: int) -> str:
    if whole == len(rows):
        return ""
    failed = Counter(str(row["outcome"]) for row in rows if row["outcome"] != "ok")
    listed = ", ".join(f"{n} {outcome}" for outcome, n in sorted(failed.items()))
    return f"{len(rows) - whole} of {len(rows)} trials did not complete ({listed})."
