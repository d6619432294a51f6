"""The job of a trial, and its identity: the digest of everything that defines the trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlbench import formats, workloads
from dlbench.datasets.store import PreparedData
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.planning.plan import Trial
from dlbench.running.bench_code import bench_digest


def identified(trial: Trial, data: PreparedData) -> Trial:
    """The trial with its id."""
    release = releases.find(trial.release)
    job = job_of(trial, data)
    defining = {
        "job": {key: value for key, value in job.items() if key != "id"},
        **software(release, trial.device),
        "engine": trial.engine,
        "repeat": trial.repeat,
        "limits": [trial.cpus, trial.memory_bytes, trial.seconds],
        "gpus": trial.gpus,
    }
    return replace(trial, id=formats.digest(defining)[:16])


def software(release: Release, device: str) -> dict[str, Any]:
    """What of a release decides what runs: its packages, its variables, the code around it."""
    return {
        "lock": release.lock_digest(device),
        "variables": dict(release.variables),
        "bench": bench_digest(release.adapter_from),
    }


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
