"""Events are believed only as far as they are events; versions that nobody knows are refused."""

from __future__ import annotations

import json
import math

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
        b"[" * 10_000,
        b"[" * 100_000,
        b'{"v": 1, "t": 1, "event": "end", "x": "' + b"x" * (5 << 20) + b'"}',
    ],
)
def test_bad_lines(bad: bytes) -> None:
    with pytest.raises(BadEvent):
        parse_event(bad)


HUGE = 10**400
EPOCH = {
    "event": "epoch", "epoch": 1, "loss": 0.5, "steps_ms": [1.5, 2], "metrics": {"accuracy": 0.5},
    "train_s": 1.5, "first": 1,
}  # fmt: skip
SAMPLED = {**EPOCH, "steps": 4, "steps_s": 0.1, "every": 2}
PHASE = {"event": "phase", "phase": "train", "seconds": 1.5}
RESULT = {"event": "result", "metrics": {}, "loss": 1, "epochs": 1, "steps": 2, "samples": 3}
CHECK = {"event": "check", "name": "forward", "passed": True}


@pytest.mark.parametrize(
    ("event", "key", "value"),
    [
        *[(PHASE, "t", value) for value in (HUGE, -1.0, math.nan, math.inf, 2e9, None, "1")],
        *[(PHASE, "seconds", value) for value in (HUGE, -0.1, math.nan, 2e9, True, None)],
        *[(PHASE, "phase", value) for value in ("\ud800", "sleep", "", None, ["train"])],
        *[(EPOCH, "steps_ms", [value]) for value in (HUGE, -1, math.nan, 1e308, True, None, "1")],
        (EPOCH, "steps_ms", [1.0, math.nan, 2.0]),
        (EPOCH, "steps_ms", {"0": 1.0}),
        *[(EPOCH, "train_s", value) for value in (HUGE, -1, math.inf)],
        *[(EPOCH, "first", value) for value in (3, -1, HUGE, 1.5)],
        *[(SAMPLED, "steps", value) for value in (1, 6, 10**13, -1, None, 5.0)],
        *[(SAMPLED, "every", value) for value in (0, 1, 7, None, True)],
        *[(SAMPLED, "steps_s", value) for value in (-1, None, "1")],
        *[(EPOCH, "loss", value) for value in (HUGE, 1e200, "0.5", [])],
        *[(EPOCH, "metrics", {"accuracy": value}) for value in (-math.inf, 1.01, -0.1, HUGE, "1")],
        (EPOCH, "metrics", {"binary-accuracy": 2}),
        (EPOCH, "metrics", {"mean-squared-error": -1}),
        (EPOCH, "validation", {"accuracy": 2}),
        (RESULT, "best_epoch", -1),
        (RESULT, "train_metrics", {"accuracy": 2}),
        (RESULT, "metrics", {"greedy-accuracy": 1.5}),
        *[(RESULT, "latency_ms", value) for value in ([-1], [math.nan], {}, [1.0] * 10_001)],
        *[(RESULT, "inference_rows", value) for value in (-1, 1.5, "9")],
        (EPOCH, "metrics", {"other": HUGE}),
        *[(EPOCH, "metrics", {name: 1}) for name in ("\ud800", "=1+1", "<b>", "", "x" * 65)],
        (EPOCH, "metrics", {f"m{number}": 1 for number in range(101)}),
        *[(RESULT, key, HUGE) for key in ("loss", "epochs", "steps", "samples")],
        (RESULT, "samples", -1),
        (RESULT, "other", HUGE),
        (CHECK, "name", "../x"),
        (CHECK, "error", -1.0),
        (CHECK, "detail", 5),
    ],
)
def test_values_out_of_range(event: dict[str, object], key: str, value: object) -> None:
    parse_event(line(**event))
    with pytest.raises(BadEvent):
        parse_event(line(**{**event, key: value}))


def test_deep_nesting_is_a_bad_line() -> None:
    deep = b"[" * 700 + b"]" * 700
    with pytest.raises(BadEvent, match="levels deep"):
        parse_event(b'{"v":1,"t":1,"event":"end","x":' + deep + b"}")


@pytest.mark.parametrize("part", [b"{}", b"[]", b'""'])
def test_many_small_parts_are_a_bad_line(part: bytes) -> None:
    with pytest.raises(BadEvent, match="more than 20,000 lists, objects and texts"):
        parse_event(b'{"v":1,"t":1,"event":"end","x":[' + b",".join([part] * 20_001) + b"]}")


def test_what_trial_json_repeats_is_short() -> None:
    stack = {"event": "stack", "framework": "f", "version": "1"}
    parse_event(line(**stack, packages={"p": "x" * 1000}))
    with pytest.raises(BadEvent, match="stack"):
        parse_event(line(**stack, packages={str(i): "x" * 10_000 for i in range(30)}))


def test_what_an_honest_trial_could_not_compute_is_null() -> None:
    metrics = {"mean-squared-error": math.inf, "accuracy": math.nan, "perplexity": 1e300}
    astray = {**EPOCH, "loss": math.nan, "metrics": metrics, "validation": metrics}
    event = parse_event(line(**astray))
    assert event.fields["loss"] is None
    assert event.fields["metrics"] == dict.fromkeys(metrics)
    assert event.fields["validation"] == dict.fromkeys(metrics)
    assert parse_event(line(**CHECK, error=math.inf, node=None)).fields["error"] is None


def test_text_is_printable() -> None:
    error = parse_event(line(event="error", outcome="crashed", message="a\nb\x1b[31m\ud800"))
    assert error.fields["message"] == "a\nb\\x1b[31m\\ud800"


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
