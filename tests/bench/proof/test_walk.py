"""The steps that both sides take: what they are compared on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.proof.kinks import rows_at_kinks
from bench.proof.walk import Walk
from bench.reference.model import Reference
from tests.bench.proof.faulty import adapter, failures, job_of


def test_batches_keep_from_kinks_at_the_weights_of_their_own_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch that was clear of kinks one step ago says nothing about this one."""
    job, _ = job_of("digits-cnn")
    steps, seen = Walk.step, []

    def watched(self: Any, batch: Any, clear: bool, in_loop: bool = False) -> None:
        fresh = Reference(job["graph"], job["recipe"], 1, np.float64)
        fresh.load(self.weights)
        values = fresh.activations(batch)
        if clear:
            seen.append(rows_at_kinks(job["graph"], job["recipe"], values, batch).any())
        steps(self, batch, clear, in_loop)

    monkeypatch.setattr(Walk, "step", watched)
    failures("digits-cnn", adapter(), until="sgd-nesterov-decay-steps")
    assert len(seen) > 50
    assert not any(seen)
