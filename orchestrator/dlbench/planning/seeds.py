"""Which seed each repeat has: one after the other, the same, or those of a list.

A list may have a seed several times: repeats of one seed show what a release repeats to the last
bit, repeats with different seeds how much its results vary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dlbench.errors import UserError
from dlbench.shapes import shown

EACH = "each"
"""The repeats go on from the first seed, by one each."""
SAME = "same"
"""All repeats have the first seed."""
MOST_SEED = 2**31 - 1
MOST_SEEDS = 100_000

Seeds = str | tuple[int, ...]
"""`each`, `same`, or the seeds themselves, in turn."""


def read_seeds(text: str) -> Seeds:
    if text in (EACH, SAME):
        return text
    parts = [part.strip() for part in text.split(",")]
    possible = (re.fullmatch("[0-9]{1,10}", part) and int(part) <= MOST_SEED for part in parts)
    if len(parts) <= MOST_SEEDS and all(possible):
        return tuple(int(part) for part in parts)
    raise UserError(
        f"--seeds {shown(text)} is not possible.",
        f"Give `each`, `same` or seeds from 0 to {MOST_SEED:,}, such as 1,12,123.",
    )


def seeds_for(seeds: Seeds, first: int, repeats: int) -> Sequence[int]:
    """The seeds of so many repeats; `first`: where nothing is listed, that of the first."""
    if seeds == SAME:
        return [first] * repeats
    if seeds == EACH:
        return range(first, first + repeats)
    if repeats > len(seeds):
        raise UserError(
            f"{repeats:,} repeats need as many seeds, and {len(seeds):,} are listed.",
            f"Give up to {len(seeds):,} repeats, or more --seeds.",
        )
    return [int(seed) for seed in seeds[:repeats]]


def is_same(seeds: Sequence[int]) -> bool:
    """Whether several repeats were planned with one seed: what is added goes on like that."""
    return len(seeds) > 1 and len(set(seeds)) == 1
