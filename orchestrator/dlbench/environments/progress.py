"""How long work tells its caller how far it has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One thing under way: `done` of `total` (0: not known), in bytes for downloads."""

    stage: str
    """`download`, `install`, `base`, `cuda`, `build` or `wait`."""
    detail: str
    done: int = 0
    total: int = 0


Progress = Callable[[Step], None]


def silent(_: Step) -> None:
    """Tells nobody."""
