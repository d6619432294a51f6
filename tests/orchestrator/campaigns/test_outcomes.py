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
    ("exit", "events", "violation", "outcome", "words"),
    [
        (Exit(0), [RESULT, END], None, Outcome.OK, ""),
        (Exit(0), [CHECK, END], None, Outcome.OK, ""),
        (Exit(0), [RESULT], None, Outcome.CRASHED, "without a result"),
        (Exit(0), [END], None, Outcome.CRASHED, "without a result"),
        (Exit(0), [RESULT, END], "a torn line", Outcome.CRASHED, "a torn line"),
        (Exit(-9, oom=True), [error("crashed")], None, Outcome.OOM, "memory limit"),
        (Exit(1), [error("diverged")], None, Outcome.DIVERGED, "It says so."),
        (Exit(1), [error("gpu-oom")], None, Outcome.GPU_OOM, "It says so."),
        (Exit(-11), [], None, Outcome.CRASHED, "SIGSEGV"),
        (Exit(-99), [], None, Outcome.CRASHED, "signal 99"),
        (Exit(7), [], None, Outcome.CRASHED, "exit code 7"),
    ],
)
def test_the_cause(
    exit: Exit, events: list[Event], violation: str | None, outcome: Outcome, words: str
) -> None:
    found, reason = classify(exit, events, violation)
    assert found is outcome
    assert words in reason


@pytest.mark.parametrize("claim", ["ok", "timeout", "interrupted", "build-failed", "nonsense"])
def test_a_trial_can_not_claim_what_only_its_host_knows(claim: str) -> None:
    assert classify(Exit(1), [error(claim)], None)[0] is Outcome.CRASHED
