"""Claims and verdicts on the terminal: verdict first, then the numbers, then what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dlbench.cli.console import print_table, say, width
from dlbench.statistics.words import count, listing, some

if TYPE_CHECKING:
    from dlbench.studies.claims import Claim, Study
    from dlbench.studies.judging import JudgedClaim, JudgedStudy, Verdict

_MOST_LINES = 4
"""Workloads of a claim that are shown one by one."""
_MOST_IDS = 6


def print_claims(listed: Sequence[tuple[Study, Sequence[Claim]]]) -> None:
    from dlbench.studies.claims import sentence
    from dlbench.studies.judging import could_show
    from dlbench.studies.quantities import QUANTITIES

    for study, claims in listed:
        print_study(study)
        rows = [
            [
                claim.id,
                claim.type.value,
                claim.place,
                "yes" if could_show(study, claim)[0] else "no",
                f"{sentence(study, claim, QUANTITIES[claim.metric].words)}. {_paper(claim)}",
            ]
            for claim in claims
        ]
        print_table(["claim", "type", "place", "shown?", "what it says"], rows,
                    droppable=("place",))  # fmt: skip
        say("")
    total = sum(len(claims) for _, claims in listed)
    say(f"{count(total, 'claim')}. shown?: whether the study's own design could have shown it.")
    say("`dlbench judge DIR` judges them by a campaign's trials.")


def _paper(claim: Claim) -> str:
    from dlbench.studies.claims import Type

    own = claim.needs or claim.type in (Type.ASSOCIATION, Type.MAGNITUDE)
    said = "" if own else f"{claim.said[0].upper()}{claim.said[1:]}."
    return f"{said} But: {claim.differs}." if claim.differs else said


def print_study(study: Study) -> None:
    say(f"{study.name}: {study.title} ({study.where})", style="bold")
    say(f"Design: {study.design}. Machine: {study.machine}.")
    for line in (*study.stand_ins, *study.notes):
        say(f"- {line}")


def print_judged(judged: JudgedStudy, verbose: bool) -> None:
    """What was measured first; what could not be, by what it would take."""
    from dlbench.studies.runs import As

    print_study(judged.study)
    say("")
    for sentence in judged.summary:
        say(sentence, style="bold")
    say("Ratios and orders are judged; seconds of another machine never are.")
    idle: dict[str, list[str]] = {}
    for one in judged.claims:
        found = [verdict for verdict in one.verdicts.values() if verdict is not None]
        if verbose or any(verdict.p is not None for verdict in found):
            _print_claim(one)
        else:
            first = one.verdicts[As.INTENDED]
            takes = first.takes if first is not None else ("trials of the study's releases",)
            idle.setdefault("; ".join(takes) or "trials", []).append(one.claim.id)
    if idle:
        total = sum(map(len, idle.values()))
        claims = "claim" if total == len(judged.claims) else "other claim"
        say(f"\nNothing was measured on {count(total, claims)}. It would take:")
        for what, ids in idle.items():
            say(f"- {what}: {listing(some([_short(name) for name in ids], _MOST_IDS))}")


def _short(name: str) -> str:
    return name.rpartition("-")[2]


def _print_claim(one: JudgedClaim) -> None:
    words = [
        f"as {as_}: {verdict.words if verdict is not None else 'not run'}"
        for as_, verdict in one.verdicts.items()
    ]
    say(f"\n{one.claim.id}  {', '.join(words)}", style="bold")
    _indented("  ", f"{one.sentence} [{one.claim.place}]")
    for label, text in _lines(one):
        _indented(f"  {label:<10} ", text)


def _indented(lead: str, text: str) -> None:
    room = width()
    lines = (
        [text] if room is None else textwrap.wrap(text, room - len(lead), break_on_hyphens=False)
    )
    for line in lines:
        say(lead + line)
        lead = " " * len(lead)


def _lines(one: JudgedClaim) -> Iterator[tuple[str, str]]:
    for as_, verdict in one.verdicts.items():
        if verdict is None:
            continue
        several = sum(1 for each in one.verdicts.values() if each is not None) > 1
        mark = f" (as {as_})" if several else ""
        for text in some(list(verdict.measured), _MOST_LINES):
            yield "measured", f"{text}{mark}"
        yield from _said(verdict)
    if one.gap:
        yield "the gap", f"{one.gap[:1].upper()}{one.gap[1:]}."
    for text in some(list(one.published), _MOST_LINES):
        yield "published", text
    if one.claim.differs:
        yield "but", one.claim.differs
    yield "its design", f"{'could' if one.could_show else 'could not'} have shown this: {one.why}"


def _said(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if verdict.difference:
        yield "size", verdict.difference
    if verdict.tau is not None:
        yield "order", verdict.tau.words
    for text in verdict.beside:
        yield "note", text
    if verdict.takes:
        yield "takes", "; ".join(verdict.takes)
