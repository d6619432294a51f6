"""Reads the events file of one running trial, line by line, and trusts nothing in it.

The trial writes `out/events.jsonl`; what proves to be an event is copied to the campaign's own
`events.jsonl`, its time counted from the trial's launch. The first line that is not an event ends
the reading: nothing after it is believed. (campaigns/follower.py follows a whole campaign that
another process runs.)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dlbench.engines.outfolder import open_regular
from dlbench.formats import LONGEST_LINE, BadEvent, Event, parse_event

_PIECE = 1 << 20
_OTHER_CLOCK_S = 60.0


class TrialEvents:
    """Each call of `new` reads the new events; it never waits."""

    def __init__(self, source: Path, target: Path, zero: float) -> None:
        self._source, self._zero = source, zero
        self._reading: BinaryIO | None = None
        self._writing = target.open("a", encoding="utf-8")
        self._rest = b""
        self.seen: list[Event] = []
        """All events so far."""
        self.violation: str | None = None
        """What was wrong with the first line that was not an event."""

    def new(self) -> Iterator[Event]:
        """The events since the last time."""
        if self._reading is None:
            try:
                self._reading = open_regular(self._source)
            except FileNotFoundError:
                return
            except OSError as error:
                self.violation = self.violation or f"an events file that can't be read ({error})"
        while self.violation is None and self._reading is not None:
            piece = self._reading.read(_PIECE)
            if not piece:
                break
            *lines, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > LONGEST_LINE:
                self.violation = f"a line longer than {LONGEST_LINE:,} bytes"
            for line in lines:
                try:
                    event = self._timed(parse_event(line))
                except BadEvent as error:
                    self.violation = str(error)
                    break
                self._writing.write(event.line() + "\n")
                self.seen.append(event)
                yield event
        self._writing.flush()

    def _timed(self, event: Event) -> Event:
        now = time.monotonic()
        if event.kind == "hello" and abs(now - event.t) > _OTHER_CLOCK_S:
            # another kernel (a virtual machine, a remote daemon): its clock is set by this moment
            self._zero += event.t - now
        return Event(event.t - self._zero, event.kind, event.fields)

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
        self._writing.close()
