"""Reads `events.jsonl` of one trial. `bulk_lines` reads those of many trials at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from dlbench.campaigns.plain_files import read_file
from dlbench.formats import BadEvent, Event, parse_event


def read_events(path: Path, *kinds: str) -> list[Event]:
    """What the trial reported, `t` in seconds since its launch; only `kinds`, if any are given.

    Lines that are not events, such as the torn last line of a trial that was ended, are left out.
    """
    lines = (read_file(path) or b"").split(b"\n")
    if not kinds:
        return list(parse_events(lines))
    marks = [event_mark(kind) for kind in kinds]
    marked = (line for line in lines if any(mark in line for mark in marks))
    return [event for event in parse_events(marked) if event.kind in kinds]


def parse_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """The lines that are events."""
    for line in lines:
        with suppress(BadEvent):
            yield parse_event(line)


def event_mark(kind: str) -> bytes:
    """What stands in every line of an event of this kind: other lines need not be parsed."""
    return f'"event":"{kind}"'.encode()
