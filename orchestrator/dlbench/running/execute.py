"""Runs one request in one environment, from launch to end: engine, monitor and events together.

Nothing that a trial does ends more than that trial: it is stopped at its time limit, when it writes
more than it may, and when it writes something that is not an event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dlbench.campaigns.outcomes import Outcome, classify
from dlbench.engines.base import Engine, Exit, Request, Scope
from dlbench.engines.refusals import DaemonGone, GpuRefused
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.rate import DEFAULT_HZ
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.source import StatsStream
from dlbench.running.output_use import OutputUse
from dlbench.running.trial_events import TrialEvents

_POLL_S = 0.1
_GRACE_S = 0.25
"""For a trial that must be stopped; one that the user interrupts gets the engine's own."""
_DRAIN_S = 0.5
"""For reading what it wrote last, where that can't change its outcome any more."""
_INTERRUPTED = Outcome.INTERRUPTED, "Interrupted by the user."


@dataclass(frozen=True)
class Execution:
    outcome: Outcome
    reason: str
    started: str
    wall_s: float
    events: tuple[Event, ...]
    scope: Scope | None = None
    """Where it ran; None: it could not be started."""


def _ignore(_: object) -> None:
    """Nobody looks."""


def execute(
    engine: Engine,
    request: Request,
    folder: Path,
    *,
    hz: float = DEFAULT_HZ,
    stats: Callable[[str], StatsStream] | None = None,
    on_event: Callable[[Event], None] = _ignore,
    on_tick: Callable[[Monitor], None] = _ignore,
) -> Execution:
    """Run the request to its end; `folder` gets its samples.jsonl and events.jsonl. `on_event` is
    called for each event that the trial writes, `on_tick` about ten times a second.

    Ctrl-C ends it as `interrupted`; the caller decides what comes next."""
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
        return execution(*_INTERRUPTED)
    exit: Exit | None = None
    verdict: tuple[Outcome, str] | None = None
    with ExitStack() as closing:
        closing.callback(running.close)
        stream = stats(running.scope.container) if stats and running.scope.container else None
        monitor = Monitor(running.scope, folder / "samples.jsonl", hz, zero, request.gpus, stream)
        closing.callback(lambda: monitor.stop(exit))
        events = TrialEvents(request.out / "events.jsonl", folder / "events.jsonl", zero)
        closing.callback(events.close)
        output = OutputUse(request, running)
        try:
            monitor.start()
            while exit is None and verdict is None:
                exit = running.wait(_POLL_S)
                for event in events.new():
                    on_event(event)
                on_tick(monitor)
                if exit is None:
                    verdict = _to_be_stopped(request, events, output, monitor, zero)
        except KeyboardInterrupt:
            verdict = _INTERRUPTED
        if exit is None:
            exit = running.stop() if verdict == _INTERRUPTED else running.stop(_GRACE_S)
        for event in events.rest(_DRAIN_S if verdict else None):
            on_event(event)
    if verdict is None and monitor.lost_gpu is not None and exit.code != 0:
        # The trial often ends with an error of its own before the next sample shows why.
        verdict = Outcome.GPU_LOST, f"GPU {monitor.lost_gpu} vanished: the driver has lost it."
    verdict = verdict or events.verdict or classify(exit, events.seen)
    if output.is_over_at_end() and verdict != _INTERRUPTED:
        verdict = _too_much(request)
    if verdict[0] is Outcome.OUTPUT_LIMIT:
        output.clear()
    return replace(execution(*verdict, events.seen), scope=running.scope)


def _to_be_stopped(
    request: Request, events: TrialEvents, output: OutputUse, monitor: Monitor, zero: float
) -> tuple[Outcome, str] | None:
    """How a running trial ends because it must be stopped; None: it may go on."""
    now = time.monotonic()
    if monitor.lost_gpu is not None:
        lost = f"GPU {monitor.lost_gpu} vanished while it ran: the driver has lost it."
        return Outcome.GPU_LOST, lost
    if events.verdict:
        return events.verdict
    limit = request.limits.seconds
    if limit is not None and now - zero > limit:
        return Outcome.TIMEOUT, f"It reached its time limit of {limit:g} s."
    return _too_much(request) if output.is_over(now) else None


def _too_much(request: Request) -> tuple[Outcome, str]:
    allowed = request.limits.output_bytes
    reason = f"It wrote more than {allowed:,} bytes of output, or files and folders without end."
    return Outcome.OUTPUT_LIMIT, reason
