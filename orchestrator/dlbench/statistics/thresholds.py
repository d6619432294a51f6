"""`--fail-if "step_ms > 1.05"`: what counts as a regression against a baseline.

The number is held against new / baseline (times, sizes) or new - baseline (accuracies). A
condition is met when the estimate lies beyond it *and* the exact test shows a difference: a CI that
cries wolf is switched off. What could not be decided, is missing or is broken has an outcome and an
exit code of its own: silence is not a pass.

"A difference" is one from the baseline. Only where the baseline itself would meet the condition
(`step_ms > 0.9`: an improvement is asked for) is it one from the bound. An estimate exactly on the
bound, rounding aside, meets `>=` and `<=` and not `>` and `<`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from dlbench.errors import UserError
from dlbench.statistics.comparison import compare
from dlbench.statistics.measurements import (
    SCORE,
    SHARE,
    TIME,
    USE,
    Kind,
    Measurements,
    Reason,
    reasons_alone,
    reasons_between,
)
from dlbench.statistics.sample_size import holm
from dlbench.statistics.verdicts import Verdict
from dlbench.statistics.words import TOO_FEW_RUNS, listing, number, p_value

_FORM = re.compile(
    r"\s*(?P<metric>[A-Za-z_][\w.\-/]*)\s*(?P<sign>[<>]=?)\s*"
    r"(?P<bound>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<percent>%)?\s*"
)
_NEW = "the new runs"
_BASELINE = "the baseline"
_NO_DIFFERENCE = 0.5
"""No accuracy is asked to change by as much: somebody thinks of a ratio."""
_MOST_PERCENT = 100.0
"""`> 105%` may mean 1.05 or 2.05: it is refused."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Threshold:
    """`METRIC > BOUND`, against the baseline."""

    metric: str
    sign: str
    bound: float
    percent: float | None = field(default=None, compare=False)
    """The bound as it was written, where it was in percent."""

    def on(self, kind: Kind) -> Threshold:
        """As it is meant for a metric of this kind: 5 % are a factor of 1.05 or five points."""
        meant = self
        if self.percent is not None and kind.scale == "difference":
            meant = replace(self, bound=self.percent / 100)
        if kind.scale == "ratio" and meant.bound <= 0:
            raise UserError(
                f"{meant} means nothing: {self.metric} is compared by its ratio, and no ratio is"
                " below 0.",
                f'Give a factor, such as "{self.metric} > 1.05".',
            )
        if kind in (SCORE, SHARE) and abs(meant.bound) >= _NO_DIFFERENCE:
            raise UserError(
                f"{meant} means nothing: {self.metric} is compared by its difference.",
                f'Give a difference, such as "{self.metric} < -0.01".',
            )
        return meant

    def beyond(self, x: float) -> bool:
        near = _ROUNDING * max(abs(self.bound), 1e-300)
        if self.sign in (">", ">="):
            return x > self.bound + near if self.sign == ">" else x >= self.bound - near
        return x < self.bound - near if self.sign == "<" else x <= self.bound + near

    def asks_for_worse(self, kind: Kind) -> bool:
        """Whether the condition is met by getting worse."""
        return (self.sign[0] == ">") == kind.less_is_better

    def __str__(self) -> str:
        return f"{self.metric} {self.sign} {number(self.bound, 6)}"


