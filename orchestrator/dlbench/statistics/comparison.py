"""A whole family of groups on one metric: all pairs, one correction, one answer in words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from dlbench.statistics.bootstrap import DRAWS, SEED, Resamples, resample
from dlbench.statistics.effects import Effect, comparable_scale, measure
from dlbench.statistics.intervals import Floats
from dlbench.statistics.margins import Equivalence, equivalence
from dlbench.statistics.measurements import (
    TIME,
    KeyedValues,
    Kind,
    Measurements,
    Reason,
    keyed_values,
    partners,
    reasons_alone,
    reasons_between,
)
from dlbench.statistics.rank_tests import RankTest, rank_sum, signed_rank
from dlbench.statistics.ranks import differences
from dlbench.statistics.sample_size import SampleSize, holm
from dlbench.statistics.summary import Summary, summarise
from dlbench.statistics.verdicts import Decision, Verdict, judge


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

    def between(self, one: str, other: str) -> Verdict | None:
        """The verdict on a pair, whichever of them it names first."""
        pair = {one, other}
        return next((v for v in self.verdicts if {v.first, v.second} == pair), None)

    @property
    def tested(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.decision is not Decision.NOT_COMPARABLE)

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
        if weakest.enough or len(self.sizes) == 1:
            return weakest.sentence
        weak = sum(1 for v in self.tested if v.size is not None and not v.size.enough)
        return f"{weakest.sentence[:-1]}; this concerns {weak} of {len(self.tested)} comparisons."

    @property
    def answer(self) -> str:
        """One paragraph: who leads and by how much, what is not shown, who is not ranked."""
        from dlbench.statistics.answers import answer

        return answer(self)

    @property
    def sentence(self) -> str:
        return f"{self.sample_size_sentence} {self.answer}"


@dataclass(frozen=True)
class _Pair:
    """One comparable pair, measured and tested but not yet judged."""

    names: tuple[str, str]
    effect: Effect
    test: RankTest
    equivalent: Equivalence | None
    runs: tuple[int, ...]
    left_out: tuple[int, int]


@dataclass
class _Draws:
    """Resamples made once a group. Paired groups share the stream, so they are resampled alike."""

    seed: int
    rows: int
    made: dict[tuple[str, int, frozenset[Hashable] | None], Resamples | None] = field(
        default_factory=dict
    )

    def of(
        self, name: str, values: Floats, stream: int, keys: frozenset[Hashable] | None
    ) -> Resamples | None:
        key = (name, stream, keys)
        if key not in self.made:
            self.made[key] = resample(values, self.seed + stream, self.rows)
        return self.made[key]


def compare(
    groups: Mapping[str, Measurements],
    kind: Kind = TIME,
    *,
    metric: str = "",
    alpha: float = 0.05,
    margin: float | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    seed: int = SEED,
    draws: int = DRAWS,
) -> Comparison:
    """Every pair of groups (or every group against `baseline`), corrected by Holm over all of them.

    `margin` is a factor for ratios and a difference otherwise; without one nothing is equivalent.
    """
    names = list(groups)
    runs = {name: keyed_values(group) for name, group in groups.items()}
    alone = {name: reasons_alone(group, kind) for name, group in groups.items()}
    drawn = _Draws(seed, draws)
    streams = {name: number for number, name in enumerate(names, 1)}
    together = _all_paired(runs)

    def described(name: str) -> Summary:
        values = runs[name].values
        stream, keys = (0, together) if together is not None else (streams[name], None)
        made = drawn.of(name, values, stream, keys)
        return summarise(values, made, level, groups[name].not_numbers)

    summaries = {name: described(name) for name in names}
    wanted = [(a, b) for a, b in combinations(names, 2) if baseline is None or baseline in (a, b)]
    if baseline is not None:
        # The baseline stands second: "B is slower than the baseline".
        wanted = [(b, a) if a == baseline else (a, b) for a, b in wanted]
    refused: dict[tuple[str, str], tuple[Reason, ...]] = {}
    pairs: list[_Pair] = []
    for a, b in wanted:
        why = tuple(dict.fromkeys((*alone[a], *alone[b], *reasons_between(groups[a], groups[b]))))
        if why:
            refused[a, b] = why
            continue
        common = partners(runs[a], runs[b])
        if common is not None:
            x, y = (runs[name].only(common) for name in (a, b))
            drawn_x, drawn_y = (drawn.of(n, v, 0, common) for n, v in ((a, x), (b, y)))
        else:
            x, y = runs[a].values, runs[b].values
            drawn_x, drawn_y = (drawn.of(n, v, streams[n], None) for n, v in ((a, x), (b, y)))
        paired = common is not None
        pairs.append(
            _Pair(
                (a, b),
                measure(x, y, drawn_x, drawn_y, kind, paired, level),
                signed_rank(differences(*comparable_scale(x, y, kind)))
                if paired
                else rank_sum(x, y),
                equivalence(x, y, margin, kind, paired=paired) if margin else None,
                (len(x),) if paired else (len(x), len(y)),
                (len(runs[a].values) - len(x), len(runs[b].values) - len(y)),
            )
        )
    judged = {(v.first, v.second): v for v in _judged(pairs, alpha)}
    verdicts = tuple(
        judged[pair]
        if pair in judged
        else Verdict(*pair, kind, Decision.NOT_COMPARABLE, refused[pair])
        for pair in wanted
    )
    apart = {name: why for name, why in alone.items() if why}
    middle = {name: summary.middle(kind)[0] for name, summary in summaries.items()}
    ranking = sorted(
        (name for name in names if name not in apart),
        key=lambda name: middle[name] if kind.less_is_better else -middle[name],
    )
    return Comparison(metric, kind, alpha, margin, summaries, apart, tuple(ranking), verdicts)


def _all_paired(runs: Mapping[str, KeyedValues]) -> frozenset[Hashable] | None:
    """The keys, where every group has the very same: then one set of resamples serves all pairs."""
    first = next((group.keys for group in runs.values()), None)
    return frozenset(first) if first and all(r.keys == first for r in runs.values()) else None


def _judged(pairs: list[_Pair], alpha: float) -> list[Verdict]:
    adjusted = holm([pair.test.p for pair in pairs])
    near = holm([pair.equivalent.p if pair.equivalent else 1.0 for pair in pairs])
    return [
        judge(
            pair.names,
            pair.effect,
            pair.test,
            adjusted[i],
            SampleSize(pair.runs, len(pairs), alpha),
            pair.equivalent,
            near[i] if pair.equivalent else None,
            pair.left_out,
        )
        for i, pair in enumerate(pairs)
    ]
