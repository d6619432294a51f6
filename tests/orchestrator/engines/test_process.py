"""What only the process engine does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.engines.base import Limits, Request
from dlbench.engines.process import ProcessEngine
from dlbench.errors import UserError

from .conftest import Bed

RequestFor = Callable[[str], Request]


def test_without_control_groups_it_says_what_it_cannot_hold(ungrouped_bed: Bed) -> None:
    engine = ungrouped_bed.engine
    assert engine.unenforced(Limits()) == ()
    assert engine.unenforced(Limits(cpus=1.0)) == ()
    memory, cpu = engine.unenforced(Limits(cpus=1.5, memory_bytes=1 << 30))
    assert "memory limit can't be enforced" in memory
    assert "rounded up to 2 whole cores" in cpu


def test_without_control_groups_whole_cores_are_still_held(
    ungrouped_bed: Bed, request_for: RequestFor
) -> None:
    request = request_for("import os; print(len(os.sched_getaffinity(0)))")
    running = ungrouped_bed.start(replace(request, limits=Limits(cpus=1.0)))
    assert running.scope.cpus == 1.0
    assert running.scope.cgroup == {}
    assert running.wait(60) is not None
    assert request.log.read_text() == "1\n"


@pytest.mark.parametrize(
    ("gpus", "shown"),
    [
        (("0", "GPU-1"), "0,GPU-1 PCI_BUS_ID"),
        (("nvidia.com/gpu=1",), "1 PCI_BUS_ID"),
        (("all",), "None PCI_BUS_ID"),
        (("nvidia.com/gpu=all",), "None PCI_BUS_ID"),
        ((), " PCI_BUS_ID"),
    ],
)
def test_cuda_is_shown_the_gpus_that_were_asked_for(
    gpus: tuple[str, ...],
    shown: str,
    process_bed: Bed,
    request_for: RequestFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")  # of this shell, not of the trial
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    names = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
    request = request_for(f"import os; print(*map(os.environ.get, {names}))")
    running = process_bed.start(replace(request, gpus=gpus))
    assert running.wait(60) is not None
    assert request.log.read_text() == f"{shown}\n"


def test_it_is_in_its_group_from_the_first_instruction(
    process_bed: Bed, request_for: RequestFor
) -> None:
    process_bed.need_control_groups(own=True)
    request = request_for("print(open('/proc/self/cgroup').read())")
    running = process_bed.start(request)
    ended = running.wait(60)
    assert ended is not None and ended.code == 0
    assert f"dlbench@{request.campaign}@{request.trial}" in request.log.read_text()
    assert ended.cpu_seconds is not None and ended.cpu_seconds > 0


def test_pids_limit(process_bed: Bed, request_for: RequestFor) -> None:
    process_bed.need_control_groups(own=True)
    request = request_for(
        """
        import os, sys, time
        for _ in range(100):
            try:
                if os.fork() == 0:
                    time.sleep(60)
            except BlockingIOError:
                sys.exit(3)
        """
    )
    ended = process_bed.start(replace(request, limits=Limits(pids=20))).wait(60)
    assert ended is not None and ended.code == 3


def test_peak_of_the_main_process(process_bed: Bed, request_for: RequestFor) -> None:
    """More than this process ever had, so that it can't be mistaken for ours."""
    import resource

    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    request = request_for(f"hoard = b'x' * {ours + (64 << 20)}")
    ended = process_bed.start(request).wait(60)
    assert ended is not None and ended.rss_peak_bytes is not None
    assert ours + (64 << 20) < ended.rss_peak_bytes < ours + (128 << 20)
    small = process_bed.start(replace(request_for("pass"), trial="trial-2")).wait(60)
    assert small is not None and small.rss_peak_bytes is None


def test_missing_interpreter(request_for: RequestFor, tmp_path: Path) -> None:
    request = replace(request_for("pass"), environment=str(tmp_path / "nowhere/python"))
    with pytest.raises(UserError, match="There is no interpreter"):
        ProcessEngine().start(request)
    assert not list((tmp_path / "cache").glob("running/*"))


def test_unwritable_cache(
    request_for: RequestFor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="can't be written") as refused:
        ProcessEngine().start(request_for("pass"))
    assert "DLBENCH_CACHE" in refused.value.remedy


def test_nothing_of_it_stays_in_the_cache(
    process_bed: Bed, request_for: RequestFor, tmp_path: Path
) -> None:
    running = process_bed.start(request_for("pass"))
    assert list((tmp_path / "cache/running").iterdir())
    assert running.wait(60) is not None
    running.close()
    assert not list((tmp_path / "cache/running").iterdir())


def test_a_trial_cannot_make_sweep_touch_other_groups(
    process_bed: Bed, request_for: RequestFor, tmp_path: Path, campaign: str
) -> None:
    """A record that names a group of another name is not believed."""
    other = process_bed.start(
        replace(request_for("import time; time.sleep(600)"), campaign="somebody-else")
    )
    forged = tmp_path / f"cache/running/dlbench@{campaign}@trial-1"
    forged.mkdir(parents=True)
    real = tmp_path / "cache/running/dlbench@somebody-else@trial-1/group.json"
    (forged / "group.json").write_text(real.read_text() if real.exists() else "{}")
    assert process_bed.engine.sweep(campaign) == []
    assert other.wait(0) is None