def parse_threshold(text: str) -> Threshold:
    """`step_ms > 1.05`, `step_ms > +5%` (the same), `accuracy < -0.01`, `accuracy < -1%`."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise UserError(
            f"{text!r} is not a condition.",
            'Write METRIC > NUMBER or METRIC < NUMBER, such as "step_ms > 1.05".',
        )
    bound = float(form["bound"])
    if not math.isfinite(bound):
        raise UserError(f"{text!r} has no finite number.", 'Write one such as "step_ms > 1.05".')
    if not form["percent"]:
        return Threshold(form["metric"], form["sign"], bound)
    if abs(bound) >= _MOST_PERCENT:
        raise UserError(
            f"{text!r} may mean a change by that much, or to that much.",
            'Write the change, such as "step_ms > 5%", or the factor, such as "step_ms > 1.05".',
        )
    return Threshold(form["metric"], form["sign"], 1 + bound / 100, bound)


class ThresholdOutcome(Enum):
    MET = "met"
    """A regression: the condition holds and the difference is shown."""
    NOT_MET = "not met"
    NOT_SHOWN = "not shown"
    """The estimate lies beyond the bound, but no difference is shown."""
    TOO_FEW = TOO_FEW_RUNS
    NOT_COMPARABLE = "not comparable"
    MISSING = "missing"
    """One side does not have what the other has."""
    BROKEN = "broken"
    """No run of one side finished, or its model is not certified."""

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES.get(self, UNDECIDED)


UNDECIDED = 3
_EXIT_CODES = {
    ThresholdOutcome.NOT_MET: 0,
    ThresholdOutcome.MET: 1,
    ThresholdOutcome.MISSING: 4,
    ThresholdOutcome.BROKEN: 5,
}
_WORST_FIRST = (1, 5, 4, UNDECIDED, 0)
"""A regression that is shown is the worst; 2 is for mistakes in the command."""


def worst_exit_code(results: Sequence[ThresholdResult]) -> int:
    """Of several results, the worst counts: no further condition makes a build pass."""
    codes = {result.outcome.exit_code for result in results}
    return next((code for code in _WORST_FIRST if code in codes), UNDECIDED)


@dataclass(frozen=True)
class ThresholdCheck:
    """One threshold with the runs that are held against it."""

    threshold: Threshold
    baseline: Measurements | None
    """None: the baseline does not have it."""
    new: Measurements | None
    kind: Kind = TIME
    name: str = ""
    """What is checked, such as `mxnet@1.3.0 on mnist-cnn`."""


@dataclass(frozen=True)
class ThresholdResult:
    """What the runs say about one threshold."""

    name: str
    threshold: Threshold
    outcome: ThresholdOutcome
    verdict: Verdict | None = None
    """Of the new runs against the baseline's, by themselves."""
    adjusted: float = 1.0
    """p after Holm's correction over all that this condition is checked on."""
    problem: str = ""
    """Why it could not be checked."""

    @property
    def failed(self) -> bool:
        return self.outcome is ThresholdOutcome.MET

    @property
    def certain(self) -> bool:
        """Whether the whole interval lies beyond the bound, not only the estimate."""
        ends = self._ends
        return bool(ends) and all(map(self.threshold.beyond, ends))

    @property
    def _ends(self) -> tuple[float, ...]:
        effect = self.verdict.effect if self.verdict else None
        around = effect.interval if effect else None
        return (around.low, around.high) if around else ()

    @property
    def only_for_better(self) -> bool:
        """Whether it is met by improvements alone, so that it can't find what got worse."""
        effect = self.verdict.effect if self.verdict else None
        if effect is None or effect.kind == USE:  # a device that is less in use may be a fault
            return False
        alike = self.threshold.beyond(effect.neutral)
        return not alike and not self.threshold.asks_for_worse(effect.kind)

    @property
    def sentence(self) -> str:
        said = f"{self.name}: {self.threshold}" if self.name else str(self.threshold)
        effect = self.verdict.effect if self.verdict else None
        size = self.verdict.size if self.verdict else None
        if self.verdict is None or effect is None or size is None:
            return f"{said} cannot be checked: {self.problem}."
        what = "ratio" if effect.kind.scale == "ratio" else "difference"
        seen = f"the {what} to the baseline is {effect.from_first()}"
        if self.verdict.failures:
            seen += f" among the runs that finished (failed: {self.verdict.failures})"
        apart = ""
        if self.verdict.apart:
            apart = " Part of it may come from the day: not the same campaign."
        match self.outcome:
            case ThresholdOutcome.NOT_MET:
                wide = any(map(self.threshold.beyond, self._ends))
                more = ", though the interval reaches beyond it" if wide else ""
                return f"{said} is not met: {seen}{more}.{apart}"
            case ThresholdOutcome.MET:
                sure = (
                    "the whole interval lies beyond" if self.certain else "the estimate lies beyond"
                )
                if not self.threshold.beyond(effect.estimate):
                    sure = "and a run that failed counts as worse than any that finished"
                return f"{said} is met: {seen}, {sure}.{apart}"
            case ThresholdOutcome.TOO_FEW:
                need = f"{size.had}, {size.needed} of each are needed to decide"
                return f"{said} cannot be decided: {seen}, but there are {need}.{apart}"
            case _:
                return f"{said} is not decided: {seen}, which may be chance.{apart}"

    @property
    def details(self) -> str:
        """The test and its p."""
        if self.verdict is None or self.verdict.size is None:
            return ""
        name = "signed ranks" if self.verdict.size.paired else "Mann and Whitney"
        return f"{name}, {self.verdict.size.had}: {p_value(self.adjusted)}"


