"""What loading and comparing campaigns costs, from a hundred trials to ten thousand.

Campaigns come from scripts/make_campaign.py: 100 samples and 500 step times a trial. Each size is
read in a process of its own: all trials, all samples, all steps, and a comparison of step times
with everything that is said next to it. A last one has a thousand releases with three repeats each:
`dlbench compare` as a user calls it.

    python scripts/bench_analysis.py [--trials 100 1000 10000] [--folder DIR] [--json]

Exits with 1 if 10,000 trials take more than 10 s or 2 GB, if a thousand releases take more than
30 s or 1 GB, or if the cost grows faster than the number of trials. On a busy machine look at the
CPU seconds: seconds also count the waiting.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_SECONDS = 10.0
MOST_GB = 2.0
RELEASES = 1_000
REPEATS = 3
MOST_SECONDS_OF_RELEASES = 30.0
MOST_GB_OF_RELEASES = 1.0
MOST_GROWTH = 1.1
"""The power of the number of trials that the cost may grow with, start-up taken off."""

MEASURE = """
import json, resource, sys, time
began = time.perf_counter()
laps = {}
def lap(name, value):
    laps[name] = round(time.perf_counter() - began - sum(laps.values()), 3)
    return value
import dlbench
import dlbench.analysis.campaign_comparison
results = lap("start", dlbench.open(sys.argv[1]))
trials = lap("trials", results.trials())
samples = lap("samples", results.samples())
steps = lap("steps", results.steps())
comparison = lap("compare", results.compare("step_ms"))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "trials": trials.height, "samples": samples.height, "steps": steps.height,
    "cases": len(comparison.cases), "laps": laps,
    "seconds": round(time.perf_counter() - began, 3),
    "cpu_seconds": round(used.ru_utime + used.ru_stime, 3), "gb": round(used.ru_maxrss / 2**20, 3),
}))
"""


def measure(folder: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "orchestrator")}
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def measure_releases(folder: Path) -> dict[str, float]:
    """`dlbench compare` on very many contenders."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "orchestrator")}
    began = time.perf_counter()
    command = [sys.executable, "-m", "dlbench", "compare", str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"dlbench compare ended with {status}")
    return {
        "releases": RELEASES,
        "repeats": REPEATS,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 3),
        "gb": round(used.ru_maxrss / 2**20, 3),
    }


def made(folder: Path, trials: int, releases: int = 0) -> Path:
    if not (folder / "campaign.json").exists():
        make = [sys.executable, str(ROOT / "scripts" / "make_campaign.py"), str(folder)]
        size = ["--trials", str(trials), "--releases", str(releases)]
        subprocess.run([*make, *size], check=True, stdout=sys.stderr)
    return folder


def missed(rows: list[dict[str, float]], wide: dict[str, float]) -> list[str]:
    found = []
    if wide["seconds"] > MOST_SECONDS_OF_RELEASES:
        found.append(f"{wide['seconds']:.1f} s for {wide['releases']:,} releases")
    if wide["gb"] > MOST_GB_OF_RELEASES:
        found.append(f"{wide['gb']:.2f} GB for {wide['releases']:,} releases")
    for row in rows:
        if row["trials"] >= 10_000 and row["seconds"] > MOST_SECONDS:
            found.append(f"{row['seconds']:.1f} s for {row['trials']:,} trials")
        if row["trials"] >= 10_000 and row["gb"] > MOST_GB:
            found.append(f"{row['gb']:.2f} GB for {row['trials']:,} trials")
    for fewer, more in pairwise(rows):
        power = growth(fewer, more)
        if power > MOST_GROWTH:
            found.append(f"growth by the power {power:.2f} up to {more['trials']:,} trials")
    return found


def growth(fewer: dict[str, float], more: dict[str, float]) -> float:
    """1: linear. Starting Python costs the same for any number of trials, so it is in both."""
    return math.log(more["cpu_seconds"] / fewer["cpu_seconds"]) / math.log(
        more["trials"] / fewer["trials"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--folder", type=Path, help="where campaigns are made, and kept")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = chosen.folder or Path(temporary)
        rows = [measure(made(base / f"m{count}", count)) for count in sorted(chosen.trials)]
        wide = measure_releases(made(base / "releases", RELEASES * REPEATS, RELEASES))
    wrong = missed(rows, wide)
    if chosen.json:
        print(json.dumps({"rows": rows, "releases": wide, "missed": wrong}, indent=1))
    else:
        print(f"{'trials':>8} {'samples':>10} {'steps':>10} {'s':>7} {'CPU s':>7} {'GB':>6}")
        for row in rows:
            print(
                f"{row['trials']:>8,} {row['samples']:>10,} {row['steps']:>10,} "
                f"{row['seconds']:>7.2f} {row['cpu_seconds']:>7.2f} {row['gb']:>6.2f}  "
                f"{row['laps']}"
            )
        for fewer, more in pairwise(rows):
            print(f"{fewer['trials']:,} to {more['trials']:,}: power {growth(fewer, more):.2f}")
        print(
            f"{wide['releases']:,} releases x {wide['repeats']} compared: {wide['seconds']:.2f} s,"
            f" {wide['cpu_seconds']:.2f} CPU s, {wide['gb']:.2f} GB"
        )
        print("\n".join(f"missed: {text}" for text in wrong) or "all figures are met")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
