"""The job of a trial, and its identity: the digest of everything that defines the trial."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dlbench import formats, paths, workloads
from dlbench.datasets.store import PreparedData
from dlbench.environments import releases
from dlbench.planning.plan import Trial


@cache
def bench_digest() -> str:
    """The digest of the code that runs inside."""
    root = paths.bundled("bench")
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(f"{path.relative_to(root)}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def identified(trial: Trial, data: PreparedData) -> Trial:
    """The trial with its id."""
    release = releases.find(trial.release)
    job = job_of(trial, data)
    defining = {
        "job": {key: value for key, value in job.items() if key != "id"},
        "lock": release.lock_digest(trial.device),
        "bench": bench_digest(),
        "engine": trial.engine,
        "repeat": trial.repeat,
        "limits": [trial.cpus, trial.memory_bytes, trial.seconds],
        "gpus": trial.gpus,
    }
    return replace(trial, id=formats.digest(defining)[:16])


def job_of(trial: Trial, data: PreparedData) -> dict[str, Any]:
    """What the trial's process reads."""
    release, workload = releases.find(trial.release), workloads.find(trial.workload)
    return {
        "v": formats.VERSION,
        "id": trial.id,
        "action": "train",
        "framework": release.framework,
        "version": release.version,
        "adapter": release.adapter,
        "variant": trial.variant,
        "device": trial.device,
        "setting": trial.setting,
        "seed": trial.seed,
        "threads": trial.threads,
        "graph": workload.graph,
        "recipe": workload.recipe,
        "budget": {"epochs": trial.epochs, "steps": trial.steps},
        "data": data.to_job(),
        "save": trial.save,
    }


def bench_folder() -> Path:
    """The folder of package `bench`, as engines want it."""
    return paths.bundled("bench")
