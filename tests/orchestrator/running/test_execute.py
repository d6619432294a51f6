"""One request from launch to end, with a small program in bench's place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.engines.base import Engine, Limits, Request
from dlbench.engines.process import ProcessEngine
from dlbench.engines.refusals import GpuRefused
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import read_samples
from dlbench.running.execute import execute

_WRITES = """
import json, sys, time
def event(kind, **fields):
    line = json.dumps(dict(fields, v=1, t=time.monotonic(), event=kind)) + "\\n"
    with open(sys.argv[3] + "/events.jsonl", "a") as file:
        file.write(line)
event("hello", bench="1", python="3", pid=1)
"""
_RESULT = 'event("result", metrics={}, loss=0.5, epochs=1, steps=1, samples=1); event("end")\n'


def request(folder: Path, program: str, limits: Limits | None = None) -> Request:
    for name in ("bench", "data", "out"):
        (folder / name).mkdir()
    (folder / "bench/__init__.py").touch()
    (folder / "bench/__main__.py").write_text(_WRITES + program)
    (folder / "job.json").write_text("{}")
    return Request(
        trial="t", campaign="test-execute", environment=sys.executable, bench=folder / "bench",
        job=folder / "job.json", data=folder / "data", out=folder / "out",
        log=folder / "log.txt", limits=limits or Limits(seconds=60),
    )  # fmt: skip


def test_everything_is_observed_and_kept(tmp_path: Path) -> None:
    seen: list[Event] = []
    ticks: list[Monitor] = []
    wanted = request(tmp_path, f"print('a word'); time.sleep(0.3)\n{_RESULT}")
    execution = execute(
        ProcessEngine(), wanted, tmp_path, hz=10, on_event=seen.append, on_tick=ticks.append
    )
    assert execution.outcome is Outcome.OK, execution.reason
    assert seen == list(execution.events)
    assert [event.kind for event in seen] == ["hello", "result", "end"]
    assert ticks
    assert execution.wall_s >= 0.3
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 3
    samples = read_samples(tmp_path / "samples.jsonl")
    assert samples is not None
    assert (samples.hz, samples.totals is not None) == (10, True)
    assert log_tail(wanted.log) == ["a word"]


@pytest.mark.parametrize(
    ("program", "limits", "outcome", "words"),
    [
        ("time.sleep(60)", Limits(seconds=0.5), Outcome.TIMEOUT, "0.5 s"),
        ("sys.exit(3)", None, Outcome.CRASHED, "exit code 3"),
        ("event('nonsense'); time.sleep(60)", None, Outcome.INVALID, "unknown event"),
    ],
)
def test_a_bad_end_keeps_what_was_reached(
    tmp_path: Path, program: str, limits: Limits | None, outcome: Outcome, words: str
) -> None:
    execution = execute(ProcessEngine(), request(tmp_path, program, limits), tmp_path)
    assert (execution.outcome, words in execution.reason) == (outcome, True), execution.reason
    assert execution.wall_s < 50
    assert [event.kind for event in execution.events] in (["hello"], [])


@pytest.mark.parametrize(
    ("refusal", "outcome"),
    [
        (GpuRefused("There is no GPU.", "Add one."), Outcome.UNSUPPORTED),
        (UserError("No such image.", "Build it."), Outcome.CRASHED),
        (KeyboardInterrupt(), Outcome.INTERRUPTED),
    ],
)
def test_what_does_not_start_is_an_outcome(
    tmp_path: Path, refusal: BaseException, outcome: Outcome
) -> None:
    class Refusing(ProcessEngine):
        def start(self, request: Request):
            raise refusal

    engine: Engine = Refusing()
    execution = execute(engine, request(tmp_path, ""), tmp_path)
    assert execution.outcome is outcome
    assert execution.events == ()
    assert str(refusal) in execution.reason
