"""Who ran on fewer cores than the rest: the one place that words it.

A contender that took one of two cores, by its own default or by its nature, is not as slow as its
number: this stands where it is ranked, in every output.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dlbench.statistics.words import listing

if TYPE_CHECKING:
    from dlbench.analysis.groups import Group


def cores_used(group: Group) -> float | None:
    """As many as its pool has threads, and no more than it was given; None: not recorded."""
    used = []
    for row in group.complete or group.rows:
        known = [row["threads_used"], row["cores"]]
        if row["device"] == "cpu" and row["threads_used"] is not None:
            used.append(min(float(value) for value in known if value is not None))
    return statistics.median(used) if used else None


def fewer_cores(groups: Sequence[Group]) -> Iterator[str]:
    """A sentence for each number of cores that is less than the most, and for those of whose work
    a part runs on one core whatever they are given."""
    used = {g.name: cores for g in groups if g.complete and (cores := cores_used(g)) is not None}
    if len(used) < 2:
        return
    most = max(used.values())
    left_alone = all(row["threads"] is None for group in groups for row in group.rows)
    hint = "; `--threads N` gives all of them equally many" if left_alone else ""
    for number in sorted(set(used.values()) - {most}):
        names = [name for name, cores in used.items() if cores == number]
        others = [name for name, cores in used.items() if cores == most]
        rest = listing(others) if len(others) < 3 else f"{len(others)} others"
        yield (
            f"Unequal cores: {listing(names)} ran on {_cores(number)}, {rest} on {most:g}."
            f" Their times do not tell who is faster on equal cores{hint}."
        )
    if most <= 1:
        return
    alone: dict[str, list[str]] = {}
    for group in groups:
        if used.get(group.name, 0) > 1 and (what := group.rows[0]["one_core"]):
            alone.setdefault(what, []).append(group.name)
    for what, names in alone.items():
        verb = "computes" if len(names) == 1 else "compute"
        yield f"{listing(names)} {verb} {what} on one core; the cores given were {most:g}."


def core_note(group: Group) -> str:
    """`1 of 2 cores`, `mostly one core`: in a few words beside a group's number; else empty."""
    used, given = cores_used(group), _given(group)
    if used is None or given is None or given <= 1:
        return ""
    if used < given:
        return f"{used:g} of {given:g} cores"
    return f"{group.rows[0]['one_core']} on one core" if group.rows[0]["one_core"] else ""


def _given(group: Group) -> float | None:
    known = [row["cores"] for row in group.rows if row["cores"] is not None]
    return statistics.median(known) if known else None


def _cores(number: float) -> str:
    return f"{number:g} core{'' if number == 1 else 's'}"
