"""Which trials are one group, and which groups are compared with each other.

Trials that differ in nothing but seed and repeat are replicates: one group. Groups that differ in
the field that is asked about, and in nothing else that was chosen, are one case: a workload on one
device in one setting and engine, at one point of a sweep. Machine, data and scale are conditions:
groups under other conditions stay in the case, are named after these, and are not compared.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from dlbench.analysis.metrics import OF_SEEDS, Metric
from dlbench.analysis.sessions import sessions_of
from dlbench.campaigns.outcomes import Outcome
from dlbench.confounds.confound import marked
from dlbench.errors import check_known
from dlbench.statistics.measurements import Measurements
from dlbench.statistics.words import count

ALTERED = "altered on purpose"
BY = ("release", "device", "variant", "engine")
_CHOSEN = ("workload", "release", "variant", "device", "setting", "engine", "point", "kernels")
_USUAL = {"device": "cpu", "setting": "matched", "point": "", "kernels": ""}
"""What a label does not mention."""
_READ = (
    *_CHOSEN, "id", "campaign", "seed", "round", "index", "outcome", "certified", "machine",
    "started", "wall_s", "data", "data_source", "budget_epochs", "budget_steps", "batch", "threads",
    "changes", "confounds", "scale", "train_rows", "test_rows", "weights", "weights_file",
    "weights_given", "weights_drawn", "constants_drawn",
    "cpus", "memory_limit_bytes", "threads_used", "one_core", "cores", "machine_cores",
    "switches_cover", "loss", "final_weights_sha256", "predictions_sha256", "losses_sha256",
    "system_cpu_percent_mean", "cpu_percent_mean",
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
    """The contender: a release, with its variant where it ran in several, and its confounds."""
    case: str
    """The label of its case."""
    conditions: Conditions
    rows: tuple[Row, ...]
    """All its trials, complete or not, in the order of the table."""
    one_a_seed: bool = True
    """Whether of qualities one value a seed counts; not where a single seed is asked about."""

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
    def confounds(self) -> str:
        """What is wrong in it on purpose; empty: nothing."""
        return str(self.rows[0].get("confounds") or "")

    @property
    def unranked(self) -> str:
        """Why it is never ranked, in two words; empty: it may be."""
        words = {"no": "not certified", "not checked": "proof not made", "altered": ALTERED}
        return words.get(self.proof, "")

    @property
    def proof(self) -> str:
        """`yes`, `no`, `not checked`, or `altered`: it is another model on purpose."""
        if self.confounds and not self.certified:
            return "altered"
        refused = any(row["certified"] is False for row in self.rows)
        return "yes" if self.certified else "no" if refused else "not checked"

    @cached_property
    def interrupted(self) -> tuple[Row, ...]:
        """Trials that somebody stopped: these say nothing about the release."""
        return tuple(row for row in self.rows if row["outcome"] == Outcome.INTERRUPTED)

    @cached_property
    def failed(self) -> tuple[Row, ...]:
        """Trials that did not finish by themselves."""
        ended = (Outcome.OK, Outcome.INTERRUPTED)
        return tuple(row for row in self.rows if row["outcome"] not in ended)

    @property
    def incomplete(self) -> str:
        """How many trials did not complete, and why; empty if all did."""
        failed = Counter(str(row["outcome"]) for row in self.rows if row["outcome"] != Outcome.OK)
        if not failed:
            return ""
        listed = ", ".join(f"{n} {outcome}" for outcome, n in sorted(failed.items()))
        return f"{failed.total()} of {len(self.rows)} trials did not complete ({listed})."

    @property
    def outcomes(self) -> str:
        """How its trials ended, `3 ok, 1 oom`, and why it is not ranked, if it is not."""
        counted = Counter(str(row["outcome"]) for row in self.rows)
        words = [name if len(counted) == 1 else f"{n} {name}" for name, n in counted.items()]
        return ", ".join([*words, self.unranked] if self.unranked else words)

    def known(self, column: str) -> list[float]:
        """The values of the complete trials that have one in this column."""
        return [row[column] for row in self.complete if row[column] is not None]

    def median(self, column: str) -> float | None:
        known = self.known(column)
        return statistics.median(known) if known else None

    @property
    def synthetic(self) -> bool:
        return any(row["data_source"] == "synthetic" for row in self.rows)

    def measured(self, metric: Metric) -> tuple[Row, ...]:
        """The complete trials that have the metric. What a trial had when it was ended is none."""
        return tuple(row for row in self.complete if row[metric.column] is not None)

    def without(self, metric: Metric) -> int:
        """How many complete trials do not have the metric."""
        return len(self.complete) - len(self.measured(metric))

    def independent(self, metric: Metric) -> tuple[Row, ...]:
        """As `measured`; of a quality one a seed: a seed that ran again is not another result."""
        measured = self.measured(metric)
        if metric.column not in OF_SEEDS or not self.one_a_seed:
            return measured
        once: dict[Hashable, Row] = {}
        for row in measured:
            once.setdefault((row["session"], row["seed"]), row)
        return tuple(once.values())

    def values(self, metric: Metric) -> tuple[float, ...]:
        """Of the complete trials, one each; of qualities one a seed."""
        return tuple(float(row[metric.column]) for row in self.independent(metric))

    def measurements(self, metric: Metric) -> Measurements:
        """What the statistics compare: a failed trial has no value, but it counts."""
        measured = self.independent(metric)
        every = (*measured, *self.failed)
        values = (*self.values(metric), *(math.nan for _ in self.failed))
        return Measurements(
            values=values,
            keys=tuple(_key(row) for row in every),
            finished=(*(True for _ in measured), *(False for _ in self.failed)),
            sessions=tuple(str(row["session"]) for row in every),
            certified=self.certified,
            altered=self.proof == "altered",
            complete=bool(self.complete),
            made_up=metric.column in OF_SEEDS and self.synthetic,
            data=self.conditions.data,
            machine=self.conditions.machine,
            scale=self.conditions.scale,
        )

    def typical(self, metric: Metric) -> Row | None:
        """The complete trial with the middle value, where one trial has to represent all."""
        ranked = sorted(
            self.measured(metric),
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
    family: str = ""
    """Its label without the point of a sweep: the cases of one sweep share it."""
    copies: int = 0
    """Trials that are another one's numbers under another id: they count once."""

    @property
    def order(self) -> tuple[object, ...]:
        """What to sort by: the points of a sweep by their values, not as text."""
        point = dict(self.fixed).get("point", "")
        parts = re.findall(r"([^0-9]+)([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?)?", point)
        return self.family, [(text, float(value or 0)) for text, value in parts], self.label


