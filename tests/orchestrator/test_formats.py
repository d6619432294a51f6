"""Events are believed only as far as they are events; versions that nobody knows are refused."""

from __future__ import annotations

import json

import pytest

from dlbench.errors import UserError
from dlbench.formats import BadEvent, canonical, check_version, digest, parse_event


def line(**fields: object) -> bytes:
    return json.dumps({"v": 1, "t": 5.0, **fields}).encode()


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"[]",
        b"null",
        b'{"v": 2, "t": 1, "event": "end"}',
        b'{"v": 1, "event": "end"}',
        b'{"v": 1, "t": true, "event": "end"}',
        b'{"v": 1, "t": 1, "event": ["end"]}',
        line(event="phase", phase="train"),
        line(event="phase", phase="train", seconds="long"),
        line(event="epoch", epoch=1, loss=1, steps_ms=[-1], metrics={}, train_s=1, first=0),
        line(event="epoch", epoch=1, loss=1, steps_ms=["x"], metrics={}, train_s=1, first=0),
        line(event="check", name="forward", passed="yes"),
        b"[" * 100_000,
        b'{"v": 1, "t": 1, "event": "end", "x": "' + b"x" * (5 << 20) + b'"}',
    ],
)
def test_bad_lines(bad: bytes) -> None:
    with pytest.raises(BadEvent):
        parse_event(bad)


def test_a_lost_loss_can_be_written() -> None:
    raw = b'{"v":1,"t":1,"event":"epoch","epoch":1,"loss":NaN,"steps_ms":[],"metrics":{},'
    assert parse_event(raw + b'"train_s":1,"first":0}').fields["loss"] != 0


def test_an_event_is_written_as_it_was_read() -> None:
    event = parse_event(line(event="phase", phase="train", seconds=2, other="kept"))
    assert (event.t, event.kind, event.fields["other"]) == (5.0, "phase", "kept")
    assert parse_event(event.line().encode()) == event


@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
def test_unknown_versions_are_refused(version: object) -> None:
    with pytest.raises(UserError) as caught:
        check_version({"v": version}, 1, "trial.json")
    assert f"trial.json has format version {version}" in caught.value.problem
    assert "this dlbench reads version 1" in caught.value.problem
    assert caught.value.remedy


def test_a_version_is_missing_only_where_that_is_allowed() -> None:
    check_version({"v": 1}, 1, "trial.json")
    check_version({}, 1, "plan.jsonl", missing=1)
    with pytest.raises(UserError, match=r"trial\.json has format version None"):
        check_version({}, 1, "trial.json")
    with pytest.raises(UserError, match=r"plan\.jsonl has format version 1"):
        check_version({}, 2, "plan.jsonl", missing=1)


def test_equal_content_has_one_spelling() -> None:
    assert canonical({"b": [1], "a": "ä"}) == '{"a":"\\u00e4","b":[1]}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 2, "b": 2})
