"""What a claim says, as a statement made of comparisons: what speaks for it and against it.

Claims of one kind are judged by one formula each. "A is the highest of all on each workload" is the
statement that A is greater than every other on every one of them; "A and B do not differ" that
their difference lies within the smallest effect that matters; "longer training does not imply a
better accuracy" that some contender takes longer and is not better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from dlbench.statistics.evidence import CERTAIN, UNKNOWN, Evidence, all_of, any_of, most_of
from dlbench.studies import associations
from dlbench.studies.claims import Claim
from dlbench.studies.contrasts import NOBODY, Contrast, Side, combined, side_of
from dlbench.studies.quantities import QUANTITIES, Quantity
from dlbench.studies.statements import DEVICES, Statement, Trials, across_workloads, lies_beyond


def statement(trials: Trials, claim: Claim) -> Statement:
    """What the trials say of a claim."""
    made = Statement()
    made.evidence = _FORMULAS[claim.relation](trials, claim, made)
    return made


def _over(claim: Claim, parts: Sequence[Evidence]) -> Evidence:
    join = {"most": most_of, "some": any_of}.get(claim.over, all_of)
    return join(parts) if parts else UNKNOWN


def _pairs(f: Trials, claim: Claim, made: Statement) -> Iterator[Contrast]:
    """Every pair of contenders that a claim is about, workload by workload."""
    first, second = f.study.names(claim)
    quantity = QUANTITIES[claim.metric]
    for workload in claim.workloads:
        if first[0] in DEVICES:
            for name in f.study.contenders:
                a, b = (
                    f.side(claim, f"{name}@{device}", workload, quantity, made)
                    for device in (first[0], second[0])
                )
                yield f.contrast(a, b, quantity, made)
            continue
        of = f.contenders(claim, workload, made)
        names = combinations(first, 2) if first == second else (
            (a, b) for a in first for b in second
        )  # fmt: skip
        for one, other in names:
            yield f.contrast(of(one), of(other), quantity, made)


def _direction(f: Trials, claim: Claim, made: Statement) -> Evidence:
    sign = 1 if claim.relation == "greater" else -1
    return _over(claim, [made.beyond(p, sign, claim.smallest) for p in _pairs(f, claim, made)])


def _differs(f: Trials, claim: Claim, made: Statement) -> Evidence:
    assert claim.smallest is not None
    return _over(claim, [p.within(claim.smallest).denied() for p in _pairs(f, claim, made)])


def _equal(f: Trials, claim: Claim, made: Statement) -> Evidence:
    if claim.smallest is None:
        return _over(claim, [_same(pair) for pair in _pairs(f, claim, made)])
    return _over(claim, [pair.within(claim.smallest) for pair in _pairs(f, claim, made)])


def _same(pair: Contrast) -> Evidence:
    """Counts are equal or not: no test is needed."""
    values = {*pair.first.values, *pair.second.values}
    if not (pair.first.runs and pair.second.runs):
        return UNKNOWN
    return CERTAIN if len(values) == 1 else CERTAIN.denied()


def _differs_somewhere(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """At any of the settings; to refute that takes as many of them as the study's table has."""
    assert claim.smallest is not None
    quantity = QUANTITIES[claim.metric]
    parts = []
    for workload in claim.workloads:
        device = f.device(claim, workload, quantity)
        settings = f.runs.settings(workload, device)
        points = f.study.published(claim.device, workload, claim.first[0], claim.metric)
        if len(settings) < len(list(points)):
            parts.append(UNKNOWN)
        for conditions in settings or (None,):
            sides = []
            for name in (claim.first[0], claim.second[0]):
                group = f.runs.under(conditions, workload, device, name)
                missing = f.study.frameworks[name].release if conditions is not None else NOBODY
                sides.append(side_of(name, workload, device, group, quantity, missing))
            made.sides += sides
            pair = f.contrast(sides[0], sides[1], quantity, made)
            parts.append(pair.within(claim.smallest).denied())
    return any_of(parts)


