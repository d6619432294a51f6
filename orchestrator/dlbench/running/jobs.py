"""A trial's job (what its process reads), its identity, and the request that starts it.

All three are made here alone, for trials and for certificates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench import formats
from dlbench.datasets.store import PreparedData
from dlbench.engines.base import Limits, Request
from dlbench.environments import gpu_fit, releases
from dlbench.environments.releases import Release
from dlbench.formats import Action, Job
from dlbench.host import gpu_preflight
from dlbench.monitor.gpu import digests
from dlbench.planning.altered import model_of
from dlbench.planning.rows import used_rows
from dlbench.planning.trial import Trial
from dlbench.running.bench_code import bench_digest, bench_folder
from dlbench.weights import store as weights_store
from dlbench.whole_files import write_json


def software(release: Release, device: str) -> dict[str, Any]:
    """What of a release decides what runs: its packages, its variables, the code around it."""
    return {
        "lock": release.lock_digest(device),
        "variables": dict(release.variables),
        "bench": bench_digest(release.adapter_from),
    }


def job_of(trial: Trial, data: PreparedData, action: Action = "train") -> Job:
    """What the trial's process reads; to be verified, the model in its smaller size."""
    release = releases.find(trial.release)
    model = model_of(trial.workload, trial.changes, trial.confounds)
    rows = rows_of(trial, data) if action == "train" else None
    # what arrays are divided by, where a confound changes it
    divided = {} if model.divide is None else {"divide": dict(model.divide)}
    return {
        "v": formats.VERSION,
        "id": trial.id,
        "action": action,
        "framework": release.framework,
        "version": release.version,
        "adapter": release.adapter,
        "variant": trial.variant,
        "device": trial.device,
        "gpu": 0,  # the first of those that the trial is given
        "setting": trial.setting,
        "seed": trial.seed,
        "threads": trial.threads,
        "graph": model.graph if action == "train" else model.proof_graph,
        "recipe": model.recipe,
        "budget": {"epochs": trial.epochs, "steps": trial.steps},
        "data": {**data.to_job(), **divided, "rows": rows},
        "confounds": list(model.confounds),
        "inference": trial.inference,
        "deterministic": trial.deterministic,
        "save": trial.save,
        "weights": (trial.weights or None) if action == "train" else None,
    }


def rows_of(trial: Trial, data: PreparedData) -> dict[str, int] | None:
    """How many rows of each split the trial uses; None: all."""
    if trial.rows is None and trial.share is None:
        return None
    return used_rows(data.rows, trial.rows, trial.share, data.name)


def identified(trials: Sequence[Trial], data: Mapping[str, PreparedData]) -> list[Trial]:
    """The trials with their ids; `data` by workload.

    An id is the digest of all that defines what is run: the job (framework, version, adapter,
    variant, device, setting, seed, threads, graph, recipe, budget, data, confounds, inference,
    deterministic, save, weights), the lock and the variables of the release, the code of bench,
    the engine, the number of the repeat (repeats may have one seed), the point of a sweep, the
    limits and the GPUs. It says nothing of where or when. Graph, recipe and data come in as digests
    of their own, which are worked out once: thousands of trials share them.
    """
    heavy: dict[tuple[object, ...], dict[str, str]] = {}
    built: dict[tuple[str, str], dict[str, Any]] = {}
    named = []
    for trial in trials:
        job = job_of(trial, data[trial.workload])
        shared = trial.workload, trial.changes, trial.rows, trial.share, trial.confounds
        if shared not in heavy:
            heavy[shared] = {
                "graph": formats.digest(job["graph"]),
                "recipe": formats.digest(job["recipe"]),
                "data": formats.digest(job["data"]),
            }
        environment = trial.release, trial.device
        if environment not in built:
            built[environment] = software(releases.find(trial.release), trial.device)
        defining = {
            "job": {**job, **heavy[shared], "id": None},
            "point": trial.point,
            **built[environment],
            "engine": trial.engine,
            "repeat": trial.repeat,
            "limits": [trial.cpus, trial.memory_bytes, trial.seconds],
            "gpus": trial.gpus,
        }
        named.append(replace(trial, id=formats.digest(defining)[:16]))
    return named


def _limits(trial: Trial, release: Release) -> Limits:
    """The trial's limits; longer where the driver must compile all GPU code in the first step."""
    if trial.device == "gpu" and gpu_preflight.warning(release, trial.gpus):
        return replace(trial.limits, seconds=trial.seconds + gpu_fit.COMPILE_S)
    return trial.limits


def _cores(trial: Trial) -> int | None:
    """How many cores it is pinned to: as many as it has threads, and no more than its limit."""
    known = [trial.threads] if trial.threads is not None else []
    known += [math.ceil(trial.cpus)] if trial.cpus is not None else []
    return max(1, min(known)) if known else None


def _given(gpus: tuple[str, ...]) -> dict[str, str]:
    """The digests that bench compares with those of the GPUs that it sees."""
    known = digests(gpus) if gpus else ()
    return {"BENCH_GPUS": ",".join(known)} if known else {}


def request_of(
    trial: Trial,
    job: Job,
    data: PreparedData,
    *,
    folder: Path,
    environment: str,
    campaign: str,
    variables: Mapping[str, str] | None = None,
    libraries: tuple[Path, ...] = (),
) -> Request:
    """The request to run the job in `folder`, where job.json and out/ are made for it."""
    release = releases.find(trial.release)
    (folder / "out").mkdir(parents=True)
    write_json(folder / "job.json", job)
    return Request(
        trial=trial.id,
        campaign=campaign,
        environment=environment,
        bench=bench_folder(release.adapter_from),
        job=folder / "job.json",
        data=data.folder,
        weights=weights_store.path_of(job["weights"]) if job["weights"] else None,
        out=folder / "out",
        log=folder / "log.txt",
        limits=_limits(trial, release),
        cores=_cores(trial),
        gpus=trial.gpus,
        variables={**(variables or {}), **release.variables, **_given(trial.gpus)},
        libraries=libraries,
        cache=release.cache_folder(trial.device, trial.engine),
    )
