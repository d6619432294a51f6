"""How cost grows with what was swept: the cases of one sweep as lines, and one sentence on each.

A line is one contender over the values of one field, with everything else the same. What it says is
described, not tested: contenders are compared within a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlbench.analysis.groups import Case, Group
from dlbench.analysis.metrics import (
    ON_TRAINING_ROWS,
    PEAK_MEMORY,
    QUALITY,
    SPEED,
    STEP,
    TRAINING,
    Metric,
)
from dlbench.statistics.words import listing, number, some

DRAWN = (TRAINING, *QUALITY, *ON_TRAINING_ROWS, STEP, SPEED, PEAK_MEMORY)
"""What is shown over the values of a field, as far as it was measured: cost, and what it buys."""
_SAME = 1.05
"""Less than this is said to stay about the same."""


@dataclass(frozen=True)
class Line:
    """One contender over the values of one swept field."""

    family: str
    """The case without the field: `mnist-cnn (threads=2)`."""
    field: str
    contender: str
    framework: str
    points: tuple[tuple[float, Group], ...]
    """By value; two or more."""


def lines_of(cases: Sequence[Case]) -> list[Line]:
    """Every line of the sweeps in these cases; groups that are not certified have none."""
    found: dict[tuple[str, str, str, str], dict[float, Group]] = {}
    for case in cases:
        texts = dict(case.fixed).get("point", "").split()
        for text in texts:
            field, _, value = text.partition("=")
            x = _numeric(value)
            if x is None:
                continue
            rest = [other for other in texts if other != text]
            family = f"{case.family} ({' '.join(rest)})" if rest else case.family
            for group in case.groups:
                if group.certified and group.complete:
                    key = family, field, group.name, group.framework
                    found.setdefault(key, {})[x] = group
    return [
        Line(*key, tuple(sorted(points.items(), key=lambda point: point[0])))
        for key, points in found.items()
        if len(points) > 1
    ]


def sentences(lines: Sequence[Line]) -> Iterator[str]:
    """From the smallest to the largest value: by how much what it costs changes in each."""
    together: dict[tuple[str, str, float, float], list[Line]] = {}
    for line in lines:  # who failed at the largest value is told of up to where it came
        key = line.family, line.field, line.points[0][0], line.points[-1][0]
        together.setdefault(key, []).append(line)
    for (family, field, low, high), same in together.items():
        time = SPEED if field == "batch" else TRAINING
        parts = [
            words
            for metric, name in ((time, _NAMES[time]), (PEAK_MEMORY, "the peak memory"))
            if (words := _growth(same, metric, name))
        ]
        if parts:
            yield (
                f"{family}: from {field} {number(low)} to {number(high)} {'; '.join(parts)}."
                " (Medians; not tested.)"
            )


_NAMES = {SPEED: "the time a row", TRAINING: "the training time"}


def _growth(lines: Sequence[Line], metric: Metric, name: str) -> str:
    """`the time a row falls 5.1 times in pytorch and 3.2 times in jax`."""
    ways: dict[str, list[str]] = {}
    for line in lines:
        first, last = (line.points[i][1].median(metric.column) for i in (0, -1))
        if not first or not last:
            continue
        ratio = first / last if metric is SPEED else last / first
        if max(ratio, 1 / ratio) < _SAME:
            ways.setdefault("stays about the same", []).append(line.contender)
        else:
            way, size = ("grows", ratio) if ratio > 1 else ("falls", 1 / ratio)
            ways.setdefault(way, []).append(f"{number(size, 2)} times in {line.contender}")
    told = [
        f"{way} {'in ' if way.startswith('stays') else ''}{listing(some(who))}"
        for way, who in ways.items()
    ]
    return f"{name} {', and '.join(told)}" if told else ""


def _numeric(text: str) -> float | None:
    """The value as a place on an axis; None: it has none there."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None
