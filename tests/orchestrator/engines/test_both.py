"""What holds on either engine."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.engines import boundedlog
from dlbench.engines.base import Exit, Limits
from dlbench.engines.connect import connect
from dlbench.engines.docker import DockerEngine

from .conftest import Bed
from .trials import RequestFor, run


def test_ok(bed: Bed, request_for: RequestFor) -> None:
    request = request_for(
        """
        import json, os, sys
        job, data, out = sys.argv[1:]
        print("numbers:", open(data + "/numbers.txt").read(), flush=True)
        print("on stderr", file=sys.stderr)
        json.dump(json.load(open(job)), open(out + "/seen.json", "w"))
        open(os.environ["TMPDIR"] + "/scratch", "w").close()
        open(os.environ["HOME"] + "/scratch", "w").close()
        """
    )
    assert run(bed, request).code == 0
    assert (request.out / "seen.json").read_text() == '{"v": 1}'
    log = request.log.read_text()
    assert "numbers: 1 2 3" in log
    assert "on stderr" in log


def test_the_program_is_the_package_bench(bed: Bed, request_for: RequestFor) -> None:
    request = request_for("import bench; print(bench.__name__)")
    assert run(bed, request).code == 0
    assert request.log.read_text() == "bench\n"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os; os._exit(255)", 255),
    ],
)
def test_exit_codes(bed: Bed, request_for: RequestFor, program: str, code: int) -> None:
    assert run(bed, request_for(program)).code == code


def test_wait_says_none_while_it_runs(bed: Bed, request_for: RequestFor) -> None:
    running = bed.start(request_for("import sys; sys.stdin.read()"))
    assert running.wait(0) is None
    assert running.wait(0.2) is None
    assert running.scope.pid > 0
    assert running.stop(0.5).code != 0
    assert running.wait(0) is not None


def test_only_the_variables_of_the_request_come_through(
    bed: Bed, request_for: RequestFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "77")
    request = request_for("import os; print(sorted(os.environ.items()))")
    assert run(bed, replace(request, variables={"TF_FLAG": "yes"})).code == 0
    log = request.log.read_text()
    assert "('TF_FLAG', 'yes')" in log
    assert "('CUDA_VISIBLE_DEVICES', '')" in log
    for absent in ("hunter2", "PYTHONSTARTUP", "OMP_NUM_THREADS"):
        assert absent not in log


def test_cache_folder_is_kept_and_writable(
    bed: Bed, request_for: RequestFor, tmp_path: Path
) -> None:
    cache = tmp_path / "compiled"
    cache.mkdir()
    request = request_for("import os; open(os.environ['BENCH_CACHE'] + '/kernel', 'w').close()")
    assert run(bed, replace(request, cache=cache)).code == 0
    assert (cache / "kernel").exists()


def test_a_long_log_is_cut_in_the_middle(
    bed: Bed, request_for: RequestFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for(
        """
        import sys
        print("the beginning")
        for _ in range(40):
            sys.stdout.write("x" * (1 << 20))
        print("the end")
        """
    )
    assert run(bed, request).code == 0
    size = request.log.stat().st_size
    assert size < boundedlog.HEAD_BYTES + boundedlog.TAIL_BYTES + 200
    log = request.log.read_bytes()
    assert log.startswith(b"the beginning\n")
    assert log.endswith(b"the end\n")
    assert b"bytes are left out here" in log


def test_memory_limit(bed: Bed, request_for: RequestFor) -> None:
    bed.need_control_groups()
    request = request_for("hoard = bytearray(400 << 20); print(len(hoard))")
    plenty = run(bed, replace(request, limits=Limits(memory_bytes=600 << 20)))
    assert plenty == replace(plenty, code=0, oom=False)
    ended = run(bed, replace(request, trial="trial-2", limits=Limits(memory_bytes=200 << 20)))
    assert ended == replace(ended, code=-signal.SIGKILL, oom=True)


def test_a_child_killed_for_its_memory_counts(bed: Bed, request_for: RequestFor) -> None:
    bed.need_control_groups()
    request = request_for(
        """
        import subprocess, sys
        child = subprocess.run([sys.executable, "-c", "bytearray(400 << 20)"])
        sys.exit(9 if child.returncode else 0)
        """
    )
    ended = run(bed, replace(request, limits=Limits(memory_bytes=200 << 20)))
    assert ended.oom
    assert ended.code in (9, -signal.SIGKILL)


def test_cpu_limit(bed: Bed, request_for: RequestFor) -> None:
    bed.need_control_groups()
    request = request_for(
        """
        import os, time
        begin, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - begin < 1.5:
            pass
        share = (time.process_time() - cpu) / (time.monotonic() - begin)
        print(share)
        """
    )
    running = bed.start(replace(request, limits=Limits(cpus=0.3)))
    assert running.scope.cpus == 0.3
    assert running.wait(60) is not None
    assert float(request.log.read_text()) < 0.4


def test_kernel_totals_outlive_the_trial(bed: Bed, request_for: RequestFor) -> None:
    bed.need_control_groups(own=True)
    request = request_for("hoard = bytearray(150 << 20); sum(range(10_000_000))")
    running = bed.start(request)
    assert running.wait(60) is not None
    cgroup = running.scope.cgroup
    assert cgroup, "no control group of the trial's own"
    if "unified" in cgroup:
        peak = int((cgroup["unified"] / "memory.peak").read_text())
    else:
        peak = int((cgroup["memory"] / "memory.max_usage_in_bytes").read_text())
        assert int((cgroup["cpuacct"] / "cpuacct.usage").read_text()) > 50_000_000
    assert 150 << 20 < peak < 400 << 20
    running.close()
    running.close()
    assert not any(folder.exists() for folder in cgroup.values())


def test_no_descriptor_or_thread_is_left_behind(bed: Bed, request_for: RequestFor) -> None:
    """A campaign has thousands of trials."""
    request = request_for("pass")
    counts = []
    for number in range(4):
        if bed.kind == "docker":
            # A client keeps some connections open for later: a new one each time, closed below.
            client = connect()
            bed.engine = DockerEngine(client)
        running = bed.start(replace(request, trial=f"trial-{number}"))
        assert running.wait(60) is not None
        running.close()
        if bed.kind == "docker":
            client.close()
        counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))  # noqa: PTH208
    assert counts[1] == counts[2] == counts[3]


def test_links_in_the_output_are_not_followed(
    bed: Bed, request_for: RequestFor, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    request = request_for(
        f"""
        import os, sys
        os.symlink({str(victim)!r}, sys.argv[3] + "/events.jsonl")
        os.mkfifo(sys.argv[3] + "/weights.npz")
        """
    )
    running = bed.start(request)
    assert running.wait(60) == replace(running.wait(0) or Exit(1), code=0)
    running.close()
    assert victim.read_text() == "untouched"


def test_weights_are_there_to_be_read(bed: Bed, request_for: RequestFor, tmp_path: Path) -> None:
    weights = tmp_path / "a file of weights"
    weights.write_text("0.5 0.25")
    weights.chmod(0o444)
    request = request_for(
        """
        import os, sys
        print(len(sys.argv), open(sys.argv[4]).read(), flush=True)
        print(os.access(sys.argv[4], os.W_OK) and os.getuid() != 0)
        """
    )
    assert run(bed, replace(request, weights=weights)).code == 0
    assert request.log.read_text() == "5 0.5 0.25\nFalse\n"
    assert weights.read_text() == "0.5 0.25"
