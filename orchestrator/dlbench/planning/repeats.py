"""How many repeats a campaign makes, when `--until decided` looks at them, what they can show.

The test is chosen from counts alone: with few runs the unpaired one, which can show a difference
with fewer runs than the paired one. So what is needed follows from the number of contenders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlbench.errors import UserError, unknown
from dlbench.statistics.looks import alpha_at_look
from dlbench.statistics.sample_size import pairs_needed, runs_needed
from dlbench.statistics.words import count, listing

if TYPE_CHECKING:
    from dlbench.planning.plan import Trial

ALPHA = 0.05
DECIDED = "decided"
_NOTHING_TO_COMPARE = 3
"""Repeats where there is one contender: enough to see how much its times vary."""
_USUAL_MOST = 20
_MOST_LOOKS = 4
"""Each look takes its share of the error rate: more looks make each of them weaker."""


def rivals(contenders: Sequence[Trial]) -> int:
    """How many contenders the largest case has."""
    cases = Counter(case for case, _ in {(trial.case, trial.contender) for trial in contenders})
    return max(cases.values())


def repeats_needed(contenders: int, alpha: float = ALPHA) -> int:
    """The fewest repeats with which a difference between any two of them can be shown."""
    pairs = contenders * (contenders - 1) // 2
    if not pairs:
        return _NOTHING_TO_COMPARE
    return min(pairs_needed(alpha, pairs), runs_needed(alpha, pairs))


def first_repeats(
    contenders: Sequence[Trial], repeats: int | None, until: str | None, at_most: int | None
) -> int:
    """The repeats that are planned at once: all, or with `until` those before the first look."""
    if until is None:
        if at_most is not None:
            raise UserError("--at-most belongs to --until.", "Add --until decided.")
        return repeats or repeats_needed(rivals(contenders))
    if until != DECIDED:
        raise unknown("end to wait for", until, [DECIDED])
    return looks(rivals(contenders), repeats, at_most)[0]


def looks(contenders: int, repeats: int | None = None, at_most: int | None = None) -> list[int]:
    """After how many repeats `--until decided` looks; the last is the most that are made.

    The first look comes when its share of the error rate can be reached at all."""
    if contenders < 2:
        raise UserError("There is nothing to decide: only one contender.", "Name another release.")
    needed = repeats_needed(contenders)
    most = at_most if at_most is not None else max(_USUAL_MOST, 2 * needed, repeats or 0)
    if most < max(needed, repeats or 0):
        raise UserError(
            f"--at-most {most} is not possible.",
            f"Between {contenders} contenders a difference needs {needed} repeats"
            + (f", and --repeats asks for {repeats}." if repeats else "."),
        )
    for number in range(_MOST_LOOKS, 1, -1):
        least = repeats_needed(contenders, alpha_at_look(ALPHA, 1, number))
        first = max(least, repeats or 0)
        if most - first >= number - 1:
            growth = (most / first) ** (1 / (number - 1))
            at = [first + look for look in range(number)]  # at least one repeat between two looks
            at = [max(at[k], round(first * growth**k)) for k in range(number)]
            return [*at[:-1], most]
    return [most]


def what_repeats_show(trials: Sequence[Trial]) -> str:
    """What this plan can and cannot show, in words to be read before it is run."""
    contenders = rivals(trials)
    made = max(Counter(trial.contender for trial in trials).values())
    runs = count(made, "run")
    if contenders < 2:
        return f"There is one contender: {runs} of it can't be compared with anything."
    needed = repeats_needed(contenders)
    if made < needed:
        return (
            f"{runs} of each can't show a difference between {contenders} contenders, however"
            f" large it is: {needed} are needed (--repeats {needed}). Sizes will be seen."
        )
    return (
        f"{runs} of each of {contenders} contenders can show a difference that is clearly larger"
        " than the variation from run to run. A smaller one needs more repeats."
    )


def what_looks_do(at: Sequence[int]) -> str:
    """How `--until decided` goes on."""
    if len(at) == 1:
        return f"There is one look, after {at[0]} runs of each."
    return (
        f"There are up to {len(at)} looks, after {listing([str(n) for n in at])} runs of each,"
        f" and no more once the leader is known. All looks together keep the error rate of"
        f" {ALPHA:.0%}."
    )
