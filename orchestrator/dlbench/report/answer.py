"""The answer in words: one headline that claims no more than was shown, then the sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlbench.report.material import Material
from dlbench.report.metrics import QUALITY, TRAINING, written
from dlbench.statistics.answers import islands
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.verdicts import Decision, Verdict
from dlbench.statistics.words import count, listing


@dataclass(frozen=True)
class WorkloadAnswer:
    """What is to be said of one workload."""

    workload: str
    headline: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    """What weakens its times."""


@dataclass(frozen=True)
class Answer:
    headline: str
    summary: tuple[str, ...]
    workloads: tuple[WorkloadAnswer, ...]


def answer(material: Material) -> Answer:
    said = tuple(_at(material, place) for place in material.places)
    headline = said[0].headline if len(said) == 1 else _over_workloads(material)
    return Answer(headline, tuple(_summary(material)), said)


def _at(material: Material, workload: str) -> WorkloadAnswer:
    times = material.comparison(workload, TRAINING)
    sentences: list[str] = []
    if times is not None and len(times.summaries) > 1:
        sentences.append(f"Training time: {times.answer} {times.sample_size_sentence}")
    for metric in QUALITY:
        quality = material.comparison(workload, metric)
        if quality is not None and len(quality.summaries) > 1:
            sentences.append(f"{metric.title}: {quality.answer}")
    case = material.case(workload, TRAINING)
    warnings = case.warnings if case else ()
    return WorkloadAnswer(workload, _headline(times, workload), tuple(sentences), warnings)


def _headline(times: Comparison | None, workload: str) -> str:
    if times is None or not times.summaries:
        return f"No trial of {workload} was completed."
    if not times.ranking:
        return f"No contender on {workload} is certified, so none is ranked."
    parts = islands(times)
    if len(parts) > 1 and any(len(part) > 1 for part in parts):
        leading = [part[0] for part in parts if len(part) > 1]
        if len(leading) > 1:
            return (
                f"On {workload}, {_named(leading)} lead, each among those that ran under its"
                " conditions: what ran under others is not compared."
            )
    best = times.ranking[0]
    median = f"{written(times.summaries[best].median)} s"
    if len(times.ranking) == 1:
        return f"{best} trains {workload} in {median}; there is nothing to compare it with."
    against = [v for v in times.tested if best in (v.first, v.second)]
    if not against:
        return f"No two contenders on {workload} can be compared."
    won = [v for v in against if _wins(v, best)]
    few = [v for v in against if v.decision is Decision.TOO_FEW]
    if len(won) == len(against):
        return f"{best} is the fastest on {workload}: {median}{_lead(times, best)}."
    if won:
        rest = [_other(v.first, v.second, best) for v in against if v not in won]
        return (
            f"{best} leads on {workload} with {median}, but is not shown to be faster than"
            f" {_named(rest)}."
        )
    if len(few) == len(against):
        return (
            f"{best} was the quickest on {workload} so far ({median}{_lead(times, best)}),"
            " but there are too few runs to show it."
        )
    return f"None is shown to be the fastest on {workload}; {best} leads with {median}."


def _over_workloads(material: Material) -> str:
    compared = [
        (times, part)
        for place in material.places
        if (times := material.comparison(place, TRAINING)) is not None
        for part in islands(times)
        if len(part) > 1
    ]
    total = max(len(material.places), len(compared))
    names = {group.workload for group in material.groups}
    noun = "workloads" if total == len(names) else "comparisons"
    wins = Counter(part[0] for times, part in compared if _is_winner(times, part[0]))
    if not wins:
        return _leader(compared, f"{total} {noun}")
    parts = [f"{name} on {number}" for name, number in wins.most_common(3)]
    first, number = wins.most_common(1)[0]
    if len(wins) == 1:
        text = f"{first} is shown to be the fastest on {number} of {total} {noun}"
    else:
        text = f"The fastest of {total} {noun}: {listing(parts)}"
    open_ = total - sum(wins.values())
    return text + (f"; on {open_} no contender is shown to be." if open_ else ".")


def _leader(compared: Sequence[tuple[Comparison, Sequence[str]]], total: str) -> str:
    """Where nobody is shown to be the fastest: who has the best median most often."""
    if not compared:
        return f"There is nothing to compare in any of the {total} below."
    name, number = Counter(part[0] for _, part in compared).most_common(1)[0]
    few = all(v.decision is Decision.TOO_FEW for times, _ in compared for v in times.tested)
    why = "there are too few runs to show it" if few else "it is not shown to be the fastest on any"
    return f"{name} was the quickest on {number} of {total}, but {why}."


def _is_winner(times: Comparison, best: str) -> bool:
    """Whether it is shown to be faster than every other that it may be compared with."""
    against = [v for v in times.tested if best in (v.first, v.second)]
    return bool(against) and all(_wins(v, best) for v in against)


def _summary(material: Material) -> Iterator[str]:
    results = material.results
    done = sum(result.complete for result in results)
    what = (
        f"{count(len(material.contenders), 'contender')}, {_workloads(material)}, "
        f"{done:,} of {len(results):,} trials complete"
    )
    missing = len(material.plan) - len(results)
    yield what + (f", {missing:,} not run yet." if missing else ".")
    refused = [group for group in material.groups if group.proof == "no"]
    unchecked = [group for group in material.groups if group.proof == "not checked"]
    if refused:
        names = list(dict.fromkeys(group.contender for group in refused))
        yield (
            f"{_named(names)} {'is' if len(names) == 1 else 'are'} not certified for"
            f" {count(len(refused), 'combination')}: shown apart, never ranked."
        )
    elif not unchecked:
        yield "Every model was proven equal to the reference before it was timed."
    if unchecked:
        yield (
            f"For {count(len(unchecked), 'combination')} of contender and workload there is"
            " no proof that the model equals the reference."
        )


def _workloads(material: Material) -> str:
    names = {group.workload for group in material.groups}
    devices = sorted({group.device for group in material.groups})
    where = f" on {listing(devices)}" if len(devices) > 1 else ""
    return count(len(names), "workload") + where


def _lead(times: Comparison, best: str) -> str:
    """How far ahead of the next one it may be compared with."""
    for name in times.ranking[1:]:
        for verdict in times.tested:
            if {verdict.first, verdict.second} == {best, name} and verdict.effect:
                factor = math.exp(abs(math.log(verdict.effect.estimate)))
                return f", {factor:.2f} times as fast as {name}"
    return ""


def _wins(verdict: Verdict, name: str) -> bool:
    wanted = Decision.BETTER if verdict.first == name else Decision.WORSE
    return verdict.decision is wanted


def _other(first: str, second: str, name: str) -> str:
    return second if first == name else first


def _named(names: list[str], most: int = 4) -> str:
    if len(names) <= most:
        return listing(names)
    return listing([*names[:most], f"{len(names) - most} others"])
