"""Where along a history of releases did a metric change its level?

Binary segmentation on the ranks of all runs: the best cut of a stretch of releases in two is held
against the best cuts after shuffling its runs among the releases, and the halves are searched in
turn. Ranks keep one wild run from making a change; searching for the best cut is paid for, because
the shuffles search too. Alpha is shared out, so that false alarms stay within it whatever really
changed: equally among the histories that are searched together, and within a history to each
stretch as much as it is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlbench.statistics.bootstrap import SEED
from dlbench.statistics.effects import Effect, effect
from dlbench.statistics.intervals import Floats
from dlbench.statistics.margins import inside
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.ranks import midranks
from dlbench.statistics.verdicts import by_how_much
from dlbench.statistics.words import p_value

Places = npt.NDArray[np.int64]

_SHUFFLES = 1999
_MANY = 50
"""Runs of every release; with more, the shuffles' normal limit is drawn instead."""
_MOST = 2_000
"""Runs of all releases, likewise."""


@dataclass(frozen=True)
class HistoryPoint:
    """One release (or commit, or date) and its runs."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class ChangePoint:
    """The first release on a new level."""

    name: str
    before: tuple[str, str]
    """First and last release of the level before."""
    until: str
    """Last release of the new level."""
    effect: Effect
    """The new level against the one before."""
    p: float
    """Corrected for all that was searched."""

    @property
    def better(self) -> bool:
        return self.effect.first_is_better

    @property
    def sentence(self) -> str:
        kind = self.effect.kind
        word = kind.better if self.better else kind.worse
        first, last = self.before
        earlier = first if first == last else f"{first} to {last}"
        size = by_how_much(self.effect)
        return f"Since {self.name} it {kind.verb} {word} than {earlier} by {size}."

    @property
    def details(self) -> str:
        return f"ranks of {' and '.join(map(str, self.effect.runs))} runs: {p_value(self.p)}"


def change_points(
    history: Sequence[HistoryPoint],
    kind: Kind = TIME,
    *,
    alpha: float = 0.05,
    together: int = 1,
    margin: float | None = None,
) -> tuple[ChangePoint, ...]:
    """The changes of level, oldest first. `together`: how many histories are searched at once.

    Changes within `margin`, a factor or a difference, do not matter and are left out."""
    points = []
    for point in history:
        values = np.asarray(point.values, dtype=np.float64)
        values = values[np.isfinite(values)]
        if kind.scale == "ratio":
            values = values[values > 0]
        if len(values):
            points.append((point.name, values))
    rng = np.random.default_rng(SEED)
    share = alpha / together
    cuts = _settled(points, _search(points, 0, len(points), share, rng), share, rng)
    changes = []
    edges = [0, *(cut for cut, _ in cuts), len(points)]
    for i, (cut, p) in enumerate(cuts):
        start, end = edges[i], edges[i + 2]
        new, old = _joined(points[cut:end]), _joined(points[start:cut])
        size = effect(new, old, kind)
        matters = margin is None or not inside(size.estimate, margin, kind.scale == "ratio")
        if size.direction and matters:
            names = (points[start][0], points[cut - 1][0])
            name, until = points[cut][0], points[end - 1][0]
            p = min(1.0, p * together)
            changes.append(ChangePoint(name, names, until, size, p))
    return tuple(changes)


def _joined(points: Sequence[tuple[str, Floats]]) -> Floats:
    return np.concatenate([values for _, values in points])


def _search(
    points: Sequence[tuple[str, Floats]], start: int, end: int, alpha: float,
    rng: np.random.Generator, above: float = 0.0,
) -> list[tuple[int, float]]:  # fmt: skip
    """The significant cuts between points `start` and `end`, with their p: no less than that of the
    cut `above`, which had to be found first."""
    best = _best_cut(points, start, end, rng)
    if best is None or best[1] > alpha:
        return []
    cut, p = best[0], max(above, best[1])
    left = _search(points, start, cut, alpha, rng, p)
    return [*left, (cut, p), *_search(points, cut, end, alpha, rng, p)]


def _settled(
    points: Sequence[tuple[str, Floats]], cuts: list[tuple[int, float]], alpha: float,
    rng: np.random.Generator,
) -> list[tuple[int, float]]:  # fmt: skip
    """Each cut looked for again between its neighbours, where these now are.

    The best single cut of a stretch with two changes may lie between them; once both are found, it
    has nothing to part."""
    number = 0
    while len(cuts) > 1 and number < len(cuts):
        edges = [0, *(cut for cut, _ in cuts), len(points)]
        again = _best_cut(points, edges[number], edges[number + 2], rng)
        if again is None or again[1] > alpha:
            del cuts[number]
            number = 0
        else:
            cuts[number] = again[0], max(cuts[number][1], again[1])
            number += 1
    return cuts


def _best_cut(
    points: Sequence[tuple[str, Floats]], start: int, end: int, rng: np.random.Generator
) -> tuple[int, float] | None:
    """Where the points from `start` to `end` fall apart most, and its p, corrected for the share
    that this stretch has in the history."""
    if end - start < 2:
        return None
    values = _joined(points[start:end])
    ranks = midranks(values) - (len(values) + 1) / 2
    sizes = [len(values) for _, values in points[start:end]]
    ends = np.cumsum(np.array(sizes, dtype=np.int64))[:-1]
    scores = _scores(ranks[None, :], ends)[0]
    best = float(scores.max())
    if best == 0:
        return None
    beyond = int(np.count_nonzero(_by_chance(ranks, ends, rng) >= best * (1 - 1e-9)))
    p = (1 + beyond) / (1 + _SHUFFLES) * len(points) / (end - start)
    return start + 1 + int(scores.argmax()), min(1.0, p)


def _by_chance(ranks: Floats, ends: Places, rng: np.random.Generator) -> Floats:
    """The best scores of shuffled runs."""
    n = len(ranks)
    sizes = np.diff(ends, prepend=0, append=n)
    if n <= _MOST and sizes.min() < _MANY:
        shuffled = rng.permuted(np.broadcast_to(ranks, (_SHUFFLES, n)), axis=1)
        best: Floats = _scores(shuffled, ends).max(axis=1)
        return best
    # Sums of shuffled ranks tend to a Brownian bridge, looked at where the points end.
    steps = sizes / n
    walk = (rng.normal(size=(_SHUFFLES, len(steps))) * np.sqrt(steps)).cumsum(axis=1)
    at = ends / n
    bridge = walk[:, :-1] - at * walk[:, -1:]
    limit: Floats = (np.abs(bridge) / np.sqrt(at * (1 - at))).max(axis=1) * ranks.std()
    return limit


def _scores(rows: Floats, ends: Places) -> Floats:
    """How far apart the two sides of each cut lie, in standard errors; one row a shuffle."""
    n = rows.shape[1]
    left = rows.cumsum(axis=1)[:, ends - 1]
    scores: Floats = np.abs(left) / np.sqrt(ends * (n - ends) / n)
    return scores
