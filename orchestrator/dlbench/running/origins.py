"""Which parts of a campaign did not ship with dlbench: recorded, and checked by `--resume`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench import datasets, extensions, formats, workloads
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from dlbench.extensions import BUILT_IN
from dlbench.planning.plan import Draft
from dlbench.planning.trial import Trial
from dlbench.running.bench_code import bench_digest


@dataclass(frozen=True)
class Origin:
    """One thing that somebody brought: what it is, where it came from, what it contained."""

    kind: str
    name: str
    origin: str
    """The name of the folder or package; not its path, which is nobody's business."""
    digest: str


def record(plan: Draft) -> list[dict[str, str]]:
    """What this plan uses that does not ship with dlbench, for campaign.json."""
    every = used(plan.trials)
    if plan.suite.origin != BUILT_IN:
        suite = plan.suite
        origin = Origin("suite", suite.name, suite.origin, formats.digest(asdict(suite)))
        every.append(asdict(origin))
    return every


def used(trials: Sequence[Trial]) -> list[dict[str, str]]:
    """What of these trials does not ship with dlbench."""
    return [asdict(origin) for origin in _used(trials)]


def check(recorded: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Raise what of the recorded things is missing now, or is no longer the same."""
    for entry in recorded:
        kind, name, origin = entry["kind"], entry["name"], entry["origin"]
        if kind == "suite":  # no longer needed: its trials are in the plan
            continue
        digest = _digest_now(kind, name)
        if digest is None:
            raise UserError(
                f"The {kind} {name!r} of {folder} came from {origin!r}, which is not searched.",
                "Name that folder with --path, or install that package.",
            )
        if digest != entry["digest"]:
            raise UserError(
                f"The {kind} {name!r} is no longer what it was when {folder} was planned.",
                f"Restore what {origin!r} contained, or start a new campaign.",
            )


def _used(trials: Sequence[Trial]) -> Iterator[Origin]:
    for name in sorted({trial.workload for trial in trials}):
        workload = workloads.find(name)
        if workload.origin != BUILT_IN:
            yield Origin("workload", name, workload.origin, _workload_digest(workload))
    for name in sorted({workloads.find(trial.workload).dataset for trial in trials}):
        dataset = datasets.find(name)
        if dataset.origin != BUILT_IN:
            yield Origin("data set", name, dataset.origin, dataset.revision)
    chosen = [releases.find(name) for name in sorted({trial.release for trial in trials})]
    for release in chosen:
        if release.origin != BUILT_IN:
            yield Origin("release", release.name, release.origin, _release_digest(release))
    for adapter, extension in sorted({(r.adapter, r.adapter_from) for r in chosen}, key=str):
        if extension:
            yield Origin("adapter", adapter, extension.name, bench_digest(extension))


def _digest_now(kind: str, name: str) -> str | None:
    """What the thing contains now; None where it is not there."""
    if kind == "workload" and (workload := workloads.workloads().get(name)):
        return _workload_digest(workload)
    if kind == "data set" and (dataset := datasets.datasets().get(name)):
        return dataset.revision
    if kind == "release" and name in {r.name for r in releases.load_releases()}:
        return _release_digest(releases.find(name))
    if kind == "adapter" and (adapter := extensions.adapters().get(name)):
        return bench_digest(adapter.extension)
    return None


def _workload_digest(workload: workloads.Workload) -> str:
    sizes = [workloads.find(name) for name in workload.sizes.values()]
    every = [part for each in (workload, *sizes) for part in (each.graph, each.recipe)]
    return formats.digest([*every, workload.dataset])


def _release_digest(release: Release) -> str:
    locks = {device: release.lock_digest(device) for device in release.devices}
    return formats.digest([locks, release.adapter, dict(release.variables)])
