"""The releases of the 2021 study and the newest of each line: certified and trained, for real.

One test is one certificate or one training. Without `--all` two frameworks and the reference are
done, on three graphs. The releases that are not here are certified by `dlbench verify`, which
takes longer than a run of the tests may.
"""

from __future__ import annotations

import functools
import os
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bench.proof.drawn import without_dropout
from bench.weights import digest, initial_weights
from dlbench.campaigns.event_file import read_events
from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import interpreters, releases
from dlbench.errors import UserError
from dlbench.planning import plan
from dlbench.planning.choices import Choices
from dlbench.planning.graph import Graph
from dlbench.running import jobs
from dlbench.running.certificates import certify
from dlbench.running.execute import execute
from dlbench.running.workshop import open_workshop
from dlbench.workloads import find, workloads

NAMED = (
    # slow to compile, so they come first
    "theano@1.0.2", "keras@2.2.4", "theano@1.0.5", "jax@0.12.0.1", "keras@3.15.1-jax",
    # what else the study of 2021 compared
    "tensorflow@1.11.0", "pytorch@1.0.0", "mxnet@1.3.0", "chainer@4.5.0",
    # the newest of the other lines
    "tensorflow@2.21.0", "keras@3.15.1-tensorflow", "keras@3.15.1-torch", "pytorch@2.13.0",
    "mxnet@1.9.1", "chainer@7.8.1", "paddlepaddle@3.3.1", "numpy@2.4.6",
)  # fmt: skip
ALWAYS = ("pytorch@2.13.0", "mxnet@1.9.1", "numpy@2.4.6")
"""Done without `--all`, too: quick to download and to certify."""
MORE = (
    "tensorflow@1.11.0", "pytorch@1.0.0", "pytorch@2.13.0", "mxnet@1.3.0", "mxnet@1.9.1",
    "chainer@4.5.0", "chainer@7.8.1", "paddlepaddle@3.3.1", "numpy@2.4.6",
)  # fmt: skip
"""Certified on every kind of model; the others, which compile for long, on three graphs."""
SLOWEST = {
    "theano@1.0.2": ("digits-cnn", "proof-two-branch"),
    "theano@1.0.5": ("proof-encoder-decoder",),
}
"""Hundreds of runs of the C++ compiler for a graph: these two share the three between them."""
EVERY_NODE = ("digits-cnn", "proof-encoder-decoder", "proof-two-branch")
"""Between them they have every node there is, but for the detector's own."""
DETECTOR = "voc2012-faster-rcnn"
EVERY_KIND = (
    *EVERY_NODE, "cifar10-cnn", "svhn-cnn", "imdb-lstm", "ptb-lstm", "jarvis-fcrn-10", DETECTOR,
)  # fmt: skip
"""All other workloads are such models in other sizes; `dlbench verify` certifies them."""
LONG = {"cifar10-cnn", "svhn-cnn", DETECTOR}
"""Up to a minute and a half each: in older releases they were proven by hand (docs/models.md)."""
OLDER = ("tensorflow@1.11.0", "pytorch@1.0.0", "mxnet@1.3.0", "chainer@4.5.0")
OWN_WAYS = {
    "mxnet@1.9.1": "fused", "tensorflow@1.11.0": "fused", "paddlepaddle@3.3.1": "static",
}  # fmt: skip
"""Other ways to train that treat a detector like no other: they are certified on it."""
REFERENCE = "numpy@2.4.6"
POOLS = ("intra_op", "inter_op", "openmp", "blas", "xla")
"""Pools that get as many threads as the trial has cores; others are left to the framework."""


def _slow_unless(always: bool) -> list[pytest.MarkDecorator]:
    return [] if always else [pytest.mark.slow]


CERTIFICATES = [
    pytest.param(
        name, workload, id=f"{name}:{workload}",
        marks=_slow_unless(name in ALWAYS and workload in EVERY_NODE),
    )
    for name in NAMED
    for workload in (EVERY_KIND if name in MORE else SLOWEST.get(name, EVERY_NODE))
    if not (name in OLDER and workload in LONG)
]  # fmt: skip
TRAININGS = [
    pytest.param(name, marks=_slow_unless(name in ALWAYS)) for name in NAMED if name != REFERENCE
]


