"""The verdict on each claim of a study: supported, contradicted, or cannot tell and what it takes.

All claims of a study that the trials can say anything about are judged together: Holm's correction
keeps the chance of any wrong verdict among them within alpha. A verdict needs the study's scale,
its device where that matters, and real data where quality is claimed; what smaller trials show is
said as what they show "at this scale", and the claim itself stays open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dlbench.analysis.groups import Group
from dlbench.analysis.results import ALPHA, Results
from dlbench.statistics.evidence import Tau, holm_divisors
from dlbench.statistics.sample_size import holm, least_p, pairs_needed
from dlbench.statistics.words import count, listing, number, some
from dlbench.studies.claims import Claim, Study, Type, sentence
from dlbench.studies.contrasts import NOBODY, Side
from dlbench.studies.formulas import statement
from dlbench.studies.quantities import QUANTITIES
from dlbench.studies.runs import As, StudyRuns, reduced, study_runs
from dlbench.studies.statements import DEVICES, Statement, Trials

_MOST_NAMED, _MOST_WORKLOADS, _MOST_PUT_BACK = 3, 4, 6
_BY_TAU = (Type.RANKING, Type.ASSOCIATION)


class Word(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Verdict:
    """On one claim, by the trials as intended or as published."""

    word: Word
    here: Word | None = None
    """What the trials show at their own, smaller scale; None: they are of the study's scale, or
    show nothing."""
    p: float | None = None
    """After Holm's correction; None: nothing was tested."""
    measured: tuple[str, ...] = ()
    """Workload by workload, in the order of the values."""
    difference: str = ""
    """Of a single comparison: its size with the corrected interval."""
    tau: Tau | None = None
    takes: tuple[str, ...] = ()
    """What a verdict would take."""
    beside: tuple[str, ...] = ()
    """What has to be said beside it."""
    groups: tuple[Group, ...] = ()
    """The trials behind it."""

    @property
    def words(self) -> str:
        if self.here in (None, Word.CANNOT_TELL):
            return self.word.value
        return f"{self.word.value}; at this scale {self.here}"

    @property
    def answer(self) -> Word | None:
        """At the study's scale, or at their own; None: neither can be told."""
        found = self.here if self.word is Word.CANNOT_TELL else self.word
        return None if found is Word.CANNOT_TELL else found


@dataclass(frozen=True)
class JudgedClaim:
    claim: Claim
    sentence: str
    published: tuple[str, ...]
    """The study's figures, workload by workload."""
    could_show: bool
    """Whether the study's own design could have shown it."""
    why: str
    """Why, or why not."""
    verdicts: dict[As, Verdict | None]
    """None: nothing was run in this way."""
    put_back: tuple[str, ...] = ()
    """What the trials as published have in them, and whose."""

    @property
    def gap(self) -> str:
        """What becomes of the claim when the study's faults are put back; empty: nothing does, or
        it was not run in both ways."""
        intended, published = self.verdicts.get(As.INTENDED), self.verdicts.get(As.PUBLISHED)
        if intended is None or published is None or not self.put_back:
            return ""
        if intended.words == published.words:
            return ""
        what = listing(some(list(self.put_back), _MOST_PUT_BACK))
        return f"with equal models: {intended.words}; with {what}: {published.words}"

    @property
    def turned(self) -> bool:
        """Whether it is supported in one way and contradicted in the other."""
        answers = {verdict.answer for verdict in self.verdicts.values() if verdict is not None}
        return bool(self.put_back) and {Word.SUPPORTED, Word.CONTRADICTED} <= answers


