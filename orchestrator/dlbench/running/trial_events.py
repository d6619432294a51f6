"""Reads the events file of one running trial, line by line, and trusts nothing in it.

The trial writes `out/events.jsonl`; what proves to be an event is copied to the campaign's own
`events.jsonl`, its time counted from the trial's launch. The first line that is not an event ends
the reading: nothing after it is believed. Each call reads a little, and all of them together no
more than the budget, so that no flood of events keeps the caller from its other duties.
(campaigns/follower.py follows a whole campaign that another process runs.)
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dlbench.campaigns.outcomes import Outcome
from dlbench.engines.outfolder import open_regular
from dlbench.event_fields import EVENTS
from dlbench.formats import LONGEST_LINE, BadEvent, Event, parse_event
from dlbench.running.event_order import EventOrder

MOST_BYTES = 32 << 20
"""The budget of a trial. Weeks of progress and a million step times, which is all that an honest
one sends (bench/step_sample.py), take half of it."""
MOST_EVENTS = 200_000
MOST_EPOCHS = 50_000
MOST_STEPS = 4_000_000
_PIECE = 256 << 10
_CLOCK_SLACK_S = 1.0
_OTHER_CLOCK_SLACK_S = 60.0
_REPEATED = frozenset({"phase", "epoch", "check"})


class TrialEvents:
    """Each call of `new` reads the next events; it never waits."""

    def __init__(self, source: Path, target: Path, zero: float) -> None:
        self._source, self._launch, self._zero = source, zero, zero
        self._reading: BinaryIO | None = None
        self._writing = target.open("a", encoding="utf-8")
        self._rest = b""
        self._bytes = self._events = 0
        self._order = EventOrder()
        self._slack = _CLOCK_SLACK_S
        self.seen: list[Event] = []
        """What results are made of: all events so far but `progress`, without unknown keys."""
        self.verdict: tuple[Outcome, str] | None = None
        """How the trial ends because of what it wrote, if it does, and why."""

    def new(self) -> Iterator[Event]:
        """The next events: those in the next 256 KiB of the file."""
        for line in self._lines():
            try:
                event = self._timed(parse_event(line))
                self._order.check(event, time.monotonic() - self._launch + self._slack)
            except BadEvent as error:
                self._refuse(Outcome.INVALID, str(error))
                break
            self._events += 1
            if too_many := self._too_many():
                self._refuse(Outcome.OUTPUT_LIMIT, too_many)
                break
            self._writing.write(event.line() + "\n")
            self._keep(event)
            yield event
        self._writing.flush()

    def rest(self, seconds: float | None) -> Iterator[Event]:
        """The events that are left when the trial has ended; at most for `seconds`, if given."""
        end = None if seconds is None else time.monotonic() + seconds
        before = -1
        while before < self._bytes and self.verdict is None:
            before = self._bytes
            yield from self.new()
            if end is not None and time.monotonic() > end:
                return

    def _lines(self) -> list[bytes]:
        """The next whole lines, within the budget."""
        if self._reading is None:
            try:
                self._reading = open_regular(self._source)
            except FileNotFoundError:
                return []
            except OSError as error:
                self._refuse(Outcome.INVALID, f"an events file that can't be read ({error})")
        if self.verdict is not None or self._reading is None:
            return []
        # The size is looked at first: what will be too much need not be read.
        if os.fstat(self._reading.fileno()).st_size > MOST_BYTES:
            self._refuse(Outcome.OUTPUT_LIMIT, f"more than {MOST_BYTES:,} bytes of events")
            return []
        piece = self._reading.read(_PIECE)
        self._bytes += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._refuse(Outcome.INVALID, f"a line longer than {LONGEST_LINE:,} bytes")
        return lines

    def _too_many(self) -> str | None:
        for most, count, what in (
            (MOST_EVENTS, self._events, "events"),
            (MOST_EPOCHS, self._order.epochs, "epochs"),
            (MOST_STEPS, self._order.steps, "step times"),
        ):
            if count > most:
                return f"more than {most:,} {what}"
        return None

    def _refuse(self, outcome: Outcome, what: str) -> None:
        self.verdict = self.verdict or (outcome, f"It wrote {what}.")

    def _timed(self, event: Event) -> Event:
        now = time.monotonic()
        if event.kind == "hello" and not self._zero <= event.t <= now:
            # another kernel (a virtual machine, a remote daemon): its clock is set by this moment
            self._zero += event.t - now
            self._slack = _OTHER_CLOCK_SLACK_S
        return Event(event.t - self._zero, event.kind, event.fields)

    def _keep(self, event: Event) -> None:
        if event.kind in _REPEATED:
            known = {key: event.fields.get(key) for key in EVENTS[event.kind]}
            event = Event(event.t, event.kind, known)
        if event.kind != "progress":
            self.seen.append(event)

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
        self._writing.close()