@functools.cache
def environment_of(name: str) -> str:
    """The release's environment. Without its Python the test is skipped, or fails in CI."""
    release = releases.find(name)
    try:
        interpreters.find(release.python)
    except UserError as error:
        if "python" in os.environ.get("DLBENCH_TEST_REQUIRE", ""):
            raise
        pytest.skip(f"{error.problem} {error.remedy}")
    return open_workshop("process").environment(release, "cpu")


@dataclass(frozen=True)
class Training:
    first_losses: list[float]
    accuracy: float
    stack: dict[str, Any]
    threads: int | None


def train(name: str, folder: Path) -> Training:
    """On the real digits, without dropout, which would differ by chance."""
    release, environment = releases.find(name), environment_of(name)
    choices = Choices(frameworks=(release.name,), workloads=("digits-cnn",), repeats=1)
    (trial,) = plan.draft(choices, "process").trials
    data = store.prepare(find_dataset("digits"), "real")
    job = jobs.job_of(trial, data)
    job["graph"] = without_dropout(job["graph"])
    named = replace(trial, id=name.replace("@", "-"), seconds=900.0)
    request = jobs.request_of(
        named, job, data,
        folder=folder / "trial", environment=environment, campaign=f"test-{uuid.uuid4().hex}",
    )  # fmt: skip
    engine = open_workshop("process").engine
    ended = execute(engine, request, folder / "trial")
    assert ended.outcome is Outcome.OK, [ended.reason, *log_tail(request.log)]
    written = read_events(folder / "trial/events.jsonl", "epoch")  # with every key
    epochs = [event.fields for event in written]
    (stack,) = read_events(folder / "trial/events.jsonl", "stack")
    return Training(
        epochs[0]["first_losses"], epochs[-1]["metrics"]["accuracy"], stack.fields, trial.threads
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Training:
    return train(REFERENCE, tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize(("name", "workload"), CERTIFICATES)
def test_is_certified(name: str, workload: str) -> None:
    environment = environment_of(name)
    certificate = certify(
        open_workshop("process"), environment, releases.find(name), find(workload)
    )
    assert certificate.passed, certificate.first_fault
    weights = digest(initial_weights(find(workload).proof_graph, 1))
    details = {check.name: check.detail for check in certificate.checks}
    assert details["initial-weights"] == weights


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), OWN_WAYS.items(), ids=":".join)
def test_a_detector_is_certified(name: str, variant: str) -> None:
    environment, release = environment_of(name), releases.find(name)
    workshop, workload = open_workshop("process"), find(DETECTOR)
    certificate = certify(workshop, environment, release, workload, variant=variant)
    assert certificate.passed, certificate.first_fault


@pytest.mark.parametrize("name", TRAININGS)
def test_trains_like_the_reference(name: str, reference: Training, tmp_path: Path) -> None:
    training = train(name, tmp_path)
    assert len(training.first_losses) == 20
    assert training.first_losses == pytest.approx(reference.first_losses, rel=1e-3)
    assert reference.accuracy > 0.95
    assert training.accuracy == pytest.approx(reference.accuracy, abs=0.015)
    # every pool is as large as the trial was given cores, in whatever way the framework takes it
    pools = {k: v for k, v in training.stack["pools"].items() if k in POOLS}
    assert pools and set(pools.values()) == {training.threads} == {training.stack["threads"]}
    assert len(training.stack["affinity"]) == training.stack["cores"]
    assert training.stack["cores"] <= training.threads


@pytest.mark.docker
def test_is_certified_in_docker(docker_client: object) -> None:
    workshop, release = open_workshop("docker"), releases.find("numpy@2.4.6")
    environment = workshop.environment(release, "cpu")
    for workload in ("digits-cnn", "proof-encoder-decoder"):
        assert certify(workshop, environment, release, find(workload)).passed


def test_every_named_release_is_there() -> None:
    assert set(NAMED) <= {release.name for release in releases.load_releases()}
    for framework in {name.split("@")[0] for name in NAMED}:
        assert releases.find(framework).name in NAMED  # the newest is among them


def test_three_graphs_and_the_detector_have_every_node_of_all() -> None:
    used = {w: {node["op"] for node in find(w).graph["nodes"]} for w in workloads()}
    assert set.union(*used.values()) == set.union(*(used[w] for w in (*EVERY_NODE, DETECTOR)))
    assert all(hasattr(Graph, op) for op in set.union(*used.values()))
