"""Reads `events.jsonl` of one trial. `bulk_lines` reads those of many trials at once."""

from __future__ import annotations

from pathlib import Path

from dlbench.campaigns.plain_files import read_file
from dlbench.formats import BadEvent, Event, parse_event


def read_events(path: Path, *kinds: str) -> list[Event]:
    """What the trial reported, `t` in seconds since its launch; only `kinds`, if any are given.

    Lines that are not events, such as the torn last line of a trial that was ended, are left out.
    """
    marks = [event_mark(kind) for kind in kinds]
    events = []
    for line in (read_file(path) or b"").split(b"\n"):
        if not line or (marks and not any(mark in line for mark in marks)):
            continue
        try:
            event = parse_event(line)
        except BadEvent:
            continue
        if not kinds or event.kind in kinds:
            events.append(event)
    return events


def event_mark(kind: str) -> bytes:
    """What stands in every line of an event of this kind: other lines need not be parsed."""
    return f'"event":"{kind}"'.encode()
