"""What the monitor costs and how exact it is, against a psutil loop and memory-profiler.

A real load (four processes, known memory) runs as a trial of the process engine. The three samplers
take turns on it at 10 Hz, each in a process of its own that counts its CPU time, in one run. A
monitor watches the whole trial; its totals are compared with the kernel's counters.

    python scripts/bench_monitor.py [--rounds N] [--seconds S] [--json]

Exits with 1 if a figure is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "orchestrator"))

from dlbench.engines.base import Request, Scope  # noqa: E402
from dlbench.engines.process import ProcessEngine  # noqa: E402
from dlbench.monitor.sampler import Monitor  # noqa: E402
from dlbench.paths import cache  # noqa: E402

HZ = 10.0
MOST_OF_A_CORE = 0.005
MOST_OF_OTHERS = 0.2
MOST_DEVIATION = 0.02

# The main process holds 200 MiB, each of three children 100; each computes a third of its time. In
# between another 100 MiB come and go, so that the peak is not simply the end.
LOAD = """
import os, sys, time
from pathlib import Path
stop = Path(sys.argv[3]) / "stop"
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        break
    children.append(pid)
hold = bytearray(os.urandom(1 << 20)) * (200 if children else 100)
more, round = None, 0
while not stop.exists():
    end = time.process_time() + 0.02
    while time.process_time() < end:
        pass
    time.sleep(0.04)
    round += 1
    if children and len(children) == 3:
        more = bytearray(100 << 20) if round % 60 == 20 else None if round % 60 == 40 else more
for pid in children:
    os.waitpid(pid, 0)
"""
OURS = """
import json, sys, tempfile, time
from pathlib import Path
from dlbench.engines.base import Scope  # noqa: E402
from dlbench.monitor.sampler import Monitor  # noqa: E402
pid, seconds, hz = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
folders = {name: Path(path) for name, path in json.loads(sys.argv[4]).items()}
file = Path(tempfile.mkdtemp(dir=sys.argv[5])) / "samples.jsonl"
cpu, wall = time.process_time(), time.monotonic()
with Monitor(Scope(pid, 1.0, folders), file, hz=hz) as monitor:
    time.sleep(seconds)
    totals = monitor.stop()
print(json.dumps([time.process_time() - cpu, time.monotonic() - wall, totals.samples]))
"""
PSUTIL = """
import json, sys, time
import psutil
pid, seconds, hz = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
psutil.cpu_percent()
cpu, wall, readings = time.process_time(), time.monotonic(), 0
main = psutil.Process(pid)
while time.monotonic() - wall < seconds:
    used = memory = 0
    for process in [main, *main.children(recursive=True)]:
        times = process.cpu_times()
        used += times.user + times.system
        memory += process.memory_info().rss
    psutil.cpu_percent()
    readings += 1
    time.sleep(max(0.0, wall + readings / hz - time.monotonic()))
print(json.dumps([time.process_time() - cpu, time.monotonic() - wall, readings]))
"""
MEMORY_PROFILER = """
import json, sys, time
from memory_profiler import memory_usage
pid, seconds, hz = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
cpu, wall = time.process_time(), time.monotonic()
readings = memory_usage(pid, interval=1.0 / hz, timeout=seconds, include_children=True)
print(json.dumps([time.process_time() - cpu, time.monotonic() - wall, len(readings)]))
"""


@dataclass(frozen=True)
class Cost:
    """What one sampler took, over all its turns."""

    cpu_s: float
    wall_s: float
    readings: int
    per_reading_us: float
    """The median turn's."""
    of_a_core: float
    """The median turn's CPU time per reading, times the rate."""


@dataclass(frozen=True)
class Exactness:
    """One source's totals over the kernel's, less one; and the same of its samples alone."""

    source: str
    origin: str
    cpu: float
    memory: float
    sampled_cpu: float
    sampled_memory: float


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    python = prepare()
    with tempfile.TemporaryDirectory(prefix="bench-monitor-") as folder:
        costs, exactness = measure(python, Path(folder), chosen.rounds, chosen.seconds)
    figures = judge(costs, exactness)
    if chosen.json:
        told = {
            "costs": {name: asdict(cost) for name, cost in costs.items()},
            "exactness": [asdict(one) for one in exactness],
            "figures": [
                {"figure": name, "value": value, "limit": limit, "met": value <= limit}
                for name, value, limit in figures
            ],
        }
        print(json.dumps(told, indent=2))
    else:
        show(costs, exactness, figures)
    return 0 if all(value <= limit for _, value, limit in figures) else 1


def prepare() -> Path:
    """The interpreter of a throw-away environment with psutil and memory-profiler."""
    folder = cache() / "bench-monitor"
    python = folder / "bin" / "python"
    probe = [str(python), "-c", "import memory_profiler, psutil"]
    if not python.exists() or subprocess.run(probe, capture_output=True).returncode != 0:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "psutil", "memory-profiler"], check=True
        )
    return python


