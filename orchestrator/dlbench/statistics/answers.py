"""The answer to "which is best?" as one paragraph that claims no more than was shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dlbench.statistics.measurements import Reason
from dlbench.statistics.verdicts import Decision, Verdict, by_how_much
from dlbench.statistics.words import TOO_FEW_TO_TELL, listing, some

if TYPE_CHECKING:
    from dlbench.statistics.comparison import Comparison


def answer(comparison: Comparison) -> str:
    """Groups that may not be compared with each other get an answer each."""
    said = [comparison.failures_sentence] if comparison.failures else []
    said += [_leader(comparison, island) for island in islands(comparison)]
    apart: dict[tuple[Reason, ...], list[str]] = {}
    for name, why in comparison.set_apart.items():
        apart.setdefault(why, []).append(name)
    for why, names in apart.items():
        are = "is" if len(names) == 1 else "are"
        reasons = listing([reason.value for reason in why])
        said.append(f"{listing(some(names))} {are} not ranked: {reasons}.")
    across = [
        v
        for v in comparison.verdicts
        if v.decision is Decision.NOT_COMPARABLE
        and v.first in comparison.ranking
        and v.second in comparison.ranking
    ]
    if across:
        between = list(dict.fromkeys(reason.value for v in across for reason in v.reasons))
        said.append(f"These are not compared with each other: {listing(between)}.")
    if any(v.apart for v in comparison.tested):
        said.append(
            "Not all of these were measured in the same campaign: part of a difference may come"
            " from the day."
        )
    return " ".join(said) or "There are no groups."


def islands(comparison: Comparison) -> list[list[str]]:
    """The ranked groups, parted by who may be compared with whom; each best first."""
    linked = {name: {name} for name in comparison.ranking}
    for verdict in comparison.tested:
        joined = linked[verdict.first] | linked[verdict.second]
        for name in joined:
            linked[name] = joined
    islands: list[list[str]] = []
    seen: set[str] = set()
    for name in comparison.ranking:
        if name not in seen:
            islands.append([other for other in comparison.ranking if other in linked[name]])
            seen |= linked[name]
    return islands


def equal_best(comparison: Comparison, island: list[str]) -> list[str]:
    """The best of an island and those whose middle is the very same: none of them leads.

    Where runs of one failed, the values of the others do not make it equal."""
    best = island[0]
    return [name for name in island if name == best or equal(comparison, best, name)]


def equal(comparison: Comparison, one: str, other: str) -> bool:
    """Whether two groups have the same median (or mean), up to its rounding, and no failed run."""
    verdict = comparison.between(one, other)
    if {one, other} & set(comparison.failures) or (verdict is not None and verdict.different):
        return False
    kind = comparison.kind
    first, second = (comparison.summaries[name].middle(kind)[0] for name in (one, other))
    return math.isclose(first, second, rel_tol=1e-12)


def _leader(comparison: Comparison, island: list[str]) -> str:
    best = island[0]
    if len(island) == 1:
        return f"There is nothing to compare {best} with."
    against = comparison.against_others(best)
    rank = {name: i for i, name in enumerate(island)}
    against.sort(key=lambda v: rank[v.other(best)])
    beaten = [v for v in against if v.won_by(best)]
    level = [v for v in against if v.decision is Decision.EQUIVALENT]
    unshown = [v for v in against if v.decision is Decision.NOT_SHOWN]
    few = [v for v in against if v.decision is Decision.TOO_FEW]
    lost = [v for v in against if v.won_by(v.other(best))]
    kind = comparison.kind
    margins = [f"than {one}" for one in some([f"{v.other(best)}{_size(v)}" for v in beaten])]
    if beaten and len(beaten) == len(against):
        return f"{best} {kind.verb} {kind.best}: {kind.better} {listing(margins)}."
    parts = []
    if beaten:
        parts.append(f"{best} {kind.verb} {kind.better} {listing(margins)}")
    if level:
        within = some([v.other(best) for v in level])
        parts.append(f"{best} is equivalent to {listing(within)} within the stated margin")
    if unshown:
        seen = some([_seen(comparison, v, best) for v in unshown])
        parts.append(f"{best} is not shown to differ from {listing(seen)}")
    if few:
        named = some(
            [
                f"{other} (equal so far)" if equal(comparison, best, other) else other
                for other in (v.other(best) for v in few)
            ]
        )
        needed = max(v.size.needed for v in few if v.size is not None)
        parts.append(
            f"there are {TOO_FEW_TO_TELL} {best} from {listing(named)}"
            f" ({needed} runs of each are needed)"
        )
    if lost:
        named = some([v.other(best) for v in lost])
        parts.append(f"{best} {kind.verb} {kind.worse} than {listing(named)}")
    if not parts:
        first = equal_best(comparison, island)
        if len(first) > 1:
            return f"{listing(some(first))} are equal."
        return f"{best} leads, but no direction is clear."
    text = "; ".join(parts) + "."
    if beaten or level:
        return text[0].upper() + text[1:] if not text.startswith(best) else text
    return f"None is shown to {kind.infinitive} {kind.best}: {text}"


def _size(verdict: Verdict) -> str:
    """By how much; nothing where the winner won by finishing at all."""
    effect = verdict.effect
    if effect is None or (any(effect.failed) and effect.seen != effect.direction):
        return ""
    among = " among the runs that finished" if any(effect.failed) else ""
    return f" by {by_how_much(effect)}{among}"


def _seen(comparison: Comparison, verdict: Verdict, best: str) -> str:
    """What was seen of the best against another one, without any claim."""
    assert verdict.effect is not None
    shown = verdict.effect.from_first() if verdict.first == best else verdict.effect.from_second()
    among = " among the runs that finished" if any(verdict.effect.failed) else ""
    other = verdict.other(best)
    alike = "equal: " if equal(comparison, best, other) else ""
    return f"{other} ({alike}{verdict.kind.scale} {shown}{among})"
