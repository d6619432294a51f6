"""The monitor on a real container: by its control group, and by the daemon's stats stream."""

from __future__ import annotations

import io
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docker.errors import NotFound

from dlbench.engines import cgroups
from dlbench.engines.base import Scope
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import read_samples

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

pytestmark = pytest.mark.docker

# Holds 64 MiB and uses the CPU half the time, for ever.
LOAD = r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void) {
    char *memory = malloc(64 << 20);
    memset(memory, 1, 64 << 20);
    for (;;) {
        clock_t end = clock() + CLOCKS_PER_SEC / 20;
        while (clock() < end) memory[0]++;
        nanosleep(&(struct timespec){0, 50000000}, 0);
    }
}
"""


@pytest.fixture(scope="module")
def image(docker_client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("load")
    (folder / "load.c").write_text(LOAD)
    program = folder / "load"
    subprocess.run(["gcc", "-static", "-O1", "-o", program, folder / "load.c"], check=True)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(program, "load")
    answer = docker_client.api.import_image_from_data(archive.getvalue())
    identity = answer.split('"status":"')[1].split('"')[0]
    yield identity
    docker_client.api.remove_image(identity, force=True)


@pytest.fixture
def container(docker_client: DockerClient, image: str) -> Iterator[Container]:
    started = docker_client.containers.run(image, ["/load"], detach=True, network_mode="none")
    started.reload()
    yield started
    with suppress(NotFound):
        started.remove(force=True)


def pid_of(container: Container) -> int:
    pid = container.attrs["State"]["Pid"]
    assert isinstance(pid, int)
    return pid


def wait_for(monitor: Monitor, cpu_s: float) -> None:
    end = time.monotonic() + 60.0
    while (monitor.latest is None or monitor.latest.cpu_s < cpu_s) and time.monotonic() < end:
        time.sleep(0.05)


def test_by_control_group(container: Container, tmp_path: Path) -> None:
    folders = cgroups.counted(cgroups.choose(cgroups.of_process(pid_of(container))))
    if not folders:
        pytest.skip("this daemon's control groups are not visible from here")
    scope = Scope(pid_of(container), 2.0, folders, container.id)
    with Monitor(scope, tmp_path / "samples.jsonl", hz=10) as monitor:
        wait_for(monitor, 0.4)
        container.kill()
        container.wait()
        totals = monitor.stop()
    assert totals.source.startswith("cgroup-v")
    assert totals.cpu_s is not None and totals.cpu_s >= 0.4
    assert totals.memory_peak_bytes is not None
    assert 64 << 20 <= totals.memory_peak_bytes < 128 << 20
    assert totals.error is None


def test_by_the_daemons_stream(container: Container, tmp_path: Path) -> None:
    def stats() -> Any:
        return container.stats(stream=True, decode=True)

    scope = Scope(0, 2.0, container=container.id)
    file = tmp_path / "samples.jsonl"
    threads = threading.active_count()
    with Monitor(scope, file, hz=10, stats=stats) as monitor:
        wait_for(monitor, 0.8)
        container.kill()
        container.wait()
        totals = monitor.stop()
    container.remove(force=True)
    assert totals.source == "daemon-stats"
    assert totals.origin == "samples"
    assert totals.cpu_s is not None and totals.cpu_s >= 0.8
    assert totals.memory_peak_bytes is not None and totals.memory_peak_bytes >= 64 << 20
    assert totals.anon_peak_bytes is not None and totals.anon_peak_bytes >= 63 << 20
    recorded = read_samples(file)
    assert recorded is not None
    # One message a second: readings are not repeated to fill the rate asked for.
    times = [sample.t for sample in recorded.samples]
    assert all(b - a > 0.3 for a, b in pairwise(times))
    end = time.monotonic() + 20.0
    while threading.active_count() > threads and time.monotonic() < end:
        time.sleep(0.1)
    assert threading.active_count() == threads