def measure(
    python: Path, folder: Path, rounds: int, seconds: float
) -> tuple[dict[str, Cost], list[Exactness]]:
    running = ProcessEngine().start(request(folder))
    try:
        scope = running.scope
        if not scope.cgroup:
            sys.exit("This user may make no control group here: there is nothing to compare with.")
        zero = time.monotonic()
        grouped = Monitor(scope, folder / "group.jsonl", hz=HZ, zero=zero).start()
        tree = Monitor(Scope(scope.pid, scope.cpus), folder / "tree.jsonl", hz=HZ, zero=zero)
        tree.start()
        time.sleep(1.0)
        turns: dict[str, list[list[float]]] = {}
        samplers = {"dlbench": OURS, "psutil": PSUTIL, "memory-profiler": MEMORY_PROFILER}
        for _ in range(rounds):
            for name, program in samplers.items():
                turns.setdefault(name, []).append(turn(python, program, scope, seconds, folder))
        (folder / "out" / "stop").touch()
        ended = running.wait(60.0)
        if ended is None or ended.code != 0:
            sys.exit(f"The load did not end as it should: {ended}.")
        kernel_cpu, kernel_peak = kernel_totals(scope)
        exactness = []
        for monitor in (grouped, tree):
            totals = monitor.stop(ended)
            assert totals.cpu_s and totals.memory_peak_bytes
            assert totals.sampled_cpu_s and totals.sampled_memory_peak_bytes
            exactness.append(
                Exactness(
                    totals.source,
                    totals.origin,
                    totals.cpu_s / kernel_cpu - 1.0,
                    totals.memory_peak_bytes / kernel_peak - 1.0,
                    totals.sampled_cpu_s / kernel_cpu - 1.0,
                    totals.sampled_memory_peak_bytes / kernel_peak - 1.0,
                )
            )
        return {name: cost(taken) for name, taken in turns.items()}, exactness
    finally:
        running.close()


def request(folder: Path) -> Request:
    """A trial whose program is the load."""
    for name in ("bench", "data", "out"):
        (folder / name).mkdir()
    (folder / "bench" / "__main__.py").write_text(LOAD)
    (folder / "job.json").write_text("{}")
    return Request(
        trial="load",
        campaign="bench-monitor",
        environment=sys.executable,
        bench=folder / "bench",
        job=folder / "job.json",
        data=folder / "data",
        out=folder / "out",
        log=folder / "log.txt",
    )


def turn(python: Path, program: str, scope: Scope, seconds: float, folder: Path) -> list[float]:
    folders = json.dumps({name: str(path) for name, path in scope.cgroup.items()})
    done = subprocess.run(
        [str(python), "-c", program, str(scope.pid), str(seconds), str(HZ), folders, str(folder)],
        env={"PYTHONPATH": str(ROOT / "orchestrator")},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def cost(turns: list[list[float]]) -> Cost:
    per_reading = statistics.median(cpu / readings for cpu, _, readings in turns)
    return Cost(
        cpu_s=sum(cpu for cpu, _, _ in turns),
        wall_s=sum(wall for _, wall, _ in turns),
        readings=int(sum(readings for _, _, readings in turns)),
        per_reading_us=per_reading * 1e6,
        of_a_core=per_reading * HZ,
    )


def kernel_totals(scope: Scope) -> tuple[float, int]:
    """The counters themselves, read here and not by the monitor."""
    if unified := scope.cgroup.get("unified"):
        cpu = int((unified / "cpu.stat").read_text().split()[1]) / 1e6
        return cpu, int((unified / "memory.peak").read_text())
    cpu = int((scope.cgroup["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
    return cpu, int((scope.cgroup["memory"] / "memory.max_usage_in_bytes").read_text())


def judge(costs: dict[str, Cost], exactness: list[Exactness]) -> list[tuple[str, float, float]]:
    """Each figure: its name, value and limit."""
    ours = costs["dlbench"].per_reading_us
    group, tree = exactness
    return [
        ("share of one core at 10 Hz", costs["dlbench"].of_a_core, MOST_OF_A_CORE),
        ("CPU time / psutil loop", ours / costs["psutil"].per_reading_us, MOST_OF_OTHERS),
        (
            "CPU time / memory-profiler",
            ours / costs["memory-profiler"].per_reading_us,
            MOST_OF_OTHERS,
        ),
        ("peak memory off the kernel's", abs(group.memory), MOST_DEVIATION),
        ("CPU seconds off the kernel's", abs(group.cpu), MOST_DEVIATION),
        ("CPU seconds of the process tree off the kernel's", abs(tree.cpu), MOST_DEVIATION),
    ]


def show(
    costs: dict[str, Cost],
    exactness: list[Exactness],
    figures: list[tuple[str, float, float]],
) -> None:
    print(f"{'sampler':<18}{'readings':>9}{'CPU s':>9}{'us/reading':>12}{'of a core':>11}")
    for name, one in costs.items():
        print(
            f"{name:<18}{one.readings:>9}{one.cpu_s:>9.3f}"
            f"{one.per_reading_us:>12.0f}{one.of_a_core:>11.2%}"
        )
    print(f"\n{'source':<18}{'totals':>9}{'CPU':>9}{'peak':>9}{'sampled CPU':>13}{'peak':>9}")
    for found in exactness:
        print(
            f"{found.source:<18}{found.origin:>9}{found.cpu:>+9.2%}{found.memory:>+9.2%}"
            f"{found.sampled_cpu:>+13.2%}{found.sampled_memory:>+9.2%}"
        )
    print()
    for name, value, limit in figures:
        print(f"{'met   ' if value <= limit else 'MISSED'}  {name}: {value:.4f} (limit {limit:g})")


if __name__ == "__main__":
    sys.exit(main())
