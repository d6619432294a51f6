"""The releases of the 2021 study and the newest of each line: certified and trained, for real.

Two at a time, because most of a certificate is one thread's work. The others are certified by
`dlbench verify`, which takes longer than a run of the tests may.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.proof.drawn import without_dropout
from bench.weights import digest, initial_weights
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import releases
from dlbench.planning import plan
from dlbench.planning.choices import Choices
from dlbench.planning.graph import Graph
from dlbench.running import jobs
from dlbench.running.certificates import Certificate, certify
from dlbench.running.execute import execute, log_tail
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
QUICK = (
    "tensorflow@1.11.0", "pytorch@1.0.0", "pytorch@2.13.0", "mxnet@1.3.0", "mxnet@1.9.1",
    "chainer@4.5.0", "chainer@7.8.1", "paddlepaddle@3.3.1", "numpy@2.4.6",
)  # fmt: skip
"""Certified on every workload; the others, which compile each model for long, on three graphs."""
SLOWEST = {
    "theano@1.0.2": ("digits-cnn", "proof-two-branch"),
    "theano@1.0.5": ("digits-cnn", "proof-encoder-decoder"),
}
"""Hundreds of runs of the C++ compiler for a graph: these two share the three between them."""
EVERY_NODE = ("digits-cnn", "proof-encoder-decoder", "proof-two-branch")
"""Between them they have every node there is."""


@dataclass(frozen=True)
class Seen:
    certificates: list[Certificate]
    losses: list[float]
    accuracy: float


@pytest.fixture(scope="module")
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Seen]]:
    """What came of each release."""
    every = [item for item in request.session.items if item.path == request.path]
    asked = {item.callspec.params["name"] for item in every if hasattr(item, "callspec")}
    folder = tmp_path_factory.mktemp("trials")
    with ThreadPoolExecutor(2) as pool:
        made = {
            name: pool.submit(_see, name, folder / name)
            for name in NAMED
            if name in asked | {"numpy@2.4.6"}
        }
        yield lambda name: made[name].result()
        for each in made.values():
            each.cancel()


def _see(name: str, folder: Path) -> Seen:
    workshop, release = open_workshop("process"), releases.find(name)
    environment = workshop.environment(release, "cpu")
    chosen = workloads() if name in QUICK else SLOWEST.get(name, EVERY_NODE)
    made = [certify(workshop, environment, release, find(workload)) for workload in chosen]
    return Seen(made, *_train(release, environment, folder))


def _train(release: releases.Release, environment: str, folder: Path) -> tuple[list[float], float]:
    """(the first losses, the last accuracy) on the real digits; dropout would differ by chance."""
    choices = Choices(frameworks=(release.name,), workloads=("digits-cnn",), repeats=1)
    (trial,) = plan.draft(choices, "process").trials
    data = store.prepare(find_dataset("digits"), "real")
    job = jobs.job_of(trial, data)
    job["graph"] = without_dropout(job["graph"])
    named = replace(trial, id=folder.name.replace("@", "-"), seconds=900.0)
    request = jobs.request_of(
        named, job, data,
        folder=folder, environment=environment, campaign=f"named-{os.getpid()}",
    )  # fmt: skip
    engine = open_workshop("process").engine
    ended = execute(engine, request, folder)
    assert ended.outcome is Outcome.OK, [ended.reason, *log_tail(request.log)]
    epochs = [event.fields for event in ended.events if event.kind == "epoch"]
    return epochs[0]["first_losses"], epochs[-1]["metrics"]["accuracy"]


@pytest.mark.parametrize("name", NAMED)
def test_is_certified(name: str, seen: Callable[[str], Seen]) -> None:
    made = seen(name).certificates
    assert {each.workload: each.first_fault for each in made if not each.passed} == {}
    for each in made:
        hashes = [check.detail for check in each.checks if check.name == "initial-weights"]
        assert hashes == [digest(initial_weights(find(each.workload).proof_graph, 1))]


@pytest.mark.parametrize("name", NAMED)
def test_trains_like_the_reference(name: str, seen: Callable[[str], Seen]) -> None:
    wanted, found = seen("numpy@2.4.6"), seen(name)
    assert len(found.losses) == 20
    assert found.losses == pytest.approx(wanted.losses, rel=1e-3)
    assert wanted.accuracy > 0.95
    assert found.accuracy == pytest.approx(wanted.accuracy, abs=0.015)


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


def test_three_graphs_have_every_node_of_all() -> None:
    used = {w: {node["op"] for node in find(w).graph["nodes"]} for w in workloads()}
    assert set.union(*used.values()) == set.union(*(used[w] for w in EVERY_NODE))
    assert all(hasattr(Graph, op) for op in set.union(*used.values()))
