"""Events that are in order one by one, and together could not have happened."""

from __future__ import annotations

from typing import Any

import pytest

from dlbench.formats import BadEvent, Event
from dlbench.running.event_order import EventOrder


def phase(t: float, seconds: float) -> Event:
    return Event(t, "phase", {"phase": "train", "seconds": seconds})


def test_predictions_take_no_more_time_than_there_was() -> None:
    order = EventOrder()
    fields = {"inference_ms": [1500.0], "latency_ms": [600.0] * 2}
    with pytest.raises(BadEvent, match=r"2\.700 s of predictions, 1\.000 s after its launch"):
        order.check(Event(1.0, "result", fields), 2.0)


def epoch(t: float, *steps_ms: float, train_s: float = 0.0) -> Event:
    return Event(t, "epoch", {"steps_ms": list(steps_ms), "train_s": train_s})


def event(t: float, kind: str, **fields: Any) -> Event:
    return Event(t, kind, fields)


HONEST = (
    event(0.5, "hello"), phase(1.0, 0.5), event(1.0, "stack"), event(1.5, "model"),
    event(2.0, "progress"), phase(3.0, 2.0), epoch(3.5, 1000, 900, train_s=2.0),
    event(4.0, "result"), event(4.0, "end"),
)  # fmt: skip


def test_an_honest_trial() -> None:
    order = EventOrder()
    for each in HONEST:
        order.check(each, now=5.0)
    assert (order.epochs, order.steps) == (1, 2)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([event(1, "end"), event(1, "result")], "behind the event 'end'"),
        ([event(1, "result"), epoch(2)], "behind the event 'result'"),
        ([event(1, "result"), event(1, "result")], "a second event 'result'"),
        ([event(1, "hello"), event(1, "hello")], "a second event 'hello'"),
        ([event(2, "hello"), event(1, "end")], "1.000 s after its launch"),
        ([event(-0.1, "hello")], "-0.100 s after its launch"),
        ([event(5.1, "hello")], "5.100 s after its launch"),
        ([phase(1, 0.9), phase(2, 2.2)], "3.100 s of phases, 2.000 s after its launch"),
        ([epoch(2, 3001)], "3.001 s of steps"),
        ([epoch(2, train_s=1.9), epoch(2, train_s=1.9)], "3.800 s of training"),
    ],
)
def test_forged(events: list[Event], words: str) -> None:
    order = EventOrder()
    *before, last = events
    for each in before:
        order.check(each, now=5.0)
    with pytest.raises(BadEvent) as caught:
        order.check(last, now=5.0)
    assert words in str(caught.value)
