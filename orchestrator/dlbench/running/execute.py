"""Runs one job in one environment, from launch to end: engine, monitor and events brought together.

Nothing that a trial does ends more than that trial: it is stopped at its time limit, when it fills
its output folder, and when it writes what is no event.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlbench.campaigns.outcomes import Outcome, classify
from dlbench.engines import outfolder
from dlbench.engines.base import Engine, Exit, Request, Running
from dlbench.engines.refusals import DaemonGone, GpuRefused
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.source import StatsStream
from dlbench.running.trial_events import TrialEvents

_POLL_S = 0.1
_WEIGH_S = 2.0
_TAIL_LINES = 20


@dataclass(frozen=True)
class Execution:
    """How an execution went."""

    outcome: Outcome
    reason: str
    started: str
    wall_s: float
    events: tuple[Event, ...]


class ExecutionObserver:
    """Told of everything as it happens; does nothing by itself."""

    def event(self, event: Event) -> None:
        """The trial wrote an event."""

    def tick(self, monitor: Monitor) -> None:
        """About ten times a second."""


def execute(
    engine: Engine,
    request: Request,
    samples: Path,
    events: Path,
    *,
    hz: float = 1.0,
    stats: Callable[[str], StatsStream] | None = None,
    watch: ExecutionObserver | None = None,
) -> Execution:
    """Run the request to its end. Ctrl-C ends it as `interrupted`; the caller decides what next."""
    watch = watch or ExecutionObserver()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    zero = time.monotonic()
    seen: list[Event] = []

    def ended(outcome: Outcome, reason: str) -> Execution:
        return Execution(outcome, reason, started, time.monotonic() - zero, tuple(seen))

    try:
        running = engine.start(request)
    except GpuRefused as refusal:
        return ended(Outcome.UNSUPPORTED, str(refusal))
    except DaemonGone:
        raise
    except UserError as refusal:
        return ended(Outcome.CRASHED, f"It could not be started. {refusal}")
    except KeyboardInterrupt:
        return ended(Outcome.INTERRUPTED, "Interrupted by the user.")
    exit: Exit | None = None
    verdict: tuple[Outcome, str] | None = None
    stream = stats(running.scope.container) if stats and running.scope.container else None
    monitor = Monitor(running.scope, samples, hz, zero, request.gpus, stream)
    follower = TrialEvents(request.out / "events.jsonl", events, zero)
    try:
        monitor.start()
        exit, verdict = _attend(running, request, follower, seen, monitor, watch, zero)
    except KeyboardInterrupt:
        verdict = Outcome.INTERRUPTED, "Interrupted by the user."
    finally:
        if exit is None:
            exit = running.stop()
        for event in follower.new():
            seen.append(event)
            watch.event(event)
        monitor.stop(exit)
        follower.close()
        running.close()
    outcome, reason = verdict or classify(exit, seen, follower.violation)
    return ended(outcome, reason)


def _attend(
    running: Running,
    request: Request,
    follower: TrialEvents,
    seen: list[Event],
    monitor: Monitor,
    watch: ExecutionObserver,
    zero: float,
) -> tuple[Exit | None, tuple[Outcome, str] | None]:
    """(exit, None) when it ended by itself; (None, verdict) when it must be stopped."""
    weigh_at = zero + _WEIGH_S
    while True:
        exit = running.wait(_POLL_S)
        for event in follower.new():
            seen.append(event)
            watch.event(event)
        watch.tick(monitor)
        if exit is not None:
            return exit, None
        now = time.monotonic()
        if follower.violation:
            return None, (Outcome.CRASHED, f"It wrote {follower.violation}.")
        limit = request.limits.seconds
        if limit is not None and now - zero > limit:
            return None, (Outcome.TIMEOUT, f"It reached its time limit of {limit:g} s.")
        if now >= weigh_at:
            weigh_at = now + _WEIGH_S
            if outfolder.size(request.out) > request.limits.output_bytes:
                allowed = request.limits.output_bytes
                return None, (Outcome.CRASHED, f"It wrote more than {allowed:,} bytes of output.")


def log_tail(log: Path) -> list[str]:
    """The last lines of a log, without the user's home folder in them."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 16384))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.replace(str(Path.home()), "~").splitlines()[-_TAIL_LINES:]
