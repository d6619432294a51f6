"""Why a trial that ended by itself ended: the first cause that explains it."""

from __future__ import annotations

import pytest

from dlbench.campaigns.outcomes import Outcome, classify
from dlbench.engines.base import Exit
from dlbench.formats import Event

RESULT, CHECK, END = (Event(1.0, kind, {}) for kind in ("result", "check", "end"))


def error(outcome: str) -> Event:
    return Event(1.0, "error", {"outcome": outcome, "message": "It says so."})


@pytest.mark.parametrize(
    ("exit", "events", "outcome", "words"),
    [
        (Exit(0), [RESULT, END], Outcome.OK, ""),
        (Exit(0), [CHECK, END], Outcome.OK, ""),
        (Exit(0), [RESULT], Outcome.CRASHED, "without a result"),
        (Exit(0), [END], Outcome.CRASHED, "without a result"),
        (Exit(-25), [], Outcome.OUTPUT_LIMIT, "limit on output"),
        (Exit(-9, oom=True), [error("crashed")], Outcome.OOM, "memory limit"),
        (Exit(1), [error("diverged")], Outcome.DIVERGED, "It says so."),
        (Exit(1), [error("gpu-oom")], Outcome.GPU_OOM, "It says so."),
        (Exit(-11), [], Outcome.CRASHED, "SIGSEGV"),
        (Exit(-99), [], Outcome.CRASHED, "signal 99"),
        (Exit(7), [], Outcome.CRASHED, "exit code 7"),
    ],
)
def test_the_cause(exit: Exit, events: list[Event], outcome: Outcome, words: str) -> None:
    found, reason = classify(exit, events)
    assert found is outcome
    assert words in reason


@pytest.mark.parametrize("claim", ["ok", "timeout", "interrupted", "build-failed", "nonsense"])
def test_a_trial_can_not_claim_what_only_its_host_knows(claim: str) -> None:
    assert classify(Exit(1), [error(claim)])[0] is Outcome.CRASHED
