"""Which trials are one group, and which groups are compared with each other.

Trials that differ in nothing but seed and repeat are replicates: one group. Groups that differ in
the field that is asked about, and in nothing else that was chosen, are one case: a workload on one
device in one setting and engine. Machine, data and scale are conditions: groups under other
conditions stay in the case, are named after their conditions, and are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from dlbench.analysis.metrics import Metric
from dlbench.campaigns.outcomes import Outcome
from dlbench.errors import unknown
from dlbench.statistics.measurements import Measurements

BY = ("release", "device", "variant", "engine")
_CHOSEN = ("workload", "release", "variant", "device", "setting", "engine")
_USUAL = {"device": "cpu", "setting": "matched"}
"""What a label does not mention."""
_READ = (
    *_CHOSEN, "id", "campaign", "seed", "round", "index", "outcome", "certified", "machine",
    "data", "budget_epochs", "budget_steps", "batch", "threads", "cpus", "memory_limit_bytes",
    "threads_used", "system_cpu_percent_mean", "cpu_percent_mean",
)  # fmt: skip

Row = dict[str, Any]
"""One trial: a row of the trials' table."""


@dataclass(frozen=True)
class Conditions:
    """What must be equal for numbers to be compared."""

    machine: str
    data: str
    scale: str


@dataclass(frozen=True)
class Group:
    """The trials of one contender in one case."""

    name: str
    """The contender: a release, with its variant where it ran in several."""
    case: str
    """The label of its case."""
    conditions: Conditions
    rows: tuple[Row, ...]
    """All its trials, complete or not, in the order of the table."""

    @property
    def release(self) -> str:
        return str(self.rows[0]["release"])

    @property
    def framework(self) -> str:
        return self.release.partition("@")[0]

    @cached_property
    def complete(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row["outcome"] == Outcome.OK)

    @cached_property
    def certified(self) -> bool:
        """Whether the models of all its trials were proven equal to the reference."""
        return all(row["certified"] is True for row in self.rows)

    @property
    def proof(self) -> str:
        """`yes`, `no`, or `not checked`."""
        refused = any(row["certified"] is False for row in self.rows)
        return "yes" if self.certified else "no" if refused else "not checked"

    @property
    def incomplete(self) -> str:
        """How many trials did not complete, and why; empty if all did."""
        failed = Counter(str(row["outcome"]) for row in self.rows if row["outcome"] != Outcome.OK)
        if not failed:
            return ""
        listed = ", ".join(f"{n} {outcome}" for outcome, n in sorted(failed.items()))
        return f"{failed.total()} of {len(self.rows)} trials did not complete ({listed})."

    def measured(self, metric: Metric) -> tuple[Row, ...]:
        """The complete trials that have the metric; the truncated ones if none is complete."""
        rows = self.complete or self.rows
        return tuple(row for row in rows if row[metric.column] is not None)

    def values(self, metric: Metric) -> tuple[float, ...]:
        """Of the complete trials, one each."""
        return tuple(float(row[metric.column]) for row in self.measured(metric) if self.complete)

    def measurements(self, metric: Metric) -> Measurements:
        """What the statistics compare."""
        measured = self.measured(metric)
        return Measurements(
            values=tuple(float(row[metric.column]) for row in measured),
            keys=tuple(str(row["seed"]) for row in measured),
            certified=self.certified,
            complete=bool(self.complete),
            data=self.conditions.data,
            machine=self.conditions.machine,
            scale=self.conditions.scale,
        )

    def typical(self, metric: Metric) -> Row | None:
        """The complete trial with the middle value, where one trial has to represent all."""
        ranked = sorted(
            (row for row in self.measured(metric) if self.complete),
            key=lambda row: (row[metric.column], row["index"] or 0, row["id"]),
        )
        return ranked[(len(ranked) - 1) // 2] if ranked else None


@dataclass(frozen=True)
class Case:
    """What contenders are compared in: a workload on one device in one setting and engine."""

    workload: str
    fixed: tuple[tuple[str, str], ...]
    """What else its groups share: (field, value)."""
    label: str
    """`mnist-cnn (gpu)`: the workload, with what is not the usual."""
    groups: tuple[Group, ...]


def cases_of(trials: pl.DataFrame, by: str, columns: Sequence[str] = ()) -> list[Case]:
    """All that can be compared; the rows of the groups have these columns beside the usual."""
    if by not in BY:
        raise unknown("field to compare by", by, BY)
    # A release's variants are contenders like releases.
    own = {"release", "variant"} if by == "release" else {by}
    fixed = [field for field in _CHOSEN if field not in own]
    together: dict[tuple[str, ...], list[Row]] = {}
    for row in trials.select(list(dict.fromkeys((*_READ, *columns)))).rows(named=True):
        together.setdefault(tuple(str(row[field]) for field in fixed), []).append(row)
    several_engines = trials["engine"].n_unique() > 1
    cases = []
    for key, rows in sorted(together.items()):
        values = dict(zip(fixed, key, strict=True))
        workload = values.pop("workload")
        label = _label(workload, values, several_engines)
        cases.append(Case(workload, tuple(values.items()), label, _groups(rows, by, label)))
    return cases


def _label(workload: str, fixed: dict[str, str], several_engines: bool) -> str:
    usual = _USUAL if several_engines else {**_USUAL, "engine": fixed.get("engine", "")}
    unusual = [value for field, value in fixed.items() if usual.get(field) != value]
    return f"{workload} ({', '.join(unusual)})" if unusual else workload


def _conditions(row: Row) -> Conditions:
    if row["budget_steps"] is None:
        scale = [f"{row['budget_epochs']} epochs"]
    else:
        scale = [f"{row['budget_steps']} steps"]
    scale.append(f"batch {row['batch']}")
    scale += [f"{row['threads']} threads"] if row["threads"] is not None else []
    scale += [f"{row['cpus']:g} cores"] if row["cpus"] is not None else []
    if row["memory_limit_bytes"] is not None:
        scale.append(f"{row['memory_limit_bytes'] / 2**20:g} MiB")
    return Conditions(str(row["machine"] or ""), str(row["data"] or ""), ", ".join(scale))


def _groups(rows: Sequence[Row], by: str, case: str) -> tuple[Group, ...]:
    several = _of_several_variants(rows) if by == "release" else frozenset()
    named: dict[str, dict[Conditions, list[Row]]] = {}
    for row in rows:
        name = str(row[by])
        if name in several:
            name = f"{name}:{row['variant']}"
        named.setdefault(name, {}).setdefault(_conditions(row), []).append(row)
    groups = []
    # "gpu is faster than cpu" reads better than the reverse.
    for name, parts in sorted(named.items(), reverse=by == "device"):
        for conditions, members in sorted(parts.items(), key=lambda part: str(part[0])):
            suffix = _difference(conditions, list(parts)) if len(parts) > 1 else ""
            groups.append(Group(f"{name}{suffix}", case, conditions, tuple(members)))
    return tuple(groups)


def _of_several_variants(rows: Sequence[Row]) -> frozenset[str]:
    pairs = {(str(row["release"]), row["variant"]) for row in rows}
    return frozenset(release for release, n in Counter(r for r, _ in pairs).items() if n > 1)


def _difference(own: Conditions, every: Sequence[Conditions]) -> str:
    """What distinguishes groups of one name."""
    words = []
    if len({c.machine for c in every}) > 1:
        words.append(f"machine {own.machine[:6] or 'unknown'}")
    if len({c.scale for c in every}) > 1:
        words.append(own.scale)
    if len({c.data for c in every}) > 1:
        words.append(f"data {own.data[:6]}")
    return f" ({', '.join(words)})"
