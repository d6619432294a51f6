"""Sources that this machine may not have, on the files and messages that others give."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlbench.engines.base import Scope
from dlbench.monitor.cgroup import CgroupV2
from dlbench.monitor.daemon import DaemonStats, reading_of
from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone, choose

CPU_STAT = """usage_usec 12345678
user_usec 10000000
system_usec 2345678
nice_usec 0
core_sched.force_idle_usec 0
nr_periods 120
nr_throttled 3
throttled_usec 250000
"""
MEMORY_STAT = """anon 157286400
file 41943040
kernel 5242880
kernel_stack 163840
pagetables 1048576
shmem 0
file_mapped 20971520
anon_thp 104857600
inactive_anon 157286400
"""


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    folder = tmp_path / "dlbench"
    (folder / "inner").mkdir(parents=True)
    (folder / "cpu.stat").write_text(CPU_STAT)
    (folder / "memory.stat").write_text(MEMORY_STAT)
    (folder / "memory.current").write_text("204472320\n")
    (folder / "memory.peak").write_text("314572800\n")
    (folder / "cgroup.procs").write_text("")
    (folder / "inner" / "cgroup.procs").write_text("41\n42\n")
    return folder


def test_version_2_is_read_again_and_again(unified: Path) -> None:
    source = choose(Scope(1, 2.0, {"unified": unified}))
    assert source.name == "cgroup-v2"
    assert source.read() == Reading(12.345678, 204472320, 314572800)
    assert source.anon() == 157286400
    assert source.pids() == {41, 42}
    (unified / "cpu.stat").write_text(CPU_STAT.replace("12345678", "12400000"))
    (unified / "memory.current").write_text("5\n")
    assert source.read() == Reading(12.4, 5, 314572800)
    source.close()


def test_version_2_before_linux_5_19_has_no_peak(unified: Path) -> None:
    (unified / "memory.peak").unlink()
    source = CgroupV2(unified)
    assert source.read().peak_bytes is None
    source.close()


def test_an_empty_counter_means_the_group_is_gone(unified: Path) -> None:
    source = CgroupV2(unified)
    (unified / "memory.current").write_text("")
    with pytest.raises(Gone):
        source.read()
    source.close()


def test_without_a_readable_group_the_tree_is_taken(tmp_path: Path) -> None:
    for cgroup in (
        {},
        {"unified": tmp_path},
        {"cpuacct": tmp_path, "memory": tmp_path},
        {"pids": tmp_path},
    ):
        source = choose(Scope(1, 2.0, cgroup))
        assert source.name == "process-tree"
        source.close()


def message(version: int, cpu_ns: int) -> dict[str, Any]:
    """As the daemon sends them for containers of control groups 1 and 2."""
    memory: dict[str, Any] = {"usage": 9000, "limit": 1 << 30}
    if version == 1:
        memory |= {"max_usage": 9500, "stats": {"total_rss": 7000, "rss": 6000, "cache": 2000}}
    else:
        memory |= {"stats": {"anon": 7000, "file": 2000}}
    return {
        "read": "2024-01-01T00:00:00Z",
        "pids_stats": {"current": 3},
        "cpu_stats": {"cpu_usage": {"total_usage": cpu_ns}, "online_cpus": 2},
        "memory_stats": memory,
    }


ENDED = {
    "read": "0001-01-01T00:00:00Z",
    "cpu_stats": {"cpu_usage": {"total_usage": 0}},
    "memory_stats": {},
}


@pytest.mark.parametrize(("version", "peak"), [(1, 9500), (2, None)])
def test_messages_of_both_versions_are_understood(version: int, peak: int | None) -> None:
    assert reading_of(message(version, 1_500_000_000)) == (Reading(1.5, 9000, peak), 7000)


@pytest.mark.parametrize("nonsense", [ENDED, {}, None, [], {"memory_stats": None}])
def test_messages_without_content_are_no_readings(nonsense: Any) -> None:
    assert reading_of(nonsense) is None


def test_the_stream_is_followed_to_its_end() -> None:
    def stream() -> Iterator[Any]:
        yield message(1, 1_000_000_000)
        yield message(1, 2_000_000_000)
        yield ENDED
        raise ConnectionError("the daemon went away")

    source = choose(Scope(1, 2.0, container="c0ffee"), stream)
    assert isinstance(source, DaemonStats)
    readings = []
    with pytest.raises(Gone):
        while True:
            if (reading := source.read()) is not None:
                readings.append(reading)
            time.sleep(0.01)
    assert readings[-1] == Reading(2.0, 9000, 9500)
    assert source.anon() == 7000
    source.close()
