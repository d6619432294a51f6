"""What may be said of one pair of groups on one metric, and in which words.

Six sentences, never mixed up: better or worse by so much, equivalent, not shown to differ, too few
runs, not comparable. "Different" rests on the exact test after Holm's correction alone, so that
false alarms stay at or below alpha whatever the noise looks like; effect and interval say how
large it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from dlbench.statistics.effects import Effect
from dlbench.statistics.margins import Equivalence, within_margin
from dlbench.statistics.measurements import Kind, Reason
from dlbench.statistics.rank_tests import RankTest
from dlbench.statistics.sample_size import SampleSize, holm
from dlbench.statistics.words import (
    TOO_FEW_RUNS,
    TOO_FEW_TO_TELL,
    count,
    listing,
    p_value,
)


class Decision(Enum):
    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    NOT_SHOWN = "not shown to differ"
    TOO_FEW = TOO_FEW_RUNS
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Verdict:
    """What is said of the first group against the second."""

    first: str
    second: str
    kind: Kind
    decision: Decision
    reasons: tuple[Reason, ...] = ()
    """Why they are not comparable."""
    effect: Effect | None = None
    test: RankTest | None = None
    adjusted: float | None = None
    """The test's p after Holm's correction."""
    size: SampleSize | None = None
    equivalence: Equivalence | None = None
    left_out: tuple[int, int] = (0, 0)
    """Runs of either group that have no partner in the other."""
    apart: bool = False
    """They were never measured in the same session."""

    @property
    def different(self) -> bool:
        return self.decision in (Decision.BETTER, Decision.WORSE)

    def other(self, name: str) -> str:
        """The group that the group of this name is compared with."""
        return self.second if self.first == name else self.first

    def won_by(self, name: str) -> bool:
        """Whether the group of this name is shown to be the better one."""
        wanted = Decision.BETTER if self.first == name else Decision.WORSE
        return self.decision is wanted

    @property
    def sentence(self) -> str:
        """In plain words; the numbers of the test are in `details`."""
        tail = ""
        if any(self.left_out):
            tail = f" ({count(sum(self.left_out), 'run')} without a partner left out)"
        if self.apart:
            tail += ". Not measured in the same campaign: part of it may come from the day"
        return f"{self._said()}{tail}."

    @property
    def details(self) -> str:
        """Which test, and its p."""
        if self.test is None or self.size is None or self.adjusted is None:
            return ""
        name = "signed ranks" if self.size.paired else "Mann and Whitney"
        exact = "" if self.test.exact else ", normal approximation"
        said = f"{name}, {self.size.had}{exact}: {p_value(self.adjusted)}"
        among = f" after the correction for {self.size.comparisons} comparisons"
        return said + (among if self.size.comparisons > 1 else "")

    @property
    def failures(self) -> str:
        """`a: 10 runs, b: 1 run`; empty if none failed."""
        if self.effect is None:
            return ""
        counts = zip((self.first, self.second), self.effect.failed, strict=True)
        return ", ".join(f"{name}: {count(n, 'run')}" for name, n in counts if n)

    def _said(self) -> str:
        pair = f"{self.first} and {self.second}"
        if self.decision is Decision.NOT_COMPARABLE:
            why = listing([reason.value for reason in self.reasons])
            return f"{pair} are not comparable: {why}"
        effect, size, adjusted = self.effect, self.size, self.adjusted
        assert effect is not None and size is not None and adjusted is not None
        seen = observed(effect, self.first, self.second)
        if self.different:
            word = self.kind.better if self.decision is Decision.BETTER else self.kind.worse
            said = f"{self.first} {self.kind.verb} {word} than {self.second}"
            if any(effect.failed):
                counted = "runs that failed count as worse than any that finished"
                return f"{said}: {counted} ({self.failures}). Of those that finished, {seen}"
            around = effect.interval
            unsure = ""
            if around and around.holds(effect.neutral):
                # The ranks differ beyond doubt, the size may still be small.
                unsure = ", though the interval includes no difference"
            return f"{said} by {by_how_much(effect)}{unsure}"
        if any(effect.failed):
            seen = f"{seen} among the runs that finished (failed: {self.failures})"
        if self.decision is Decision.TOO_FEW:
            need = f"{size.had}, {size.needed} are needed"
            return f"There are {TOO_FEW_TO_TELL} {pair} apart: {need}; so far {seen}"
        if self.decision is Decision.EQUIVALENT:
            assert self.equivalence is not None
            within = within_margin(self.equivalence.margin, self.kind)
            return f"{pair} are equivalent {within}: {seen}"
        if adjusted <= size.alpha:
            # Only the direction is missing: see `_decision`.
            return f"{pair} are not shown to differ in one direction: {seen}"
        return f"{pair} are not shown to differ: {seen}"


def by_how_much(effect: Effect) -> str:
    return f"a factor of {effect.magnitude}" if effect.kind.scale == "ratio" else effect.magnitude


def observed(effect: Effect, first: str, second: str) -> str:
    """What was seen, without any claim that it is more than chance."""
    what = "the ratio of medians" if effect.kind.scale == "ratio" else "the difference of means"
    joined = "to" if effect.kind.scale == "ratio" else "and"
    return f"{what} of {first} {joined} {second} is {effect.from_first()}"


def judge(tested: Sequence[Verdict], family: int) -> list[Verdict]:
    """Each with the one decision that its numbers allow, after Holm's correction over `family`
    comparisons."""
    adjusted = holm([v.test.p if v.test else 1.0 for v in tested], family)
    near = holm([v.equivalence.p if v.equivalence else 1.0 for v in tested], family)
    return [
        replace(v, decision=_decision(v, adjusted[i], near[i]), adjusted=adjusted[i])
        for i, v in enumerate(tested)
    ]


def _decision(verdict: Verdict, adjusted: float, near: float) -> Decision:
    """`adjusted` and `near`: the p of its test and of its equivalence, corrected.

    A margin says which differences do not matter: a pair shown to lie within it is equivalent, even
    where the test resolves a smaller difference. A difference counts only where the estimate and
    the ranks agree on its direction.
    """
    effect, size = verdict.effect, verdict.size
    assert effect is not None and size is not None
    if verdict.equivalence is not None and near <= size.alpha:
        return Decision.EQUIVALENT
    if adjusted <= size.alpha and effect.direction:
        return Decision.BETTER if effect.first_is_better else Decision.WORSE
    return Decision.NOT_SHOWN if size.enough else Decision.TOO_FEW
