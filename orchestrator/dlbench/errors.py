"""What a user can do something about: one exception type, with what is wrong and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from pathlib import Path

_NEAR = 0.6
"""How alike a name must be to be the one that was meant."""


class UserError(Exception):
    """Something the user can correct: `problem` says what is wrong, `remedy` what to do."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem} {remedy}".strip())
        self.problem = problem
        self.remedy = remedy


def unknown(kind: str, name: str, known: Iterable[str], listing: str = "") -> UserError:
    """The error for a misspelt name: it names the nearest right one."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=_NEAR)
    if near:
        remedy = f"Did you mean {near[0]!r}?"
    else:
        remedy = f"Known: {', '.join(names)}." if len(names) <= 12 else ""
    if listing:
        remedy = f"{remedy} `{listing}` shows them all.".strip()
    return UserError(f"There is no {kind} {name!r}.", remedy)


def check_known(kind: str, name: str, known: Collection[str], listing: str = "") -> None:
    """Refuse a name that is not among these."""
    if name not in known:
        raise unknown(kind, name, known, listing)


def damaged(path: Path, why: object) -> UserError:
    """The error for a file of a campaign that does not hold what it must."""
    return UserError(
        f"{path} is damaged: {why}.",
        "Restore it from a copy, or ask whoever sent it for the campaign again.",
    )
