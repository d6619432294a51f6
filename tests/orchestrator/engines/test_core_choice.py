"""Which cores a trial is pinned to, in both engines; no daemon is needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dlbench.engines import container
from dlbench.engines.base import Limits, Request
from dlbench.engines.core_choice import choose_cores, read_place
from dlbench.engines.docker import DockerEngine

from .conftest import Bed

RequestFor = Callable[[str], Request]
SHOW = "import os; print(sorted(os.sched_getaffinity(0)))"


def pairs(core: int) -> tuple[int, ...]:
    """Four cores with two hyper-threads each, in two packages: 0 and 4 are one core, and so on."""
    return (core % 4 // 2, core % 4, core % 4 + 4)


def test_hyper_threads_come_last_and_packages_stay_together() -> None:
    every = range(8)
    assert choose_cores(every, 2, pairs) == (0, 1)
    assert choose_cores(every, 4, pairs) == (0, 1, 2, 3)
    assert choose_cores(every, 5, pairs) == (0, 1, 2, 3, 4)
    assert choose_cores(every, 99, pairs) == tuple(every)
    assert choose_cores({0, 4, 1, 5}, 2, pairs) == (0, 1)
    assert choose_cores({4, 5, 6}, 2, pairs) == (4, 5), "within what we may use ourselves"
    assert choose_cores({3}, 0, pairs) == (3,)


def test_neighbours_that_share_a_core_are_told_apart(tmp_path: Path) -> None:
    for core, siblings in enumerate(("0-1", "0-1", "2-3", "2,3")):
        folder = tmp_path / f"cpu{core}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
        (folder / "physical_package_id").write_text("0\n")
    assert choose_cores(range(4), 2, lambda core: read_place(core, tmp_path)) == (0, 2)
    assert read_place(9, tmp_path) == (0, 9), "a kernel that says nothing"
    (tmp_path / "cpu0/topology/thread_siblings_list").write_text("0-x")
    assert read_place(0, tmp_path) == (0, 0)


def test_a_process_is_pinned_and_says_where(process_bed: Bed, request_for: RequestFor) -> None:
    request = replace(request_for(SHOW), cores=1)
    running = process_bed.start(request)
    (core,) = choose_cores(os.sched_getaffinity(0), 1)
    assert (running.scope.pinned, running.scope.unpinned) == ((core,), "")
    assert running.scope.cpus == 1.0
    assert running.wait(60) is not None
    assert request.log.read_text() == f"[{core}]\n"


def test_a_quota_of_a_part_of_the_pinned_cores_holds(
    process_bed: Bed, request_for: RequestFor
) -> None:
    process_bed.need_control_groups(own=True)
    request = replace(request_for(SHOW), cores=1, limits=Limits(cpus=0.5))
    running = process_bed.start(request)
    assert len(running.scope.pinned) == 1 and running.scope.cpus == 0.5
    assert running.wait(60) is not None


def test_who_is_not_pinned_says_why(
    process_bed: Bed, request_for: RequestFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = process_bed.start(request_for(SHOW))
    assert free.scope.pinned == () and "No number of cores" in free.scope.unpinned
    assert free.wait(60) is not None

    def refuse(pid: int, cores: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    again = process_bed.start(replace(request_for(SHOW), cores=1, trial="refused"))
    assert again.scope.pinned == ()
    assert again.scope.unpinned == "The kernel refuses it (Operation not permitted)."
    assert again.scope.cpus == len(os.sched_getaffinity(0))
    assert again.wait(60) is not None


class Api:
    """A daemon that says what it is, and keeps what it is asked for."""

    def __init__(self, base_url: str = "http+docker://localhost", **info: Any) -> None:
        self.base_url = base_url
        self._info = {"NCPU": os.cpu_count(), "CPUSet": True, **info}
        self.asked: dict[str, Any] = {}

    def info(self) -> dict[str, Any]:
        return self._info

    def create_host_config(self, **asked: Any) -> dict[str, Any]:
        self.asked = asked
        return asked

    def create_container(self, **_: Any) -> dict[str, str]:
        return {"Id": "c"}


@pytest.mark.parametrize(
    ("api", "words"),
    [
        (Api(base_url="https://elsewhere:2376"), "another machine"),
        (Api(NCPU=4096), "another machine, or in a virtual one"),
        (Api(CPUSet=False), "can't pin"),
    ],
)
def test_a_daemon_that_can_not_pin_is_not_asked_to(
    api: Api, words: str, request_for: RequestFor
) -> None:
    engine = DockerEngine(SimpleNamespace(api=api))  # type: ignore[arg-type]
    cores, why = engine.pin(replace(request_for(SHOW), cores=1))
    assert cores == () and words in why


def test_a_container_gets_the_set_of_cores_and_keeps_its_quota(request_for: RequestFor) -> None:
    api = Api()
    engine = DockerEngine(SimpleNamespace(api=api))  # type: ignore[arg-type]
    request = replace(request_for(SHOW), cores=1, limits=Limits(cpus=0.5))
    cores, why = engine.pin(request)
    assert cores == choose_cores(os.sched_getaffinity(0), 1) and why == ""
    daemon = container.Daemon.ask(api)  # type: ignore[arg-type]
    container.create(api, daemon, request, None, cores)  # type: ignore[arg-type]
    assert api.asked["cpuset_cpus"] == str(cores[0])
    assert api.asked["nano_cpus"] == 500_000_000
    container.create(api, daemon, request, None)  # type: ignore[arg-type]
    assert api.asked["cpuset_cpus"] is None
