"""The list of all faults."""

from __future__ import annotations

from tests.bench.faults import dropping, images, loops, losses, norms, sequences, simple, updates

FAULTS = (
    *images.FAULTS, *norms.FAULTS, *sequences.FAULTS, *simple.FAULTS, *dropping.FAULTS,
    *losses.FAULTS, *updates.FAULTS, *loops.FAULTS,
)  # fmt: skip
