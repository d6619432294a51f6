"""A whole family of groups on one metric: all pairs, one correction, one answer in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from dlbench.statistics.alignment import align
from dlbench.statistics.bootstrap import DRAWS, SEED, Resamples, resample
from dlbench.statistics.effects import Effect, comparable_scale, measure
from dlbench.statistics.intervals import Floats
from dlbench.statistics.margins import equivalence
from dlbench.statistics.measurements import (
    TIME,
    Kind,
    Measurements,
    RankedValues,
    Reason,
    ranked_values,
    reasons_alone,
    reasons_between,
)
from dlbench.statistics.rank_tests import rank_sum, signed_rank
from dlbench.statistics.ranks import cliffs_delta, differences
from dlbench.statistics.sample_size import SampleSize, room_for_noise
from dlbench.statistics.summary import Summary, summarise
from dlbench.statistics.verdicts import Decision, Verdict, judge
from dlbench.statistics.words import count, listing, some

MOST_LISTED = 5_000
"""Pairs. Of more, each group is compared with the best one alone; all count in the correction."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Comparison:
    """All that can be said of these groups on this metric."""

    metric: str
    kind: Kind
    alpha: float
    margin: float | None
    summaries: dict[str, Summary]
    set_apart: dict[str, tuple[Reason, ...]]
    """Groups that are shown but never ranked, and why."""
    ranking: tuple[str, ...]
    """The others, the best median (or mean, for differences) first."""
    verdicts: tuple[Verdict, ...]
    failures: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of groups that had any: failed runs, and all runs."""
    unlisted: int = 0
    """Pairs without a verdict of their own, because there are too many."""

    @cached_property
    def _by_pair(self) -> dict[frozenset[str], Verdict]:
        return {frozenset((v.first, v.second)): v for v in self.verdicts}

    def between(self, one: str, other: str) -> Verdict | None:
        """The verdict on a pair, whichever of them it names first."""
        return self._by_pair.get(frozenset((one, other)))

    @cached_property
    def tested(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.decision is not Decision.NOT_COMPARABLE)

    def against_others(self, name: str) -> list[Verdict]:
        """The verdicts on a group and each other group that it may be compared with."""
        return [v for v in self.tested if name in (v.first, v.second)]

    @property
    def leader(self) -> str | None:
        """The group that is shown to be better than all that it may be compared with."""
        best = self.ranking[0] if self.ranking else ""
        against = self.against_others(best)
        return best if against and all(v.won_by(best) for v in against) else None

    @property
    def sizes(self) -> tuple[SampleSize, ...]:
        """The sample sizes that occur, the weakest first."""
        sizes = {v.size for v in self.tested if v.size is not None}
        return tuple(sorted(sizes, key=lambda size: (-size.least, size.runs)))

    @property
    def sample_size_sentence(self) -> str:
        """To be said before any result."""
        if not self.sizes:
            return "There is nothing to test: no two groups are comparable."
        weakest = self.sizes[0]
        said = weakest.sentence
        if not weakest.enough and len(self.sizes) > 1:
            weak = sum(1 for v in self.tested if v.size is not None and not v.size.enough)
            said = f"{said[:-1]}; this concerns {weak} of {len(self.tested)} comparisons."
        if self.unlisted:
            said += (
                f" {len(self.tested) + self.unlisted:,} pairs are too many to list: each group is"
                " compared with the best one, and the correction counts all pairs."
            )
        return said

    @property
    def test_sentence(self) -> str:
        """Which tests were made, and why these."""
        return " ".join(dict.fromkeys(size.test for size in self.sizes if size.test))

    @property
    def failures_sentence(self) -> str:
        """`b: 10 of 20 runs failed`, and what that means; empty if none did."""
        if not self.failures:
            return ""
        failed = self.failures.items()
        each = some([f"{name}: {n} of {count(of, 'run')} failed" for name, (n, of) in failed])
        return f"{listing(each)} (counted as worse than any that finished)."

    @property
    def answer(self) -> str:
        """One paragraph: who leads and by how much, what is not shown, who is not ranked."""
        from dlbench.statistics.answers import answer

        return answer(self)

    @property
    def sentence(self) -> str:
        return f"{self.answer} {self.sample_size_sentence}"


@dataclass
class _Draws:
    """Resamples made once a group. Paired groups share the stream, so they are resampled alike."""

    rows: int
    made: dict[tuple[str, int, frozenset[Hashable] | None], Resamples | None] = field(
        default_factory=dict
    )

    def of(
        self, name: str, values: Floats, stream: int, which: frozenset[Hashable] | None
    ) -> Resamples | None:
        """`which`: the keys or sessions that the values are of, where they are not all."""
        key = (name, stream, which)
        if key not in self.made:
            self.made[key] = resample(values, SEED + stream, self.rows)
        return self.made[key]


def comparable_pairs(
    groups: Mapping[str, Measurements], kind: Kind, baseline: str | None = None
) -> int:
    """How many pairs of these can be tested: the size of their family."""
    alike = Counter(
        (group.data, group.machine, group.scale)
        for name, group in groups.items()
        if name != baseline and not reasons_alone(group, kind)
    )
    if baseline is None:
        return sum(n * (n - 1) // 2 for n in alike.values())
    own = groups[baseline]
    return 0 if reasons_alone(own, kind) else alike[own.data, own.machine, own.scale]


def compare(
    groups: Mapping[str, Measurements],
    kind: Kind = TIME,
    *,
    metric: str = "",
    alpha: float = 0.05,
    margin: float | None = None,
    baseline: str | None = None,
    family: int | None = None,
    draws: int = DRAWS,
) -> Comparison:
    """Every pair of groups (or every group against `baseline`), corrected by Holm over all of them.

    `margin` is a factor for ratios and a difference otherwise; without one nothing is equivalent.
    `family`: how many comparisons share alpha, where there are more than these.
    """
    runs = {name: ranked_values(group, kind) for name, group in groups.items()}
    alone = {name: reasons_alone(group, kind) for name, group in groups.items()}
    apart = {name: why for name, why in alone.items() if why}
    drawn = _Draws(draws)
    streams = {name: number for number, name in enumerate(groups, 1)}
    together = _all_paired(runs)

    def described(name: str) -> Summary:
        stream, keys = (0, together) if together is not None else (streams[name], None)
        made = drawn.of(name, runs[name].finite, stream, keys)
        return summarise(runs[name].finite, made, groups[name].not_numbers)

    summaries = {name: described(name) for name in groups}
    ranking = _by_middle([name for name in groups if name not in apart], runs, summaries, kind)
    total = comparable_pairs(groups, kind, baseline)
    wanted = _wanted(groups, baseline, ranking, total)
    refused: dict[Pair, tuple[Reason, ...]] = {}
    tested: list[Verdict] = []
    for a, b in wanted:
        why = tuple(dict.fromkeys((*alone[a], *alone[b], *reasons_between(groups[a], groups[b]))))
        if why:
            refused[a, b] = why
        else:
            shared = family if family is not None else total
            tested.append(_tested(a, b, runs, drawn, streams, kind, alpha, margin, shared))
    judged = {(v.first, v.second): v for v in judge(tested, total)}
    verdicts = tuple(
        judged[pair]
        if pair in judged
        else Verdict(*pair, kind, Decision.NOT_COMPARABLE, refused[pair])
        for pair in wanted
    )
    failed = {
        name: (_failed(own), len(own.values))
        for name, own in runs.items()
        if _failed(own) and groups[name].complete
    }
    if failed:
        ranking = _below_winners(ranking, verdicts)
    return Comparison(
        metric, kind, alpha, margin, summaries, apart, tuple(ranking), verdicts, failed,
        total - len(tested),
    )  # fmt: skip


def _wanted(
    groups: Mapping[str, Measurements], baseline: str | None, ranking: Sequence[str], total: int
) -> list[Pair]:
    """The pairs that get a verdict."""
    if baseline is not None:
        # The baseline stands second: "B is slower than the baseline".
        return [(name, baseline) for name in groups if name != baseline]
    if total <= MOST_LISTED:
        return list(combinations(groups, 2))
    best: dict[tuple[str, ...], str] = {}
    wanted = []
    for name in ranking:
        own = groups[name]
        first = best.setdefault((own.data, own.machine, own.scale), name)
        wanted += [(first, name)] if first != name else []
    return wanted + list(combinations(best.values(), 2))


def _tested(
    a: str, b: str, runs: Mapping[str, RankedValues], drawn: _Draws, streams: Mapping[str, int],
    kind: Kind, alpha: float, margin: float | None, family: int,
) -> Verdict:  # fmt: skip
    """One pair, not judged yet: what was measured in the same sessions, where there is such."""
    aligned = align(runs[a], runs[b], family, alpha)
    first, second, common, size = aligned.first, aligned.second, aligned.common, aligned.size
    x, y = aligned.values
    if size.paired:
        test = signed_rank(differences(*comparable_scale(x, y, kind)))
    else:
        test = rank_sum(x, y)
        test = replace(test, p=min(1.0, test.p * room_for_noise(len(x), len(y))))
    effect = _effect((a, b), (first, second), common, size, drawn, streams, kind)
    if effect is None:  # all that finished was measured in other sessions
        effect = _effect((a, b), (runs[a], runs[b]), common, None, drawn, streams, kind)
    assert effect is not None
    failed = (int(np.count_nonzero(np.isinf(x))), int(np.count_nonzero(np.isinf(y))))
    if any(failed):
        effect = replace(effect, failed=failed, lean=test.lean, delta=cliffs_delta(x, y))
    near = equivalence(x, y, margin, kind, paired=size.paired) if margin else None
    left = (len(runs[a].values) - len(x), len(runs[b].values) - len(y))
    return Verdict(
        a, b, kind, Decision.NOT_SHOWN, effect=effect, test=test, size=size, equivalence=near,
        left_out=left, apart=aligned.apart,
    )  # fmt: skip


def _effect(
    names: Pair, runs: tuple[RankedValues, RankedValues], common: frozenset[Hashable],
    size: SampleSize | None, drawn: _Draws, streams: Mapping[str, int], kind: Kind,
) -> Effect | None:  # fmt: skip
    """Of the runs that finished; in pairs of which both did."""
    if size is not None and size.paired:
        both = common
        if any(not np.isfinite(own.values).all() for own in runs):
            done = [
                {key for key, x in zip(own.keys or (), own.values, strict=True) if math.isfinite(x)}
                for own in runs
            ]
            both = frozenset(common & done[0] & done[1])
        if both:
            x, y = (own.only(both) for own in runs)
            made = [drawn.of(name, v, 0, both) for name, v in zip(names, (x, y), strict=True)]
            return measure(x, y, made[0], made[1], kind, True)
    x, y = runs[0].finite, runs[1].finite
    if not len(x) or not len(y):
        return None
    made = [
        drawn.of(name, own.finite, streams[name], own.session_set or None)
        for name, own in zip(names, runs, strict=True)
    ]
    return measure(x, y, made[0], made[1], kind, False)


def _failed(runs: RankedValues) -> int:
    return len(runs.values) - len(runs.finite)


def _all_paired(runs: Mapping[str, RankedValues]) -> frozenset[Hashable] | None:
    """The keys, where every group has the very same: then one set of resamples serves all pairs."""
    first = next(iter(runs.values()), None)
    if first is None or not first.keys:
        return None
    alike = all(r.keys == first.keys and len(r.finite) == len(r.values) for r in runs.values())
    return first.key_set if alike else None


def _by_middle(
    names: Sequence[str], runs: Mapping[str, RankedValues], summaries: Mapping[str, Summary],
    kind: Kind,
) -> list[str]:  # fmt: skip
    """The best first; whoever failed in half of its runs or more comes after the rest, and of
    equals whoever failed more often."""

    def place(name: str) -> tuple[bool, float, float]:
        middle = summaries[name].middle(kind)[0]
        failed = _failed(runs[name]) / max(1, len(runs[name].values))
        return failed >= 0.5, middle if kind.less_is_better else -middle, failed

    return sorted(names, key=place)


def _below_winners(ranking: Sequence[str], verdicts: Sequence[Verdict]) -> list[str]:
    """Who is shown to be worse, by failing more often, stands below whoever beats it."""
    order = list(ranking)
    for verdict in verdicts:
        if verdict.different:
            winner = verdict.first if verdict.won_by(verdict.first) else verdict.second
            loser = verdict.other(winner)
            if order.index(loser) < order.index(winner):
                order.remove(loser)
                order.insert(order.index(winner) + 1, loser)
    return order
