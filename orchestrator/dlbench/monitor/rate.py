"""How often a running trial is sampled: the default rate, and the rates that are possible."""

from __future__ import annotations

from dlbench.errors import UserError

DEFAULT_HZ = 1.0
SLOWEST_HZ, FASTEST_HZ = 0.1, 20.0


def check_rate(hz: float) -> None:
    if not SLOWEST_HZ <= hz <= FASTEST_HZ:
        raise UserError(
            f"A sampling rate of {hz:g} Hz is not possible.",
            f"Choose one from {SLOWEST_HZ:g} to {FASTEST_HZ:g} Hz.",
        )
