"""The answer in words: one headline that claims no more than was shown, then the sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlbench.analysis.circumstances import is_busy
from dlbench.analysis.metrics import QUALITY, TRAINING
from dlbench.errors import UserError
from dlbench.report import beside_numbers
from dlbench.report.material import Material
from dlbench.report.numbers import written
from dlbench.statistics.answers import equal, equal_best, islands
from dlbench.statistics.comparison import Comparison
from dlbench.statistics.measurements import Reason
from dlbench.statistics.verdicts import Decision
from dlbench.statistics.words import TOO_FEW_TO_TELL, count, listing, some

_NAMED = 4
"""So many contenders are named one by one."""


@dataclass(frozen=True)
class CaseAnswer:
    case: str
    headline: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    """What weakens its times."""


@dataclass(frozen=True)
class Answer:
    headline: str
    summary: tuple[str, ...]
    cases: tuple[CaseAnswer, ...]


def answer(material: Material) -> Answer:
    cases = tuple(_answer_of(material, case.label) for case in material.cases)
    headline = cases[0].headline if len(cases) == 1 else _over_cases(material)
    if len(cases) > 1 and (failed := sum(len(group.failed) for group in material.groups)):
        ended = sum(len(group.rows) for group in material.groups)
        headline = f"{headline} {failed:,} of {ended:,} runs failed."
    if any(is_busy(group) for group in material.groups):
        headline = f"{headline} Other programs kept the machine busy."
    return Answer(headline, tuple(_summary(material)), cases)


def _answer_of(material: Material, case: str) -> CaseAnswer:
    times = material.comparison(case, TRAINING)
    sentences: list[str] = []
    if times is not None and len(times.summaries) > 1:
        sentences.append(f"Training time: {times.sentence}")
    for metric in QUALITY:
        quality = material.comparison(case, metric)
        if quality is not None and len(quality.summaries) > 1:
            sentences.append(f"{metric.title}: {quality.answer}")
    compared = material.compared(case, TRAINING)
    warnings = compared.warnings if compared else ()
    headline = _headline(times, case)
    if times is not None and times.failures:
        each = [f"{name}: {n} of {of} runs failed" for name, (n, of) in times.failures.items()]
        headline = f"{headline} {_named(each)}."
    return CaseAnswer(case, headline, tuple(sentences), warnings)


def _headline(times: Comparison | None, case: str) -> str:
    if times is None or not times.summaries:
        return f"No trial of {case} was completed."
    if not times.ranking:
        reasons = times.set_apart.values()
        if all(Reason.ALTERED in why for why in reasons):
            return f"Every contender on {case} is altered on purpose, so none is ranked."
        if all(Reason.TRUNCATED in why for why in reasons):
            return f"No trial of {case} was completed."
        if all(Reason.UNCERTIFIED in why for why in reasons):
            return f"No contender on {case} is certified, so none is ranked."
        every = dict.fromkeys(reason.value for why in reasons for reason in why)
        return f"No contender on {case} is ranked: {listing(list(every))}."
    rivals = [part for part in islands(times) if len(part) > 1]
    if len(rivals) > 1:
        return f"On {case}, {_apart(times, rivals)}"
    best = times.ranking[0]
    median = f"{written(times.summaries[best].median)} s"
    if len(times.ranking) == 1:
        return f"{best} trains {case} in {median}; there is nothing to compare it with."
    against = times.against_others(best)
    if not against:
        return f"No two contenders on {case} can be compared."
    won = [v for v in against if v.won_by(best)]
    few = all(v.decision is Decision.TOO_FEW for v in against)
    first = equal_best(times, rivals[0])
    if len(first) > 1:
        alike = f"{_named(first)} are equal"
        ahead = ", and ahead of the others" if len(first) < len(rivals[0]) else ""
        if few:
            return (
                f"{alike} on {case} so far, with {median} each{ahead}, but there are"
                f" {TOO_FEW_TO_TELL}."
            )
        return f"None is shown to be the fastest on {case}: {alike}, with {median} each{ahead}."
    if len(won) == len(against):
        return f"{best} is the fastest on {case}: {median}{_lead(times, best)}."
    if won:
        rest = [v.other(best) for v in against if v not in won]
        return (
            f"{best} leads on {case} with {median}, but is not shown to be faster than"
            f" {_named(rest)}."
        )
    if few:
        return (
            f"{best} was the quickest on {case} so far ({median}{_lead(times, best)}),"
            f" but there are {TOO_FEW_TO_TELL}."
        )
    return f"None is shown to be the fastest on {case}; {best} leads with {median}."


def _apart(times: Comparison, rivals: Sequence[list[str]]) -> str:
    """Who leads among those that may be compared with each other, where there are several such."""
    every = [equal_best(times, part) for part in rivals]
    leaders = [first[0] for first in every if len(first) == 1]
    verb = "leads" if len(leaders) == 1 else "lead"
    said = [f"{_named(leaders)} {verb}"] if leaders else []
    said += some([f"{_named(first)} are equal" for first in every if len(first) > 1], _NAMED)
    return (
        f"{'; '.join(said)}, each among those that ran under its conditions: what ran under others"
        " is not compared."
    )


def _over_cases(material: Material) -> str:
    compared = [
        (times, part)
        for case in material.cases
        if (times := material.comparison(case.label, TRAINING)) is not None
        for part in islands(times)
        if len(part) > 1
    ]
    total = max(len(material.cases), len(compared))
    noun = (
        "workloads" if total == len({case.workload for case in material.cases}) else "comparisons"
    )
    wins = Counter(
        part[0]
        for times, part in compared
        if (against := times.against_others(part[0])) and all(v.won_by(part[0]) for v in against)
    )
    if not compared and (devices := _over_devices(material)):
        return devices
    if not wins:
        return _leader(compared, f"{total} {noun}")
    first, number = wins.most_common(1)[0]
    if len(wins) == 1:
        text = f"{first} is shown to be the fastest on {number} of {total} {noun}"
    else:
        parts = [f"{name} on {number}" for name, number in wins.most_common(3)]
        text = f"The fastest of {total} {noun}: {listing(parts)}"
    undecided = total - wins.total()
    return text + (f"; on {undecided} no contender is shown to be." if undecided else ".")


def _over_devices(material: Material) -> str:
    """Where each contender has only itself on another device to be compared with."""
    try:
        compared = material.results.compare(by="device", stability=False)
    except UserError:  # nobody was measured on two of them
        return ""
    tested = [
        (case, verdict)
        for case in compared.cases
        for verdict in case.comparison.tested
        if verdict.effect
    ]
    if not tested:
        return ""
    if len(tested) > 1:
        won = Counter(name for _, v in tested for name in (v.first, v.second) if v.won_by(name))
        if not won:
            few = all(v.decision is Decision.TOO_FEW for _, v in tested)
            why = f"there are {TOO_FEW_TO_TELL}" if few else "none is shown"
            return f"In {len(tested)} comparisons of devices {why} which is faster."
        parts = [f"{name} is shown to be faster in {n}" for name, n in won.most_common(3)]
        return f"Of {len(tested)} comparisons of devices, {listing(parts)}."
    ((case, verdict),) = tested
    assert verdict.effect is not None
    quicker, slower = verdict.first, verdict.second
    factor = 1 / verdict.effect.estimate
    if factor < 1:
        quicker, slower, factor = slower, quicker, 1 / factor
    row = case.case.groups[0].rows[0]
    size = f"{factor:.2f} times as fast on {quicker} as on {slower}"
    if equal(case.comparison, quicker, slower):
        size = f"equally fast on {quicker} and on {slower}"
    what = f"{row['release']} trained {row['workload']} {size}"
    if verdict.won_by(quicker):
        return f"{what}."
    if verdict.decision is Decision.TOO_FEW:
        return f"{what} so far, but there are {TOO_FEW_TO_TELL}."
    return f"{what}, but is not shown to be faster on either."


def _leader(compared: Sequence[tuple[Comparison, Sequence[str]]], total: str) -> str:
    """Where nobody is shown to be the fastest: who has the best median most often."""
    if not compared:
        return f"There is nothing to compare in any of the {total} below."
    every = [equal_best(times, list(part)) for times, part in compared]
    led = Counter(first[0] for first in every if len(first) == 1)
    level = len(every) - led.total()
    few = all(v.decision is Decision.TOO_FEW for times, _ in compared for v in times.tested)
    if not led:
        why = f"there are {TOO_FEW_TO_TELL}" if few else "none is shown to be the fastest on any"
        return f"On {level} of {total} the best are equal, and {why}."
    most = max(led.values())
    names = [name for name, number in led.items() if number == most]
    were, each, who = ("was", "", "it is not") if len(names) == 1 else ("were", " each", "none is")
    why = f"there are {TOO_FEW_TO_TELL}" if few else f"{who} shown to be the fastest on any"
    said = f"{_named(names)} {were} the quickest on {most} of {total}{each}, but {why}."
    return f"{said} On {level} the best are equal." if level else said


def _summary(material: Material) -> Iterator[str]:
    ended = sum(len(group.rows) for group in material.groups)
    complete = sum(len(group.complete) for group in material.groups)
    what = (
        f"{count(len(material.contenders), 'contender')}, {_workloads(material)}, "
        f"{complete:,} of {ended:,} trials complete"
    )
    missing = len(material.planned) - ended
    yield what + (f", {missing:,} not run yet." if missing else ".")
    yield from _failed(material)
    refused, unchecked, altered = (
        [group.name for group in material.groups if group.proof == proof]
        for proof in ("no", "not checked", "altered")
    )
    if altered:
        yield f"{_are(altered)} altered on purpose: shown apart, never ranked."
    if refused:
        combinations = count(len(refused), "combination")
        yield f"{_are(refused)} not certified for {combinations}: shown apart, never ranked."
    elif not unchecked and len(altered) < len(material.groups):
        which = "Every other model" if altered else "Every model"
        yield f"{which} was proven equal to the reference before it was timed."
        if any(row["setting"] == "native" for group in material.groups for row in group.rows):
            yield (
                "That was the setting matched. In the setting native each framework keeps its own"
                " defaults, such as initial weights and formulas of optimisers: they are not equal."
            )
    if unchecked:
        yield (
            f"For {count(len(unchecked), 'combination')} of contender and workload there is"
            " no proof that the model equals the reference."
        )


def _failed(material: Material) -> Iterator[str]:
    """Who did not complete, and how often: no headline may hide it."""
    worst = sorted(
        (group for group in material.groups if group.incomplete),
        key=lambda group: len(group.complete) - len(group.rows),
    )
    if not worst:
        return
    named = [
        f"{group.name} on {group.case} ({beside_numbers.lost(group)})" for group in worst[:_NAMED]
    ]
    if len(worst) > _NAMED:
        named.append(f"{len(worst) - _NAMED} others less often")
    yield f"Not every run was completed: {listing(named)}."


def _workloads(material: Material) -> str:
    devices = sorted({str(group.rows[0]["device"]) for group in material.groups})
    where = f" on {listing(devices)}" if len(devices) > 1 else ""
    return count(len({case.workload for case in material.cases}), "workload") + where


def _lead(times: Comparison, best: str) -> str:
    """How far it is ahead of the next one that it may be compared with."""
    for name in times.ranking[1:]:
        verdict = times.between(best, name)
        if verdict is not None and verdict.effect:
            ratio = verdict.effect.estimate
            factor = 1 / ratio if verdict.first == best else ratio
            # Where runs failed, the one that leads need not be the quicker of those that finished.
            return f", {factor:.2f} times as fast as {name}" if factor >= 1 else ""
    return ""


def _are(names: Sequence[str]) -> str:
    """`pytorch@2.0.1 and jax@0.4.1 are`, each named once."""
    once = list(dict.fromkeys(names))
    return f"{_named(once)} {'is' if len(once) == 1 else 'are'}"


def _named(names: Sequence[str]) -> str:
    return listing(some(names, _NAMED))
