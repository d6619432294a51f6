"""`--fail-if "step_ms > 1.05"`: what counts as a regression against a baseline.

The number is held against new / baseline (times, sizes) or new - baseline (accuracies). A
condition is met when the estimate lies beyond it *and* the exact test shows a difference: a CI that
cries wolf is switched off. Where the estimate lies beyond but the runs cannot show a difference,
the result says so and it is not a failure; whether the interval lies wholly beyond is said as well.

"A difference" is one from the baseline. Only where the baseline itself would meet the condition
(`step_ms > 0.9`: an improvement is asked for) is it one from the bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from dlbench.errors import UserError
from dlbench.statistics.comparison import compare
from dlbench.statistics.measurements import SCORE, TIME, Kind, Measurements
from dlbench.statistics.sample_size import SampleSize, holm
from dlbench.statistics.verdicts import Verdict
from dlbench.statistics.words import TOO_FEW_RUNS, count, listing, number, p_value

_FORM = re.compile(
    r"\s*(?P<metric>[A-Za-z_][\w.\-/]*)\s*(?P<sign>[<>]=?)\s*"
    r"(?P<bound>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<percent>%)?\s*"
)
_BASELINE = "the baseline"
_NO_DIFFERENCE = 0.5
"""No accuracy is asked to change by as much: somebody thinks of a ratio."""


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
        if kind is SCORE and abs(meant.bound) >= _NO_DIFFERENCE:
            raise UserError(
                f"{meant} means nothing: {self.metric} is compared by its difference.",
                f'Give a difference, such as "{self.metric} < -0.01".',
            )
        return meant

    def beyond(self, x: float) -> bool:
        match self.sign:
            case ">":
                return x > self.bound
            case ">=":
                return x >= self.bound
            case "<":
                return x < self.bound
            case _:
                return x <= self.bound

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
    if form["percent"]:
        return Threshold(form["metric"], form["sign"], 1 + bound / 100, bound)
    return Threshold(form["metric"], form["sign"], bound)


class ThresholdOutcome(Enum):
    MET = "met"
    """A regression: the condition holds and the difference is shown."""
    NOT_MET = "not met"
    NOT_SHOWN = "not shown"
    """The estimate lies beyond the bound, but no difference is shown."""
    TOO_FEW = TOO_FEW_RUNS
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class ThresholdCheck:
    """One threshold with the runs that are held against it."""

    threshold: Threshold
    baseline: Measurements
    new: Measurements
    kind: Kind = TIME
    name: str = ""
    """What is checked, such as `mxnet@1.3.0 on mnist-cnn`."""


@dataclass(frozen=True)
class ThresholdResult:
    """What the runs say about one threshold."""

    name: str
    threshold: Threshold
    outcome: ThresholdOutcome
    verdict: Verdict
    """Of the new runs against the baseline's, by themselves."""
    adjusted: float = 1.0
    """p after Holm's correction over all conditions."""
    size: SampleSize | None = None

    @property
    def failed(self) -> bool:
        return self.outcome is ThresholdOutcome.MET

    @property
    def certain(self) -> bool:
        """Whether the whole interval lies beyond the bound, not only the estimate."""
        effect = self.verdict.effect
        if effect is None or effect.interval is None:
            return False
        return all(self.threshold.beyond(x) for x in (effect.interval.low, effect.interval.high))

    @property
    def sentence(self) -> str:
        said = f"{self.name}: {self.threshold}" if self.name else str(self.threshold)
        effect = self.verdict.effect
        if effect is None or self.size is None:
            why = listing([reason.value for reason in self.verdict.reasons])
            return f"{said} cannot be checked against the baseline: {why}."
        what = "ratio" if effect.kind.scale == "ratio" else "difference"
        around = effect.interval
        shown = around.beside(effect.estimate) if around else number(effect.estimate)
        seen = f"the {what} to the baseline is {shown}"
        p = p_value(self.adjusted)
        match self.outcome:
            case ThresholdOutcome.NOT_MET:
                return f"{said} is not met: {seen}."
            case ThresholdOutcome.MET:
                sure = "the whole interval lies" if self.certain else "the estimate lies"
                return f"{said} is met: {seen}, {sure} beyond ({p})."
            case ThresholdOutcome.TOO_FEW:
                need = count(self.size.needed, "pair" if effect.paired else "run")
                each = "" if effect.paired else " on either side"
                return f"{said} cannot be decided: {seen}, but {need}{each} are needed to show it."
            case _:
                return f"{said} is not shown: {seen}, which may be chance ({p})."


def check_thresholds(
    checks: Sequence[ThresholdCheck], *, alpha: float = 0.05
) -> tuple[ThresholdResult, ...]:
    """All conditions at once: the chance that any of them fails wrongly stays within alpha."""
    verdicts = [_compared(one.new, one.baseline, one.kind) for one in checks]
    tested = [i for i, verdict in enumerate(verdicts) if verdict.test is not None]
    raw = [_p(checks[i], verdicts[i]) for i in tested]
    adjusted = dict(zip(tested, holm(raw), strict=True))
    results = []
    for i, (one, verdict) in enumerate(zip(checks, verdicts, strict=True)):
        effect, size = verdict.effect, verdict.size
        if effect is None or size is None:
            none = ThresholdResult(
                one.name, one.threshold, ThresholdOutcome.NOT_COMPARABLE, verdict
            )
            results.append(none)
            continue
        size = SampleSize(size.runs, len(tested), alpha)
        if not one.threshold.beyond(effect.estimate):
            outcome = ThresholdOutcome.NOT_MET
        elif adjusted[i] <= alpha and one.threshold.beyond(effect.shift):
            outcome = ThresholdOutcome.MET
        else:
            outcome = ThresholdOutcome.NOT_SHOWN if size.enough else ThresholdOutcome.TOO_FEW
        results.append(
            ThresholdResult(one.name, one.threshold, outcome, verdict, adjusted[i], size)
        )
    return tuple(results)


def _compared(new: Measurements, baseline: Measurements, kind: Kind) -> Verdict:
    groups = {"the new runs": new, _BASELINE: baseline}
    return compare(groups, kind, baseline=_BASELINE).verdicts[0]


def _p(one: ThresholdCheck, verdict: Verdict) -> float:
    """Of a difference from the baseline, or from the bound where an improvement is asked for."""
    assert verdict.test is not None and verdict.effect is not None
    bound = one.threshold.bound
    ratio = one.kind.scale == "ratio"
    if not one.threshold.beyond(verdict.effect.neutral) or (ratio and bound <= 0):
        return verdict.test.p
    moved = tuple(x * bound if ratio else x + bound for x in one.baseline.values)
    asked = _compared(one.new, replace(one.baseline, values=moved), one.kind)
    assert asked.test is not None
    return asked.test.p