@dataclass(frozen=True)
class JudgedStudy:
    study: Study
    alpha: float
    claims: tuple[JudgedClaim, ...]
    families: dict[As, int]
    """How many claims were judged together."""

    def counts(self, as_: As) -> dict[Word, int]:
        found = [claim.verdicts[as_] for claim in self.claims]
        return {word: sum(1 for v in found if v is not None and v.word is word) for word in Word}

    @property
    def exit_code(self) -> int:
        """0: all are supported, 1: any is contradicted, 3: none is, but some cannot be told; as
        intended, or as published where nothing else was run."""
        both = [[claim.verdicts[as_] for claim in self.claims] for as_ in As]
        which = next((each for each in both if any(each)), [])
        found = [verdict.word for verdict in which if verdict is not None]
        if Word.CONTRADICTED in found:
            return 1
        return 3 if Word.CANNOT_TELL in found or not found else 0

    @property
    def summary(self) -> tuple[str, ...]:
        """How many of each, what alpha is a rate of, and what was not run."""
        said = []
        for as_ in As:
            if all(claim.verdicts[as_] is None for claim in self.claims):
                said.append(f"As {as_}: not run.")
                continue
            counted = [f"{n} {word}" for word, n in self.counts(as_).items()]
            here = [claim.verdicts[as_] for claim in self.claims]
            smaller = sum(
                1 for v in here if v is not None and v.here not in (None, Word.CANNOT_TELL)
            )
            if smaller:
                counted[-1] += f" ({count(smaller, 'has', 'have')} an answer at this scale)"
            said.append(f"As {as_}: {', '.join(counted)}.")
        below = [c for c in self.claims if any(v and v.here for v in c.verdicts.values())]
        if below:
            said.append(
                f"On {count(len(below), 'claim')} the trials are smaller than the study's (fewer"
                " epochs or rows, a sample, or another recipe): they can only answer for their own"
                " scale."
            )
        if turned := sum(1 for claim in self.claims if claim.turned):
            said.append(
                f"{count(turned, 'claim is', 'claims are')} supported in one way and contradicted"
                " in the other: that is what the study's code did beside the framework."
            )
        families = max(self.families.values(), default=0)
        if families:
            said.append(
                f"{count(families, 'claim is', 'claims are')} judged together: the chance of any"
                f" wrong verdict among them is at most {number(100 * self.alpha, 3)} % (Holm)."
            )
        return tuple(said)


def judge(
    study: Study, results: Results, alpha: float = ALPHA, only: Sequence[Claim] | None = None
) -> JudgedStudy:
    """`only`: these claims are asked about, and no others are judged together with them."""
    claims = study.claims if only is None else tuple(only)
    judged: dict[As, list[Verdict] | None] = {}
    families = {}
    for as_, runs in study_runs(study, results).items():
        judged[as_], families[as_] = verdicts_on(study, runs, claims, alpha) if runs else (None, 0)
    return JudgedStudy(
        study,
        alpha,
        tuple(
            JudgedClaim(
                claim,
                sentence(study, claim, QUANTITIES[claim.metric].words),
                published_words(study, claim),
                *could_show(study, claim),
                {as_: each[i] if each is not None else None for as_, each in judged.items()},
                _put_back(study, judged.get(As.PUBLISHED), i),
            )
            for i, claim in enumerate(claims)
        ),
        families,
    )


def _put_back(study: Study, published: list[Verdict] | None, number: int) -> tuple[str, ...]:
    """`dropout that never ran (pytorch)`, of the trials behind a verdict as published."""
    whose: dict[str, dict[str, None]] = {}
    for group in published[number].groups if published is not None else ():
        row = group.rows[0]
        framework = study.framework_of(group.release, row["variant"])
        if framework is None or not group.confounds:
            continue
        for one in study.had(framework.name, row["workload"]):
            if one.put_back:
                whose.setdefault(one.said, {})[framework.name] = None
    return tuple(f"{said} ({', '.join(names)})" for said, names in whose.items())


def verdicts_on(
    study: Study, runs: StudyRuns, claims: Sequence[Claim], alpha: float
) -> tuple[list[Verdict], int]:
    """Two rounds: which claims can be tested at all, then the tests with their share of alpha."""
    plain = Trials(study, runs, 1, alpha, parts=0)
    looked = [None if claim.needs else statement(plain, claim) for claim in claims]
    testable = [i for i, claim in enumerate(claims) if _can_be_tested(claim, looked[i])]
    family = max(1, len(testable))
    made = {}
    for i in testable:
        first = looked[i]
        assert first is not None
        parts = max(1, len(first.contrasts))
        made[i] = statement(Trials(study, runs, family, alpha, parts), claims[i])
    p_values = [made[i].evidence.p for i in testable]
    adjusted = dict(zip(testable, holm(p_values), strict=True))
    divisors = dict(zip(testable, holm_divisors(p_values, alpha), strict=True))
    verdicts = []
    for i, claim in enumerate(claims):
        if i in made:
            verdicts.append(
                _verdict(study, claim, made[i], adjusted[i], divisors[i], alpha, family)
            )
        else:
            verdicts.append(_untested(claim, looked[i]))
    return verdicts, len(testable)


def _can_be_tested(claim: Claim, made: Statement | None) -> bool:
    """Whether any comparison of it has values, of data that count for it."""
    if made is None:
        return False
    if made.contrasts:
        usable = any(contrast.aligned is not None for contrast in made.contrasts)
    else:
        usable = any(side.runs and not side.why for side in made.sides)
    return usable and not _synthetic(claim, made)


def _synthetic(claim: Claim, made: Statement) -> bool:
    """Whether quality is claimed and data are synthetic: such a quality means nothing."""
    real = QUANTITIES[claim.metric].needs_real_data
    return real and any(group.synthetic for group in _groups(made))


