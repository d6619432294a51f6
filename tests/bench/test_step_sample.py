"""Step times of long trials: which are written, and that every workload stays in its budget."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest

from bench import step_sample, trial
from dlbench import datasets
from dlbench.campaigns.trial_result import measure
from dlbench.formats import LONGEST_LINE, Event, parse_event
from dlbench.running import trial_events
from dlbench.workloads import workloads
from tests.bench.test_trial import _training

_DAYS = 60
_PROGRESS = 120
"""Bytes of one line of progress, and more."""
_EPOCH = 2000
"""Bytes of an epoch's events without its step times, and more."""


@pytest.mark.parametrize("name", sorted(workloads()))
def test_every_workload_at_full_size_stays_in_the_budget_of_events(name: str) -> None:
    workload = workloads()[name]
    rows, _ = datasets.find(workload.dataset).rows
    epochs = workload.recipe["epochs"]
    an_epoch = math.ceil(rows / workload.recipe["batch"])
    every = step_sample.every(an_epoch, epochs * an_epoch)
    warm = 1 + workload.recipe["warmup"]
    written = epochs * math.ceil(an_epoch / every) + warm
    a_time = len("86400000.1234,")
    seconds = _DAYS * 86400
    progress = trial._REPORTS * (1 + math.log(max(1, seconds / trial._REPORTS)))
    events = progress + 6 * epochs
    assert written < trial_events.MOST_STEPS / 2
    assert epochs < trial_events.MOST_EPOCHS / 2
    assert events < trial_events.MOST_EVENTS * 0.75
    assert written * a_time + progress * _PROGRESS + epochs * _EPOCH < trial_events.MOST_BYTES
    assert math.ceil(an_epoch / every) * a_time < LONGEST_LINE / 2


@pytest.mark.parametrize(
    ("an_epoch", "total", "every"),
    [(1, 1, 1), (468, 7020, 1), (8737, 26_211_000, 27), (1_000_000, 1_000_000, 10), (10**9, 7, 1)],
)
def test_all_are_written_until_they_are_too_many(an_epoch: int, total: int, every: int) -> None:
    assert step_sample.every(an_epoch, total) == every


@pytest.mark.parametrize("every", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("first", [0, 1, 4])
@pytest.mark.parametrize("steps", [1, 4, 20, 21, 22])
def test_the_host_counts_as_bench_does(every: int, first: int, steps: int) -> None:
    first = min(first, steps)
    times = [float(number) for number in range(steps)]
    kept = step_sample.sampled(times, first, every)
    assert kept[:first] == times[:first]
    apart = {after - before for before, after in zip(kept[first:], kept[first + 1 :], strict=False)}
    assert apart <= {every}
    event = {
        "v": 1, "t": 9, "event": "epoch", "epoch": 1, "loss": 1, "metrics": {}, "train_s": 1,
        "steps": steps, "steps_s": sum(times), "steps_ms": kept, "every": every, "first": first,
    }  # fmt: skip
    assert parse_event(json.dumps(event).encode()).fields["steps_ms"] == kept


def test_a_long_trial_tells_its_steps_its_mean_and_its_quantiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_sample, "MOST_IN_TRIAL", 8)
    monkeypatch.setattr(trial, "clock", _Clock())
    training, _, events = _training(epochs=3)  # 8 steps an epoch
    training.run()
    lines = [line for line in events.lines if line["event"] == "epoch"]
    assert [len(line["steps_ms"]) for line in lines] == [6 + 1, 3, 3]
    assert [line["every"] for line in lines] == [3, 3, 3]
    metrics = measure([Event(1.0, "epoch", _epoch(line)) for line in lines], {}, 5)
    assert metrics["steps"] == 24
    steady_s = sum(line["steps_s"] for line in lines) - sum(lines[0]["steps_ms"][:6]) / 1000
    assert metrics["step_ms_mean"] == pytest.approx(1000 * steady_s / 18, rel=1e-3)
    kept = [ms for line in lines for ms in line["steps_ms"][line["first"] :]]
    assert metrics["step_ms_median"] == pytest.approx(statistics.median(kept), abs=1e-5)


class _Clock:
    """Goes on by a second a look: every step would tell of its progress."""

    def __init__(self) -> None:
        self.t = 0.0

    def __call__(self) -> float:
        self.t += 1.0
        return self.t


def test_a_trial_of_days_tells_its_progress_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for so_far in (trial._REPORTS, 1):
        monkeypatch.setattr(trial, "_REPORTS", so_far)
        monkeypatch.setattr(trial, "clock", _Clock())
        training, _, events = _training(epochs=30)
        training.run()
        told.append(sum(line["event"] == "progress" for line in events.lines))
    assert told[0] == 240
    assert 0 < told[1] < 10


def _epoch(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != "event"}
