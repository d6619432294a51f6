"""May a campaign stop at this look? Looking again and again must not cost the promised error rate.

Who adds runs until a difference shows will find one in the end, whether there is one or not. Each
look therefore gets a share of alpha, and all shares together are alpha: whatever the looks have to
do with each other, the chance of a false claim at any of them stays within it.
"""

from __future__ import annotations

from dlbench.statistics.sample_size import fewest_repeats

MOST_LOOKS = 5
"""More looks make each of them weaker."""


def alpha_at_look(alpha: float, look: int, looks: int | None = None) -> float:
    """What a claim at this look, counted from 1, may cost.

    `looks`: as many as were planned, each with the same share. None: nobody planned them; the
    shares 1/2, 1/6, 1/12, ... add up to at most alpha however many follow.
    """
    if look < 1 or (looks is not None and look > looks):
        raise ValueError(f"look {look} of {looks} does not exist")
    return alpha / looks if looks is not None else alpha / (look * (look + 1))


def planned_looks(comparisons: int, at_most: int, alpha: float = 0.05) -> tuple[int, ...]:
    """After how many repeats to look: first where a difference can be shown, last at `at_most`.

    `alpha_at_look(alpha, i + 1, len(planned))` belongs to the i-th. A single look at `at_most`
    where fewer could show nothing.
    """
    for looks in range(MOST_LOOKS, 1, -1):
        first = fewest_repeats(alpha / looks, comparisons)
        if first < at_most:
            growth = (at_most / first) ** (1 / (looks - 1))
            planned = {round(first * growth**i) for i in range(looks)}
            return tuple(sorted(planned | {first, at_most}))
    return (at_most,)
