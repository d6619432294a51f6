"""What one seed gives again and again, and how much that is beside what different seeds give.

Trials of one seed in one group are compared by the digests of what they ended with: equal digests
are equal weights, predictions and losses to the last bit. Where they differ, it is said by how
much, as mean and standard deviation. Nothing is claimed of what was not run twice.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlbench.analysis.groups import Group, Row
from dlbench.analysis.metrics import QUALITY, Metric, in_lower_case
from dlbench.statistics.words import count, listing, number

_DIGESTS = {
    "final_weights_sha256": "weights",
    "predictions_sha256": "predictions",
    "losses_sha256": "losses",
}


@dataclass(frozen=True)
class Repeats:
    """The trials of one group at the seed that was run most often."""

    group: Group
    seed: int
    rows: tuple[Row, ...]
    """Two or more, all complete."""

    @property
    def recorded(self) -> bool:
        """Whether all of them tell what they ended with."""
        return all(row[name] for row in self.rows for name in _DIGESTS)

    @property
    def differs(self) -> list[str]:
        """What is not the same in all of them to the last bit: weights, predictions, losses."""
        return [
            word for name, word in _DIGESTS.items() if len({row[name] for row in self.rows}) > 1
        ]

    @property
    def deterministic(self) -> bool:
        return bool(self.group.rows[0]["kernels"])

    def values(self, metric: Metric) -> list[float]:
        known = (row[metric.column] for row in self.rows)
        return [float(value) * metric.factor for value in known if value is not None]

    @property
    def losses(self) -> list[float]:
        return [float(row["loss"]) for row in self.rows if row["loss"] is not None]


def repeats_of(group: Group) -> Repeats | None:
    """None: no seed was completed twice."""
    by_seed: dict[int, list[Row]] = {}
    for row in group.complete:
        if row["seed"] is not None:
            by_seed.setdefault(row["seed"], []).append(row)
    if not by_seed:
        return None
    seed, rows = max(by_seed.items(), key=lambda one: (len(one[1]), -one[0]))
    return Repeats(group, seed, tuple(rows)) if len(rows) > 1 else None


def sentences(groups: Sequence[Group], *, with_case: bool = False) -> Iterator[str]:
    """What repeats of one seed gave, with and without deterministic kernels, and beside it what
    different seeds gave. `with_case`: the groups are of several cases, which are named."""
    found = [repeats for group in groups if (repeats := repeats_of(group)) is not None]
    for asked in (False, True):
        own = [repeats for repeats in found if repeats.deterministic == asked]
        how = "With --deterministic" if asked else "Without --deterministic"
        same = [r for r in own if r.recorded and not r.differs]
        if same:
            yield (
                f"{how}, a seed that was run again gave the same weights, predictions and losses"
                f" to the last bit: {listing([_run(r, with_case) for r in same])}."
            )
        for repeats in own:
            if repeats not in same:
                yield f"{how}, {_apart(repeats, with_case)}"
            if across := _across_seeds(repeats, with_case):
                yield across


def _name(group: Group, with_case: bool) -> str:
    return f"{group.name} on {group.case}" if with_case else group.name


def _run(repeats: Repeats, with_case: bool) -> str:
    runs = count(len(repeats.rows), "run")
    return f"{_name(repeats.group, with_case)} ({runs} of seed {repeats.seed})"


def _apart(repeats: Repeats, with_case: bool) -> str:
    """Of repeats that differ, or that do not record what they ended with."""
    who, metric = _run(repeats, with_case), _metric(repeats.group)
    spread = _spread(repeats.values(metric), metric) if metric else ""
    losses = repeats.losses
    if not repeats.recorded:
        values = [*(repeats.values(metric) if metric else ()), *losses]
        alike = metric is not None and len({*repeats.values(metric)}) == 1 == len({*losses})
        if alike and values:
            return f"{who} gave the same quality and loss again, to the digits that were recorded."
        return f"{who} gave different results again{spread}."
    what = f"{who} did not repeat itself to the last bit: {listing(repeats.differs)} differ"
    by = max(losses) - min(losses) if losses else 0.0
    loss = f"the last loss by {number(by, 2)}" if by else "the last loss by less than 0.000001"
    why = ""
    device = str(repeats.group.rows[0]["device"]).partition(":")[0]
    covered = str(repeats.group.rows[0]["switches_cover"] or "").split()
    if repeats.deterministic and device not in covered:
        why = f" Its switches for deterministic kernels do not cover a {device.upper()}."
    return f"{what}, {loss}{spread}.{why}"


def _across_seeds(repeats: Repeats, with_case: bool) -> str:
    """How much seeds matter, one run of each: without it a spread at one seed says little."""
    metric = _metric(repeats.group)
    if metric is None:
        return ""
    values = [value * metric.factor for value in repeats.group.values(metric)]
    if len(values) < 2:
        return ""
    fixed = _spread(repeats.values(metric), metric).removeprefix("; ")
    varied = _spread(values, metric).removeprefix("; ")
    return (
        f"{_name(repeats.group, with_case)}: {fixed} at the fixed seed {repeats.seed};"
        f" {varied} over {len(values)} different seeds."
    )


def _metric(group: Group) -> Metric | None:
    return next((m for m in QUALITY if any(r.get(m.column) is not None for r in group.rows)), None)


def _spread(values: Sequence[float], metric: Metric) -> str:
    """`; accuracy 97.6 ± 0.3 %`: mean and standard deviation."""
    if len(values) < 2:
        return ""
    deviation = statistics.stdev(values)
    mean, digits = statistics.fmean(values), 4
    if deviation:  # no more digits than it leaves a meaning to
        digits = max(3, min(8, len(str(int(abs(mean) / deviation))) + 1))
    unit = f" {metric.unit}" if metric.unit else ""
    title = in_lower_case(metric.title)
    return f"; {title} {number(mean, digits)} ± {number(deviation, 2)}{unit}"