def _groups(made: Statement) -> tuple[Group, ...]:
    found = {id(group): group for side in made.sides for group in side.groups}
    return tuple(found.values())


def _untested(claim: Claim, made: Statement | None) -> Verdict:
    if made is None:
        return Verdict(Word.CANNOT_TELL, takes=(claim.needs,))
    takes = ["real data: these are synthetic"] if _synthetic(claim, made) else []
    return Verdict(
        Word.CANNOT_TELL,
        measured=_measured(claim, made),
        takes=(*takes, *_missing(made)),
        groups=_groups(made),
    )


def _missing(made: Statement) -> list[str]:
    """What was not run, not measured, not proven or not comparable; alike things in one phrase."""
    releases: dict[tuple[str, str], dict[str, None]] = {}
    for side in made.sides:
        if side.not_run:
            releases.setdefault((side.workload, side.device), {})[side.not_run] = None
    places: dict[tuple[str, str], list[str]] = {}
    for (workload, device), these in releases.items():
        who = "" if NOBODY in these else listing(some(list(these), _MOST_NAMED))
        places.setdefault((who, device), []).append(workload)
    said = [
        f"trials of {f'{who} on ' if who else ''}{listing(some(these, _MOST_WORKLOADS))},"
        f" {device.upper()}"
        for (who, device), these in places.items()
    ]
    whys = [side.why for side in made.sides if side.why]
    whys += [one.why_not for one in made.contrasts if one.first.runs and one.second.runs]
    return [*said, *some(list(dict.fromkeys(filter(None, whys))), _MOST_NAMED)]


def _verdict(
    study: Study, claim: Claim, made: Statement, p: float, divisor: int, alpha: float, family: int
) -> Verdict:
    word = Word.CANNOT_TELL
    if p <= alpha and made.evidence.lean:
        word = Word.SUPPORTED if made.evidence.lean > 0 else Word.CONTRADICTED
    smaller = _smaller(study, claim, made)
    takes = []
    if word is Word.CANNOT_TELL:
        takes = [*_missing(made), *_repeats(made, alpha, family)]
    if smaller:
        takes.insert(0, f"the whole scale ({smaller} here)")
    return Verdict(
        word=Word.CANNOT_TELL if smaller else word,
        here=word if smaller else None,
        p=p,
        measured=_measured(claim, made),
        difference=made.prediction or _decisive(made, word, divisor),
        tau=made.tau(alpha / divisor) if claim.type in _BY_TAU and len(made.ordered) > 1 else None,
        takes=tuple(takes),
        beside=tuple(_beside(claim, made, word)),
        groups=_groups(made),
    )


def _decisive(made: Statement, word: Word, divisor: int) -> str:
    """The comparison on which it depends most, with its interval: of those that a claim orders the
    one that speaks most against it where it is contradicted, and least for it otherwise."""
    tested = [contrast for contrast in made.contrasts if contrast.aligned is not None]
    ordered = [(c, evidence) for c, evidence, _ in made.ordered if c.aligned is not None]
    if len(tested) == 1:
        return tested[0].words(divisor)
    if not ordered:
        return ""
    if word is Word.CONTRADICTED:
        contrast = min(ordered, key=lambda one: one[1].against)[0]
    else:
        contrast = max(ordered, key=lambda one: one[1].for_it)[0]
    return f"{contrast.first.workload}: {contrast.words(divisor)}"


def _smaller(study: Study, claim: Claim, made: Statement) -> str:
    """In what the trials are less than the study's, where that matters; the same words once."""
    if QUANTITIES[claim.metric].any_scale:
        return ""
    found = [reduced(study, group, group.rows[0]["workload"]) for group in _groups(made)]
    return listing(some(list(dict.fromkeys(filter(None, found))), 2))


def _repeats(made: Statement, alpha: float, family: int) -> list[str]:
    """How many repeats would do, where there are too few or what was measured leaves it open."""
    sizes = [c.aligned.size for c in made.contrasts if c.aligned is not None]
    runs = min((side.runs for side in made.sides if side.runs), default=0)
    needed = max((size.needed for size in sizes if not size.enough), default=0)
    if not sizes:
        # each side by itself against a bound; one of them refutes them all, on either of two sides
        parts = 2 * len(made.sides) if made.evidence.lean < 0 else 1
        needed = pairs_needed(alpha, family * parts)
    if runs < needed:
        return [f"{needed} repeats of each (here {runs})"]
    if _missing(made):
        return []
    return [f"more than {count(runs, 'repeat')}: what was seen allows both"]


