"""How many repeats a campaign makes, when `--until decided` looks at them, what they can show.

The test is chosen from counts alone, so what is needed follows from the number of contenders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlbench.errors import UserError, unknown
from dlbench.shapes import shown
from dlbench.statistics import looks
from dlbench.statistics.sample_size import fewest_repeats
from dlbench.statistics.words import count, listing

if TYPE_CHECKING:
    from dlbench.planning.trial import Trial

ALPHA = 0.05
DECIDED = "decided"
_NOTHING_TO_COMPARE = 3
"""Repeats where there is one contender: enough to see how much its times vary."""
_USUAL_MOST = 20
_MOST_REPEATS = 100_000


def rivals(contenders: Sequence[Trial]) -> int:
    """How many contenders the largest case has; those with confounds count where there are no
    others, for a study as published is judged by them."""
    plain = [trial for trial in contenders if not trial.confounds]
    pairs = {(trial.case, trial.contender) for trial in plain or contenders}
    return max(Counter(case for case, _ in pairs).values(), default=0)


def most_compared(contenders: Sequence[Trial]) -> int:
    """As `rivals`, or on how many devices one of them runs, where that is more."""
    placed = {
        (t.workload, t.release, t.variant, t.setting, t.point, t.compared_device)
        for t in contenders
    }
    return max(rivals(contenders), *Counter(place[:-1] for place in placed).values())


def repeats_needed(contenders: int) -> int:
    """The fewest repeats with which a difference between any two of them can be shown."""
    return fewest_repeats(ALPHA, _pairs(contenders)) if contenders > 1 else _NOTHING_TO_COMPARE


def _pairs(contenders: int) -> int:
    return contenders * (contenders - 1) // 2


def planned_looks(
    contenders: int, repeats: int | None, until: str | None, at_most: int | None
) -> tuple[int, ...]:
    """After how many repeats `--until decided` looks; the last is the most that are made.

    Empty where nobody asked for looks."""
    if until is None:
        if at_most is not None:
            raise UserError("--at-most belongs to --until.", "Add --until decided.")
        return ()
    if until != DECIDED:
        raise unknown("end to wait for", until, [DECIDED])
    if contenders < 2:
        raise UserError("There is nothing to decide: only one contender.", "Name another release.")
    needed = repeats_needed(contenders)
    most = at_most if at_most is not None else max(_USUAL_MOST, 2 * needed, repeats or 0)
    if most > _MOST_REPEATS:
        raise UserError(
            f"--at-most {shown(most)} is not possible.", f"Give up to {_MOST_REPEATS:,} repeats."
        )
    if most < max(needed, repeats or 0):
        raise UserError(
            f"--at-most {shown(most)} is not possible.",
            f"Between {contenders} contenders a difference needs {needed} repeats"
            + (f", and --repeats asks for {repeats}." if repeats else "."),
        )
    planned = looks.planned_looks(_pairs(contenders), most, ALPHA)
    return tuple(number for number in planned if number >= (repeats or 0))


def what_repeats_show(trials: Sequence[Trial]) -> str:
    """What this plan can and cannot show, in words to be read before it is run."""
    contenders = rivals(trials)
    made = max(Counter(trial.contender for trial in trials).values())
    runs = count(made, "run")
    if contenders < 2 and (devices := most_compared(trials)) > 1:
        needed = repeats_needed(devices)
        enough = "can be shown" if made >= needed else f"needs {needed} (--repeats {needed})"
        return (
            f"There is one contender, on {devices} devices: with {runs} on each, a difference"
            f" between them {enough}."
        )
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


def what_another_look_costs(made: int, contenders: int) -> str:
    """For runs that were enough to be judged and get more; else empty."""
    if contenders < 2 or made < repeats_needed(contenders):
        return ""
    return (
        f"{count(made, 'run')} of each could be judged already. To judge again raises the chance of"
        f" a false claim to up to {2 * ALPHA:.0%}; `dlbench compare --look 2` keeps it at"
        f" {ALPHA:.0%}."
    )
