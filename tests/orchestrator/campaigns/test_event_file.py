"""events.jsonl of one trial."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlbench.campaigns.event_file import read_events
from dlbench.errors import UserError
from dlbench.formats import Event

_PHASE = Event(1.0, "phase", {"phase": "import", "seconds": 0.5})
_HELLO = Event(0.1, "hello", {"bench": '"event":"phase"', "python": "3.11", "pid": 1})


def test_events_of_some_kinds_without_torn_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [_HELLO.line(), _PHASE.line(), '{"v":1,"t":2,"event":"pha']
    path.write_text("\n".join(lines))
    assert read_events(path) == [_HELLO, _PHASE]
    assert read_events(path, "phase") == [_PHASE]
    assert read_events(path, "epoch", "hello") == [_HELLO]


def test_no_file_has_no_events_and_a_pipe_is_refused(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none") == []
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is a pipe"):
        read_events(tmp_path / "pipe")
