"""Runs one request in one environment, from launch to end: engine, monitor and events together.

Nothing that a trial does ends more than that trial: it is stopped at its time limit, when it fills
its output folder, and when it writes something that is not an event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlbench.campaigns.outcomes import Outcome, classify
from dlbench.engines import outfolder
from dlbench.engines.base import Engine, Exit, Request, Running
from dlbench.engines.refusals import DaemonGone, GpuRefused
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.rate import DEFAULT_HZ
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.source import StatsStream
from dlbench.running.trial_events import TrialEvents

_POLL_S = 0.1
_SIZE_CHECK_S = 2.0
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
    """Called by `execute` while one trial runs; this one ignores all calls.

    The campaign that the trial belongs to has an observer of its own (CampaignObserver)."""

    def event(self, event: Event) -> None:
        """The trial wrote an event."""

    def tick(self, monitor: Monitor) -> None:
        """About ten times a second."""


def execute(
    engine: Engine,
    request: Request,
    folder: Path,
    *,
    hz: float = DEFAULT_HZ,
    stats: Callable[[str], StatsStream] | None = None,
    observer: ExecutionObserver | None = None,
) -> Execution:
    """Run the request to its end; `folder` gets its samples.jsonl and events.jsonl.

    Ctrl-C ends it as `interrupted`; the caller decides what comes next."""
    observer = observer or ExecutionObserver()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    zero = time.monotonic()

    def execution(outcome: Outcome, reason: str, events: Sequence[Event] = ()) -> Execution:
        return Execution(outcome, reason, started, time.monotonic() - zero, tuple(events))

    try:
        running = engine.start(request)
    except GpuRefused as refusal:
        return execution(Outcome.UNSUPPORTED, str(refusal))
    except DaemonGone:
        raise
    except UserError as refusal:
        return execution(Outcome.CRASHED, f"It could not be started. {refusal}")
    except KeyboardInterrupt:
        return execution(Outcome.INTERRUPTED, "Interrupted by the user.")
    exit: Exit | None = None
    verdict: tuple[Outcome, str] | None = None
    stream = stats(running.scope.container) if stats and running.scope.container else None
    monitor = Monitor(running.scope, folder / "samples.jsonl", hz, zero, request.gpus, stream)
    events = TrialEvents(request.out / "events.jsonl", folder / "events.jsonl", zero)
    try:
        monitor.start()
        exit, verdict = _attend(running, request, events, monitor, observer, zero)
    except KeyboardInterrupt:
        verdict = Outcome.INTERRUPTED, "Interrupted by the user."
    finally:
        if exit is None:
            exit = running.stop()
        for event in events.new():
            observer.event(event)
        monitor.stop(exit)
        events.close()
        running.close()
    if verdict is None and monitor.lost_gpu is not None and exit.code != 0:
        # The trial often ends with an error of its own before the next sample shows why.
        verdict = Outcome.GPU_LOST, f"GPU {monitor.lost_gpu} vanished: the driver has lost it."
    outcome, reason = verdict or classify(exit, events.seen, events.violation)
    return execution(outcome, reason, events.seen)


def _attend(
    running: Running,
    request: Request,
    events: TrialEvents,
    monitor: Monitor,
    observer: ExecutionObserver,
    zero: float,
) -> tuple[Exit | None, tuple[Outcome, str] | None]:
    """(exit, None) when it ended by itself; (None, verdict) when it must be stopped."""
    size_check_at = zero + _SIZE_CHECK_S
    while True:
        exit = running.wait(_POLL_S)
        for event in events.new():
            observer.event(event)
        observer.tick(monitor)
        if exit is not None:
            return exit, None
        now = time.monotonic()
        if monitor.lost_gpu is not None:
            lost = f"GPU {monitor.lost_gpu} vanished while it ran: the driver has lost it."
            return None, (Outcome.GPU_LOST, lost)
        if events.violation:
            return None, (Outcome.CRASHED, f"It wrote {events.violation}.")
        limit = request.limits.seconds
        if limit is not None and now - zero > limit:
            return None, (Outcome.TIMEOUT, f"It reached its time limit of {limit:g} s.")
        if now >= size_check_at:
            size_check_at = now + _SIZE_CHECK_S
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
