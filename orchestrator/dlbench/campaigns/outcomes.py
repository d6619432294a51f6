"""How a trial can end, and how to tell from what it left."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from enum import StrEnum

from dlbench.engines.base import Exit
from dlbench.formats import Event


class Outcome(StrEnum):
    """How a trial ended. One that bench reports itself is in `_BY_TRIAL` too."""

    OK = "ok"
    TIMEOUT = "timeout"
    OOM = "oom"
    GPU_OOM = "gpu-oom"
    GPU_LOST = "gpu-lost"
    DIVERGED = "diverged"
    UNSUPPORTED = "unsupported"
    BUILD_FAILED = "build-failed"
    IMPORT_FAILED = "import-failed"
    CRASHED = "crashed"
    OUTPUT_LIMIT = "output-limit"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"


_BY_TRIAL = {
    outcome.value: outcome
    for outcome in (
        Outcome.OOM,
        Outcome.GPU_OOM,
        Outcome.DIVERGED,
        Outcome.UNSUPPORTED,
        Outcome.IMPORT_FAILED,
        Outcome.CRASHED,
        Outcome.INVALID,
    )
}
"""What a trial may say of itself; the rest only its host can know."""


def classify(exit: Exit, events: Sequence[Event]) -> tuple[Outcome, str]:
    """(outcome, reason) of a trial that ended by itself."""
    kinds = {event.kind: event for event in events}
    if exit.oom:
        return Outcome.OOM, "The kernel ended it: it reached its memory limit."
    if "error" in kinds:
        error = kinds["error"].fields
        return _BY_TRIAL.get(error["outcome"], Outcome.CRASHED), str(error["message"])
    if exit.code == -signal.SIGXFSZ:
        return Outcome.OUTPUT_LIMIT, "The kernel ended it: a file reached the limit on output."
    if exit.code < 0:
        return Outcome.CRASHED, f"It was ended by {_signal_name(-exit.code)}."
    if exit.code != 0:
        return Outcome.CRASHED, f"It ended with exit code {exit.code}."
    if "end" not in kinds or not kinds.keys() & {"result", "check"}:
        return Outcome.CRASHED, "It ended without a result."
    return Outcome.OK, ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