def _overtaken(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """Ahead at first, behind in the end."""
    early = Quantity("accuracy over the first 20 epochs", "early_accuracy",
                     QUANTITIES["accuracy"].kind, "%", needs_real_data=True)  # fmt: skip
    parts = []
    for workload in claim.workloads:
        for quantity, sign in ((early, 1), (QUANTITIES["accuracy"], -1)):
            a, b = (
                f.side(claim, name, workload, quantity, made,
                       f.device(claim, workload, QUANTITIES["accuracy"]))
                for name in (claim.first[0], claim.second[0])
            )  # fmt: skip
            parts.append(lies_beyond(f.contrast(a, b, quantity, made), sign, claim.smallest))
    return all_of(parts)


def _extreme(f: Trials, claim: Claim, made: Statement) -> Evidence:
    sign = 1 if claim.relation == "greatest" else -1
    quantity = QUANTITIES[claim.metric]
    first, second = f.study.names(claim)

    def extreme(of: Callable[[str], Side]) -> Evidence:
        pairs = [f.contrast(of(a), of(b), quantity, made) for a in first for b in second]
        return all_of([made.beyond(pair, sign, claim.smallest) for pair in pairs])

    if claim.over == "mean":
        means = {
            name: combined(
                name, [f.side(claim, name, w, quantity, made) for w in claim.workloads], "mean",
                quantity,
            )
            for name in (*first, *second)
        }  # fmt: skip
        return extreme(means.__getitem__)
    return _over(claim, [extreme(f.contenders(claim, w, made)) for w in claim.workloads])


def _second_least(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """One other is below it, all the rest above."""
    first, second = f.study.names(claim)
    units = []
    for workload in claim.workloads:
        of = f.contenders(claim, workload, made)
        below = {
            other: f.contrast(of(first[0]), of(other), QUANTITIES[claim.metric], made).greater(None)
            for other in second
        }
        each = [
            all_of([below[b] if b == least else below[b].denied() for b in second])
            for least in second
        ]
        units.append(any_of(each))
    return _over(claim, units)


def _nowhere_greatest(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """It is not so that any one is the greatest on each workload."""
    everyone = f.study.contenders
    sides = {workload: f.contenders(claim, workload, made) for workload in claim.workloads}

    def greatest_everywhere(name: str) -> Evidence:
        return all_of(
            [
                f.contrast(of(name), of(other), QUANTITIES[claim.metric], made).greater(None)
                for of in sides.values()
                for other in everyone
                if other != name
            ]
        )

    return any_of([greatest_everywhere(name) for name in everyone]).denied()


def _unchanged(f: Trials, claim: Claim, made: Statement) -> Evidence:
    """The same model on other data, in the same release."""
    assert claim.smallest is not None
    quantity = QUANTITIES[claim.metric]
    parts = []
    for name in f.study.contenders:
        for one, other in _same_model(claim.workloads):
            a, b = (across_workloads(f.side(claim, name, w, quantity, made)) for w in (one, other))
            parts.append(f.contrast(a, b, quantity, made).within(claim.smallest))
    return all_of(parts)


def _same_model(workloads: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one, other in combinations(workloads, 2):
        if one.partition("-")[2] == other.partition("-")[2]:
            yield one, other


_FORMULAS: dict[str, Callable[[Trials, Claim, Statement], Evidence]] = {
    "greater": _direction,
    "less": _direction,
    "differs": _differs,
    "differs-somewhere": _differs_somewhere,
    "overtaken": _overtaken,
    "greatest": _extreme,
    "least": _extreme,
    "second-least": _second_least,
    "nowhere-greatest": _nowhere_greatest,
    "equal": _equal,
    "unchanged": _unchanged,
    "does-not-imply": associations.does_not_imply,
    "unrelated": associations.unrelated,
    "proportional": associations.proportional,
    "is": associations.magnitude,
}
