"""Events are believed only as far as they are events."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from dlbench.campaigns.outcomes import Outcome
from dlbench.running.trial_events import TrialEvents


def line(**fields: object) -> bytes:
    return json.dumps({"v": 1, "t": 5.0, **fields}).encode()


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=2.0)
    assert list(follower.new()) == []
    whole = line(event="end")
    source.write_bytes(whole[:10])
    assert list(follower.new()) == []
    with source.open("ab") as file:
        file.write(whole[10:] + b"\n")
    (event,) = follower.new()
    assert (event.kind, event.t) == ("end", 3.0)
    follower.close()
    assert json.loads((tmp_path / "events.jsonl").read_text())["t"] == 3.0


def test_nothing_behind_garbage_is_believed(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    phase = line(event="phase", phase="load", seconds=1)
    source.write_bytes(phase + b"\nrubbish\n" + phase + b"\n")
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    assert len(list(follower.new())) == 1
    assert follower.verdict is not None
    assert follower.verdict[0] is Outcome.INVALID
    assert "rubbish" in follower.verdict[1]
    assert list(follower.new()) == []


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(line(event="end") + b"\n")
    link = tmp_path / "raw.jsonl"
    link.symlink_to(secret)
    follower = TrialEvents(link, tmp_path / "events.jsonl", zero=0.0)
    assert list(follower.new()) == []
    assert follower.verdict is not None
    assert follower.verdict[0] is Outcome.INVALID


def test_another_kernels_clock(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    zero = time.monotonic()
    foreign = zero + 1e6
    hello = {"v": 1, "t": foreign, "event": "hello", "bench": "1", "python": "3.6", "pid": 1}
    end = {"v": 1, "t": foreign + 2, "event": "end"}
    source.write_text(json.dumps(hello) + "\n" + json.dumps(end) + "\n")
    events = list(TrialEvents(source, tmp_path / "events.jsonl", zero).new())
    assert 0 <= events[0].t < 60
    assert events[1].t - events[0].t == pytest.approx(2)
