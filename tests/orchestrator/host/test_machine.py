"""The fingerprint: what it must say, and what it must never say."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dlbench.host.machine import (
    cautions,
    cpu_flags,
    cpu_model,
    fingerprint,
    noise,
    physical_cores,
    usable_cores,
)

TWO_CORES_FOUR_THREADS = "\n\n".join(
    f"""processor\t: {thread}
model name\t: Intel(R)  Xeon(R) CPU @ 2.20GHz
physical id\t: 0
core id\t\t: {thread // 2}
flags\t\t: fpu sse4_2 fma avx avx2 avx512f avx512_vnni amx_tile hypervisor"""
    for thread in range(4)
)
ARM = """processor\t: 0
Features\t: fp asimd evtstrm aes asimdhp sve bf16
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


def test_it_agrees_with_psutil() -> None:
    machine = fingerprint()
    assert machine.cores_logical == psutil.cpu_count()
    assert machine.memory_bytes == psutil.virtual_memory().total
    assert machine.swap_bytes == psutil.swap_memory().total
    assert machine.cores_physical == psutil.cpu_count(logical=False)
    assert 0.0 < machine.cores_usable <= machine.cores_logical
    assert machine.kernel == platform.release()
    assert machine.cpu_model


def test_it_is_json_and_says_which_runtime() -> None:
    found = json.loads(json.dumps(fingerprint(runtime="docker 28.0").to_dict()))
    assert found["runtime"] == "docker 28.0"
    assert len(found["digest"]) == 16


def test_it_names_no_person_place_or_thing() -> None:
    text = json.dumps(fingerprint().to_dict())
    # Short or ordinary words may stand there by chance.
    for name in {socket.gethostname(), getpass.getuser(), str(Path.home()), str(Path.cwd())}:
        if name not in ("localhost", "debian", "ubuntu") and len(name) > 2:
            assert name not in text
    for file in ("/etc/machine-id", "/sys/class/dmi/id/product_serial"):
        try:
            identity = Path(file).read_text().strip()
        except OSError:
            continue
        assert not identity or identity not in text


def test_cpus_are_described() -> None:
    assert cpu_model(TWO_CORES_FOUR_THREADS) == "Intel(R) Xeon(R) CPU @ 2.20GHz"
    assert physical_cores(TWO_CORES_FOUR_THREADS) == 2
    assert cpu_flags(TWO_CORES_FOUR_THREADS) == (
        "amx_tile",
        "avx",
        "avx2",
        "avx512_vnni",
        "avx512f",
        "fma",
        "sse4_2",
    )
    assert cpu_model(ARM) == "implementer 0x41 part 0xd40"
    assert cpu_flags(ARM) == ("asimd", "asimdhp", "bf16", "sve")
    assert physical_cores(ARM) is None


def test_the_digest_tells_machines_apart_but_not_days() -> None:
    machine = fingerprint()
    assert replace(machine, load_average=77.0, kernel="9.9.9").digest() == machine.digest()
    assert replace(machine, memory_bytes=machine.memory_bytes + 4096).digest() == machine.digest()
    for other in (
        replace(machine, cpu_model="another"),
        replace(machine, cores_usable=0.5),
        replace(machine, cpu_flags=()),
        replace(machine, memory_bytes=machine.memory_bytes * 2),
    ):
        assert other.digest() != machine.digest()


def test_affinity_and_quota_count() -> None:
    program = "from dlbench.host.machine import usable_cores; print(usable_cores())"
    cpu = min(os.sched_getaffinity(0))
    done = subprocess.run(
        ["taskset", "-c", str(cpu), sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) <= 1.0


def test_a_quota_of_the_control_group_counts() -> None:
    from dlbench.engines.base import Limits
    from dlbench.engines.control_group import create

    group = create(f"dlbench-test-machine-{os.getpid()}")
    if group is None or not group.limits_cpu:
        pytest.skip("this user may limit no CPU here")
    assert usable_cores() > 0.25
    program = "input(); from dlbench.host.machine import usable_cores; print(usable_cores())"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        group.limit(Limits(cpus=0.25))
        group.enter(process.pid)
        assert float(process.communicate("\n", timeout=60)[0]) == 0.25
    finally:
        process.kill()
        process.wait()
        group.remove()


def test_noise_is_measured() -> None:
    found = noise(0.05)
    assert found.repeats >= 20
    assert found.ratio >= 1.0
    assert found.median_ms > 0.0


def test_a_busy_machine_is_spoken_of() -> None:
    quiet, busy = ({"load_average": load, "cores_usable": 2} for load in (0.9, 3.68))
    assert cautions({"aaaaaaaa": quiet}) == []
    (alone,) = cautions({"bbbbbbbb": busy})
    assert alone.startswith("The machine was busy when the campaign began: load 3.68 on 2 cores.")
    (named,) = cautions({"aaaaaaaa": quiet, "bbbbbbbb": busy})
    assert named.startswith("Machine bbbbbb was busy")
