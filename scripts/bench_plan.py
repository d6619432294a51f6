"""How long planning takes: 10,000 trials, each with its id.

    PYTHONPATH=orchestrator .venv/bin/python scripts/bench_plan.py [--trials N] [--json]

The plan has every release with CPU packages on two workloads, in as many repeats as are needed.
The baseline is `json.dumps` of the same trials' jobs: what it takes to write them all down. Both
are measured in turn within this run, and the least disturbed time of each counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

from dlbench import datasets, workloads
from dlbench.datasets import store
from dlbench.environments import releases
from dlbench.planning.choices import Choices
from dlbench.planning.plan import draft
from dlbench.planning.trial import Trial
from dlbench.running.jobs import identified, job_of

MOST_SECONDS = 2.0
"""For 10,000 trials."""
WORKLOADS = ("digits-cnn", "mnist-cnn")


def seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def measure(trials: int, rounds: int) -> dict[str, float]:
    names = [release.name for release in releases.load_releases() if "cpu" in release.devices]
    repeats = -(-trials // (len(names) * len(WORKLOADS)))
    choices = Choices(frameworks=tuple(names), workloads=WORKLOADS, repeats=repeats)
    # ids need the data's digest and not the data: the small twin will do
    data = {
        name: store.prepare_proof(datasets.find(workloads.find(name).dataset)) for name in WORKLOADS
    }

    def plan() -> list[Trial]:
        return identified(draft(choices, "process").trials[:trials], data)

    planned = plan()
    assert len({trial.id for trial in planned}) == trials
    jobs = [job_of(trial, data[trial.workload]) for trial in planned]

    def write() -> None:
        for job in jobs:
            json.dumps(job)

    both = [(seconds(plan), seconds(write)) for _ in range(rounds)]
    planning, writing = (min(times) for times in zip(*both, strict=True))
    return {
        "trials": trials,
        "seconds": round(planning, 3),
        "baseline_seconds": round(writing, 3),
        "ratio": round(planning / writing, 3),
        "most_seconds": MOST_SECONDS * trials / 10_000,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.trials, options.rounds)
    reached = row["seconds"] <= row["most_seconds"]
    if options.json:
        print(json.dumps({**row, "reached": reached}, indent=1))
    else:
        print(
            f"planning {row['trials']:,} trials: {row['seconds']:.2f} s (at most"
            f" {row['most_seconds']:g} s), {row['ratio']:.2f} times json.dumps of their jobs"
        )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