def _beside(claim: Claim, made: Statement, word: Word) -> list[str]:
    said = []
    rows = [row for group in _groups(made) for row in group.rows]
    devices = {str(row["device"]).partition(":")[0] for row in rows}
    others = devices - {claim.device}
    if claim.device != "both" and others:
        other = listing(sorted(device.upper() for device in others))
        said.append(f"measured on the {other}, claimed of the {claim.device.upper()}")
    if any(row["data_source"] == "synthetic" for row in rows):
        said.append("on synthetic data")
    if word is Word.CONTRADICTED and claim.type is Type.DIRECTION and claim.smallest is not None:
        said.append(_how_contradicted(claim, made))
    failed = sum(len(group.failed) for group in _groups(made))
    if failed and all(side.quantity.failures_count for side in made.sides):
        said.append(
            f"{count(failed, 'run')} failed and {'counts' if failed == 1 else 'count'} as worse"
        )
    elif failed:
        said.append(
            f"{count(failed, 'run')} failed and {'is' if failed == 1 else 'are'} left out:"
            " neither more nor less would be worse"
        )
    return said


def _how_contradicted(claim: Claim, made: Statement) -> str:
    """Whether it is the other way round, or only too small: by what was seen."""
    if made.ordered and all(sign < 0 for _, _, sign in made.ordered):
        return "what was seen is the other way round"
    assert claim.smallest is not None
    least = QUANTITIES[claim.metric].kind.size(claim.smallest)
    which = "the difference" if len(made.contrasts) == 1 else "at least one of the differences"
    return f"{which} is shown to be smaller than what matters ({least})"


def could_show(study: Study, claim: Claim) -> tuple[bool, str]:
    """Whether the study's own design could have shown this, at the usual 0.05, two-sided."""
    if QUANTITIES[claim.metric].any_scale:
        return True, "a count needs no repeats"
    if claim.needs and study.runs > 1:
        return False, "nothing was repeated"
    if study.runs == 1:
        return False, "one run of each: no spread is known"
    if claim.metric == "mae_sd_fixed_seed":
        return True, f"{study.runs} runs that are equal to the last digit are no chance"
    if claim.type in (Type.ASSOCIATION, Type.MAGNITUDE):
        return False, "a single figure, without a spread or a test"
    if claim.type is Type.NO_DIFFERENCE:
        return False, "a test that finds no difference shows no equality"
    if study.paired and least_p(study.runs) > ALPHA:
        least = number(least_p(study.runs), 3)
        return False, f"{study.runs} pairs cannot reach 0.05: their least p is {least}"
    return True, f"{study.runs} runs of each can, before any correction for many claims"


def published_words(study: Study, claim: Claim) -> tuple[str, ...]:
    """The study's figures for the claim's contenders, in the order of the values."""
    quantity = QUANTITIES[claim.metric]
    lines = []
    devices = DEVICES if claim.device == "both" else (claim.device,)
    named = [name for name in (*claim.first, *claim.second) if name in study.frameworks]
    names = dict.fromkeys([*study.contenders, *named])
    for workload in claim.workloads:
        for device in devices:
            values: dict[str, tuple[float, str]] = {}
            for name in names:
                figure = next(study.published(device, workload, name, claim.metric), None)
                value = figure.value if figure is not None else claim.stated(workload, name)
                if value is None:
                    continue
                spread = figure.sd if figure is not None else None
                values[name] = (value, quantity.shown(value, spread))
            where = f"{workload} ({device.upper()})" if len(devices) > 1 else workload
            if values:
                lines.append(_line(where, values))
    if len(devices) > 1 and len({line.partition(": ")[2] for line in lines}) == 1:
        return (lines[0].replace(" (CPU)", ""),)
    return tuple(lines)


def _measured(claim: Claim, made: Statement) -> tuple[str, ...]:
    """What was measured of the claim's contenders, in the order of the values."""
    own = QUANTITIES[claim.metric]
    lines: dict[str, dict[str, tuple[float, str]]] = {}
    for side in made.sides:
        if side.middle is not None:
            words = side.quantity.words
            what = "" if words in (own.words, "speed-up") else f", {words}"
            each = lines.setdefault(f"{side.workload}{_at(side)}{what}", {})
            each[side.name] = (side.middle, side.shown)
    return tuple(_line(where, each) for where, each in lines.items())


def _at(side: Side) -> str:
    """The point of a sweep at which it was measured, in brackets."""
    points = [str(group.rows[0].get("point") or "") for group in side.groups]
    named = listing(some(list(dict.fromkeys(filter(None, points))), 2))
    return f" ({named})" if named else ""


def _line(where: str, values: Mapping[str, tuple[float, str]]) -> str:
    """`mnist-cnn: keras 98.1 %, pytorch 98.4 %`, the least value first."""
    ordered = sorted(values, key=lambda name: values[name][0])
    return f"{where}: {', '.join(f'{name} {values[name][1]}' for name in ordered)}"