def check_thresholds(
    checks: Sequence[ThresholdCheck], *, alpha: float = 0.05
) -> tuple[ThresholdResult, ...]:
    """All conditions at once. For each, the chance that it is wrongly met anywhere stays within
    alpha; another condition takes nothing from it."""
    together: dict[Threshold, list[int]] = {}
    for i, one in enumerate(checks):
        together.setdefault(one.threshold, []).append(i)
    results: dict[int, ThresholdResult] = {}
    for members in together.values():
        own = _checked([checks[i] for i in members], alpha)
        results |= dict(zip(members, own, strict=True))
    return tuple(results[i] for i in range(len(checks)))


def _checked(checks: Sequence[ThresholdCheck], alpha: float) -> list[ThresholdResult]:
    """One condition on all that it is checked on."""
    problems = [_problem(one) for one in checks]
    family = sum(1 for problem in problems if problem is None)
    verdicts = [
        None if problem else _compared(one, one.baseline, alpha, family)
        for one, problem in zip(checks, problems, strict=True)
    ]
    raw = [
        _p(one, verdict, alpha, family)
        for one, verdict in zip(checks, verdicts, strict=True)
        if verdict is not None
    ]
    adjusted = iter(holm(raw))
    results = []
    for one, verdict, problem in zip(checks, verdicts, problems, strict=True):
        if problem:
            outcome, why = problem
            results.append(ThresholdResult(one.name, one.threshold, outcome, problem=why))
        elif verdict is not None:
            p = next(adjusted)
            outcome = _outcome(one, verdict, p, alpha)
            results.append(ThresholdResult(one.name, one.threshold, outcome, verdict, p))
    return results


def _problem(one: ThresholdCheck) -> tuple[ThresholdOutcome, str] | None:
    """What keeps it from being checked."""
    if one.new is None:
        return ThresholdOutcome.MISSING, "the new runs do not have it"
    if one.baseline is None:
        return ThresholdOutcome.MISSING, "the baseline does not have it"
    for side, group in ((_NEW, one.new), (_BASELINE, one.baseline)):
        if why := reasons_alone(group, one.kind):
            reasons = listing([reason.value for reason in why])
            made_up = why == (Reason.MADE_UP,)
            broken = ThresholdOutcome.NOT_COMPARABLE if made_up else ThresholdOutcome.BROKEN
            return broken, f"{side}: {reasons}"
    if why := reasons_between(one.new, one.baseline):
        reasons = listing([reason.value for reason in why])
        return ThresholdOutcome.NOT_COMPARABLE, f"not comparable with the baseline: {reasons}"
    return None


def _outcome(
    one: ThresholdCheck, verdict: Verdict, adjusted: float, alpha: float
) -> ThresholdOutcome:
    effect, size = verdict.effect, verdict.size
    assert effect is not None and size is not None
    if not size.enough:
        return ThresholdOutcome.TOO_FEW
    worse = one.threshold.asks_for_worse(one.kind)
    shown = adjusted <= alpha
    (new, before), (of, of_before) = effect.failed, (size.runs[0], size.runs[-1])
    fails_more = new * of_before > before * of
    if worse and fails_more:
        turned = effect.lean > 0 if one.kind.less_is_better else effect.lean < 0
        return ThresholdOutcome.MET if shown and turned else ThresholdOutcome.NOT_SHOWN
    if not one.threshold.beyond(effect.estimate):
        return ThresholdOutcome.NOT_MET
    beyond = one.threshold.beyond(effect.shift)
    return ThresholdOutcome.MET if shown and beyond else ThresholdOutcome.NOT_SHOWN


def _compared(
    one: ThresholdCheck, baseline: Measurements | None, alpha: float, family: int
) -> Verdict:
    assert one.new is not None and baseline is not None
    groups = {_NEW: one.new, _BASELINE: baseline}
    return compare(groups, one.kind, baseline=_BASELINE, alpha=alpha, family=family).verdicts[0]


def _p(one: ThresholdCheck, verdict: Verdict, alpha: float, family: int) -> float:
    """Of a difference from the baseline, or from the bound where an improvement is asked for."""
    assert verdict.test is not None and verdict.effect is not None and one.baseline is not None
    bound = one.threshold.bound
    ratio = one.kind.scale == "ratio"
    if not one.threshold.beyond(verdict.effect.neutral) or (ratio and bound <= 0):
        return verdict.test.p
    moved = tuple(x * bound if ratio else x + bound for x in one.baseline.values)
    asked = _compared(one, replace(one.baseline, values=moved), alpha, family)
    assert asked.test is not None
    return asked.test.p
