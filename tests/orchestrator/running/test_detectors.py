"""The detector, trained for real in every framework: the same losses, which fall.

Its graph is the one of the certificate, in small images of made-up shapes.
"""

from __future__ import annotations

import functools
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dlbench.campaigns.event_file import read_events
from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import releases
from dlbench.planning import plan
from dlbench.planning.choices import Choices
from dlbench.running import jobs
from dlbench.running.execute import execute
from dlbench.running.workshop import open_workshop
from dlbench.workloads import find
from tests.orchestrator.running.test_named_releases import environment_of

WORKLOAD = "voc2012-faster-rcnn"
ROWS, EPOCHS = 20, 3
REFERENCE = "numpy@2.4.6"
RELEASES = (
    # slow to compile, so they come first
    "theano@1.0.2", "jax@0.12.0.1", "keras@2.2.4", "keras@3.15.1-tensorflow",
    "tensorflow@1.11.0", "tensorflow@2.21.0", "pytorch@1.0.0", "pytorch@2.13.0", "mxnet@1.3.0",
    "mxnet@1.9.1", "chainer@4.5.0", "chainer@7.8.1", "paddlepaddle@3.3.1",
)  # fmt: skip
ALWAYS = ("pytorch@2.13.0",)


@dataclass(frozen=True)
class Training:
    losses: list[float]
    """The first ones."""
    epochs: list[float]
    """The mean loss of each epoch."""
    result: dict[str, Any]
    path: dict[str, Any]


@functools.cache
def train(name: str) -> Training:
    release, environment = releases.find(name), environment_of(name)
    choices = Choices(
        frameworks=(name,), workloads=(WORKLOAD,), repeats=1, epochs=EPOCHS, rows=ROWS,
        threads="1", data="synthetic", sweep=("size=small",),
    )  # fmt: skip
    (trial,) = plan.draft(choices, "process").trials
    data = store.prepare(find_dataset(find(WORKLOAD).dataset), "proof")
    job = jobs.job_of(trial, data)
    job["graph"] = find(WORKLOAD).proof_graph
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "trial"
        request = jobs.request_of(
            replace(trial, id=release.name.replace("@", "-"), seconds=900.0), job, data,
            folder=folder, environment=environment, campaign=f"test-{uuid.uuid4().hex}",
        )  # fmt: skip
        ended = execute(open_workshop("process").engine, request, folder)
        assert ended.outcome is Outcome.OK, [ended.reason, *log_tail(request.log)]
        events = {kind: [event.fields for event in read_events(folder / "events.jsonl", kind)]
                  for kind in ("epoch", "result", "model")}  # fmt: skip
    return Training(
        events["epoch"][0]["first_losses"],
        [epoch["loss"] for epoch in events["epoch"]],
        events["result"][0],
        events["model"][0]["path"],
    )


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.slow) for name in RELEASES],
)
def test_a_detector_learns_the_same_in_every_framework(name: str) -> None:
    found, reference = train(name), train(REFERENCE)
    assert len(found.losses) == ROWS
    assert found.losses == pytest.approx(reference.losses, rel=1e-3)
    assert found.epochs[-1] < 0.7 * found.epochs[0], "the loss falls"
    assert set(found.result["metrics"]) == {
        "average-precision", "average-precision-11", "boxes-found",
    }  # fmt: skip
    assert found.path["image sizes"] == 2
    assert 0 < found.path["padding"] < 1
    parts = found.result["forward_ms"], found.result["backward_ms"]
    assert len(parts[0]) == len(parts[1]) >= 3
    assert all(ms > 0 for times in parts for ms in times)
