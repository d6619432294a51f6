"""Does dlbench's training loop cost anything? Its median step over a handwritten loop's.

    PYTHONPATH=orchestrator .venv/bin/python scripts/bench_harness.py [RELEASE …] [--json]

Both train mnist-cnn (synthetic images, batch 128) in one process of the same environment, in short
blocks that alternate, so that whatever the machine does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dlbench import datasets, paths
from dlbench.datasets import store
from dlbench.environments import venvs
from dlbench.planning import plan
from dlbench.planning.choices import Choices
from dlbench.running.jobs import job_of

_SCRIPTS = Path(__file__).resolve().parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LIMIT = {"pytorch": 1.03, "tensorflow": 1.03}
_LIMIT_OF_OTHERS = 1.05


def ratio(name: str, blocks: int, steps: int) -> dict[str, float | str]:
    """Median step of dlbench over median step by hand, and the ratio block by block."""
    choices = Choices(
        frameworks=(name,), workloads=("mnist-cnn",), data="synthetic", repeats=1, threads="1"
    )
    (trial,) = plan.draft(choices, "process").trials
    release, variant = plan.find_contender(name)
    if variant != release.variants[0]:
        raise SystemExit(f"{name}: the handwritten loops are of each release's first variant.")
    data = store.prepare(datasets.find("mnist"), "synthetic")
    python = venvs.prepare(release, "cpu").python
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps(job_of(trial, data)))
        modules = [str(paths.bundled("bench").parent), str(_SCRIPTS)]
        done = subprocess.run(
            [python, "-m", "handwritten.against", job, data.folder, str(blocks), str(steps)],
            env={
                **os.environ,
                "PYTHONPATH": ":".join(modules),
                **dict.fromkeys(_THREADS, "1"),
                **release.variables,
            },
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{name}:\n{done.stderr}")
    times = json.loads(done.stdout.splitlines()[-1])
    medians = {loop: statistics.median(values) for loop, values in times.items()}
    return {
        "release": trial.label,
        "dlbench_ms": round(medians["dlbench"], 3),
        "handwritten_ms": round(medians["handwritten"], 3),
        "ratio": round(medians["dlbench"] / medians["handwritten"], 4),
        "limit": _LIMIT.get(release.framework, _LIMIT_OF_OTHERS),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=["pytorch", "tensorflow"])
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [ratio(name, options.blocks, options.steps) for name in options.releases]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(
                f"{row['release']}: dlbench {row['dlbench_ms']} ms, by hand {row['handwritten_ms']}"
                f" ms a step, ratio {row['ratio']:.3f} (at most {row['limit']})"
            )
    return 0 if all(row["ratio"] <= row["limit"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
