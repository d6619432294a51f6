"""How many rows a trial uses of its data: all, at most so many of each split, or a share of them.

Which ones is drawn from the size of the split alone (bench/data.py): every trial has the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dlbench.errors import UserError
from dlbench.shapes import shown

_FEWEST = 2
"""Rows of a split that something can be said of."""


def read_share(text: str) -> float | None:
    """The share of `--scale 0.01`; None: it is the name of a scale."""
    if not re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?%?", text[:60]):
        return None
    try:
        share = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UserError(
            f"--scale {shown(text)} is not a share of the rows.",
            "Give a number above 0 and up to 1, or the name of a scale.",
        )
    return share


def used_rows(
    whole: Mapping[str, int], most: int | None, share: float | None, data: str
) -> dict[str, int] | None:
    """The rows of each split that are used; None: all of them. `data`: what a message names."""
    used = dict(whole)
    for split, rows in whole.items():
        if share is not None:
            used[split] = round(share * rows)
        if most is not None:
            used[split] = min(used[split], most)
        if used[split] < min(_FEWEST, rows):
            raise UserError(
                f"A share of {share:g} leaves {used[split]} of the {rows:,} rows of split"
                f" {split!r} of {data}.",
                f"Give at least {_FEWEST / min(whole.values()):.2g}.",
            )
    return None if used == dict(whole) else used
