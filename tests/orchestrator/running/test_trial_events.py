"""Events are believed only as far as they are events."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from dlbench.campaigns.outcomes import Outcome
from dlbench.running import trial_events
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


PROGRESS = {"event": "progress", "epoch": 1, "step": 1, "steps": 9}


def test_a_little_is_read_at_a_time_and_the_rest_at_the_end(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    source.write_bytes(20_000 * (line(**PROGRESS) + b"\n") + line(event="end") + b"\n")
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    first = len(list(follower.new()))
    assert 0 < first < 10_000
    assert first + len(list(follower.rest(None))) == 20_001
    assert follower.verdict is None
    assert [event.kind for event in follower.seen] == ["end"], "progress need not be kept"
    follower.close()
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 20_001


def test_the_rest_is_read_only_for_so_long(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    source.write_bytes(20_000 * (line(**PROGRESS) + b"\n"))
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    assert 0 < len(list(follower.rest(0.0))) < 10_000


def test_too_many_bytes_are_not_even_read(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    with source.open("wb") as file:
        file.truncate(1 << 40)
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    assert list(follower.new()) == []
    assert follower.verdict == (
        Outcome.OUTPUT_LIMIT,
        "It wrote more than 33,554,432 bytes of events.",
    )


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("MOST_EVENTS", "more than 3 events"),
        ("MOST_EPOCHS", "more than 3 epochs"),
        ("MOST_STEPS", "more than 3 step times"),
    ],
)
def test_too_many_of_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    monkeypatch.setattr(trial_events, limit, 3)
    source = tmp_path / "raw.jsonl"
    epoch = {"epoch": 1, "loss": 1, "steps_ms": [1], "metrics": {}, "train_s": 0, "first": 0}
    source.write_bytes(5 * (line(event="epoch", **epoch) + b"\n"))
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    assert len(list(follower.new())) == 3
    assert follower.verdict == (Outcome.OUTPUT_LIMIT, f"It wrote {words}.")


def test_unknown_keys_are_in_the_file_but_not_in_memory(tmp_path: Path) -> None:
    source = tmp_path / "raw.jsonl"
    source.write_bytes(line(event="phase", phase="load", seconds=1, other=[[]]) + b"\n")
    follower = TrialEvents(source, tmp_path / "events.jsonl", zero=0.0)
    (event,) = follower.new()
    assert event.fields["other"] == [[]]
    assert follower.seen[0].fields == {"phase": "load", "seconds": 1}
    follower.close()
    assert json.loads((tmp_path / "events.jsonl").read_text())["other"] == [[]]