def cases_of(trials: pl.DataFrame, by: str, columns: Sequence[str] = ()) -> list[Case]:
    """All that can be compared; the rows of the groups have these columns beside the usual."""
    check_known("field to compare by", by, BY)
    # A release's variants are contenders like releases.
    own = {"release", "variant"} if by == "release" else {by}
    fixed = [field for field in _CHOSEN if field not in own]
    together: dict[tuple[str, ...], list[Row]] = {}
    copies: Counter[tuple[str, ...]] = Counter()
    copied = _copies(trials)
    sessions = sessions_of(trials)
    rows = trials.select(list(dict.fromkeys((*_READ, *columns)))).rows(named=True)
    for row, session, is_copy in zip(rows, sessions, copied, strict=True):
        key = tuple(str(row[field]) for field in fixed)
        if is_copy:
            copies[key] += 1
        else:
            row["session"] = session
            together.setdefault(key, []).append(row)
    several_engines = trials["engine"].n_unique() > 1
    cases = []
    for key, members in together.items():
        values = dict(zip(fixed, key, strict=True))
        workload = values.pop("workload")
        label = _label(workload, values, several_engines)
        groups = _groups(members, by, label)
        family = _label(workload, {**values, "point": ""}, several_engines)
        cases.append(Case(workload, tuple(values.items()), label, groups, family, copies[key]))
    return sorted(cases, key=lambda case: case.order)


def _copies(trials: pl.DataFrame) -> list[bool]:
    """Which rows are a run that another row has already: the same machine, the same start to the
    last digit, the same numbers. Ids, seeds and rounds can be given anew, these cannot."""
    same = [name for name, kind in trials.schema.items() if kind.is_float()]
    same += [*_CHOSEN, "machine", "started", "outcome"]
    first = trials.select(pl.struct(same).is_first_distinct()).to_series()
    # A trial that failed at once has no numbers to tell it by.
    known = trials["started"].is_not_null() & (trials["outcome"] == Outcome.OK)
    return (~first & known.fill_null(False)).to_list()


def _key(row: Row) -> Hashable:
    """Trials of one round and seed in one session are partners. Without a round there is none."""
    if row["round"] is None:
        return str(row["id"])
    return row["session"], row["round"], row["seed"]


def _label(workload: str, fixed: dict[str, str], several_engines: bool) -> str:
    usual = _USUAL if several_engines else {**_USUAL, "engine": fixed.get("engine", "")}
    unusual = [value for field, value in fixed.items() if usual.get(field) != value]
    return f"{workload} ({', '.join(unusual)})" if unusual else workload


def _conditions(row: Row) -> Conditions:
    steps, threads, cpus = row["budget_steps"], row["threads"], row["cpus"]
    memory, rows = row["memory_limit_bytes"], row["train_rows"]
    scale = [count(row["budget_epochs"], "epoch") if steps is None else count(steps, "step")]
    scale += [f"batch {row['batch']}"]
    scale += [count(threads, "thread")] if threads is not None else []
    scale += [f"{cpus:g} {'core' if cpus == 1 else 'cores'}"] if cpus is not None else []
    scale += [f"{memory / 2**20:g} MiB"] if memory is not None else []
    scale += [f"{rows:,} rows"] if rows is not None else []
    scale += [change for change in row["changes"].split() if not change.startswith("batch=")]
    scale += [f"weights {row['weights'][:16]}"] if row["weights"] else []
    return Conditions(str(row["machine"] or ""), str(row["data"] or ""), ", ".join(scale))


def _groups(rows: Sequence[Row], by: str, case: str) -> tuple[Group, ...]:
    several = _of_several_variants(rows) if by == "release" else frozenset()
    named: dict[str, dict[Conditions, list[Row]]] = {}
    for row in rows:
        name = str(row[by])
        if name in several:
            name = f"{name}:{row['variant']}"
        name = marked(name, str(row["confounds"] or "").split())
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
