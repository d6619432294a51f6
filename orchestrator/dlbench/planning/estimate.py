"""What a plan will cost: time from the model's arithmetic, disk and downloads from the locks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dlbench import datasets, workloads
from dlbench.datasets import store
from dlbench.environments import buildable, releases
from dlbench.environments.releases import Release
from dlbench.formats import digest
from dlbench.planning.altered import model_of, to_be_proven
from dlbench.planning.changes import workload_of
from dlbench.planning.flops import flops
from dlbench.planning.greedy_decoding import GREEDY
from dlbench.planning.rows import used_rows
from dlbench.planning.trial import Trial

if TYPE_CHECKING:
    from dlbench.running.workshop import Workshop

_FLOPS_A_CORE = 8e9
"""What frameworks get out of one core on models like these; measured on an ordinary server core."""
_STEP_S = 2e-3
_START_S = 6.0
_PREDICTIONS_S = 10.0
"""What `--inference` takes at most, of models whose predictions take less than a second."""
_DECODED = 1000
"""Test rows that are decoded."""
_PROOF_S = 15.0
"""What the certificate of one model in one release takes, once: 8 to 20 s of deep networks."""
_UNPACKED = {"cpu": 3.5, "gpu": 2.0}
"""An installed environment is about this many times the size of its wheels; CUDA's libraries shrink
less when they are packed."""


@dataclass(frozen=True)
class Need:
    """Something to be fetched or made before the first trial."""

    kind: str
    name: str
    bytes: int
    text: str


@dataclass(frozen=True)
class Forecast:
    trials: tuple[Trial, ...]
    seconds: tuple[float, ...]
    needs: tuple[Need, ...]
    download_bytes: int
    disk_bytes: int
    proofs: int = 0
    """Certificates that the trials need; those that were made before are kept, and cost nothing."""

    @property
    def proofs_s(self) -> float:
        """What all of them take together, where none is kept."""
        return _PROOF_S * self.proofs

    @property
    def total_s(self) -> float:
        """No trial takes longer than its limit: it is stopped then."""
        return sum(
            min(s, trial.seconds) for trial, s in zip(self.trials, self.seconds, strict=True)
        )

    @property
    def stopped(self) -> int:
        """Trials that would take longer than they may."""
        return sum(s > trial.seconds for trial, s in zip(self.trials, self.seconds, strict=True))

    def to_json(self) -> dict[str, Any]:
        return {
            "trials": [
                {**asdict(trial), "estimate_s": round(s, 1)}
                for trial, s in zip(self.trials, self.seconds, strict=True)
            ],
            "needs": [asdict(need) for need in self.needs],
            "total_s": round(self.total_s, 1),
            "stopped": self.stopped,
            "proofs": self.proofs,
            "proofs_s": round(self.proofs_s, 1),
            "download_bytes": self.download_bytes,
            "disk_bytes": self.disk_bytes,
        }


def forecast(trials: Sequence[Trial], workshop: Workshop) -> Forecast:
    possible = [trial for trial in trials if not _refused(trial, workshop)]
    pairs = sorted({(trial.release, trial.device) for trial in possible})
    needs, download, disk = environments_to_make(pairs, workshop)
    for own, wanted in sorted({(workloads.find(t.workload).dataset, t.data) for t in trials}):
        dataset = datasets.find(own)
        source: datasets.Source = "synthetic" if wanted == "synthetic" else "real"
        if not store.is_prepared(dataset, source):
            size = sum(item.bytes for item in dataset.downloads) if source == "real" else 0
            download += size
            disk += 2 * size
            text = f"{source} data set {dataset.name}: {_amount(dataset, source, size)}"
            needs.append(Need("data", dataset.name, size, text))
    cores = _cores(trials[0])
    return Forecast(
        tuple(trials),
        tuple(0.0 if _refused(trial, workshop) else _seconds(trial, cores) for trial in trials),
        tuple(needs),
        download,
        disk,
        len({_proof(trial) for trial in possible}),
    )


def _refused(trial: Trial, workshop: Workshop) -> bool:
    """Whether it ends at once, because this machine has no GPU for it."""
    return trial.device == "gpu" and bool(
        workshop.gpu_refusal(releases.find(trial.release), trial.gpus)
    )


def _proof(trial: Trial) -> tuple[object, ...]:
    """What has one certificate: models that share a graph and a recipe share it."""
    workload = workloads.find(trial.workload)
    dataset = datasets.find(workload.dataset)
    model = model_of(trial.workload, *to_be_proven(trial.changes, trial.confounds))
    return (
        (trial.release, trial.variant, trial.device, trial.gpus),
        (digest(model.proof_graph), digest(model.recipe), dataset.proof or dataset.synthetic),
    )


def environments_to_make(
    pairs: Iterable[tuple[str, str]], workshop: Workshop
) -> tuple[list[Need], int, int]:
    """What these releases and devices lack; bytes to download and bytes of disk, all together."""
    needs: list[Need] = []
    files: dict[str, int] = {}
    libraries: dict[str, int] = {}
    disk = 0
    for name, device in pairs:
        release = releases.find(name)
        if workshop.is_ready(release, device):
            continue
        lacking, archives, chosen = buildable.to_fetch(release, device)
        own = {file.sha256: file.size or 0 for file in lacking}
        packed = {archive.sha256: archive.about_bytes for archive in archives}
        own |= packed
        libraries |= packed  # at most as much again lies beside the archives
        files |= own  # releases share many packages
        disk += int(_UNPACKED[device] * _bytes_all(release, device))
        what = "image" if workshop.client is not None else "environment"
        text = f"{what} of {name} ({device}): {sum(own.values()) / 1e6:,.0f} MB to download"
        if buildable.waits_for_terms(chosen):
            text += ", after `dlbench images accept-cuda`"
        needs.append(Need(what, name, sum(own.values()), text))
    download = sum(files.values())
    return needs, download, disk + download + sum(libraries.values())


def _amount(dataset: datasets.Dataset, source: datasets.Source, size: int) -> str:
    if source == "real" and dataset.from_folder and not dataset.downloads:
        return f"from a folder of yours (`dlbench data fetch {dataset.name} --from DIR`)"
    if source == "real" and not all(item.bytes for item in dataset.downloads):
        return "an unknown number of MB to download"
    return f"{size / 1e6:,.0f} MB to download"


def _cores(trial: Trial) -> float:
    from dlbench.host.machine import usable_cores

    return min(trial.cpus or math.inf, usable_cores())


def _bytes_all(release: Release, device: str) -> int:
    from dlbench.environments import locks
    from dlbench.environments.targets import Target

    lock = locks.read(release.lock(device))
    pairs = lock.files_for(Target.here(release.python[0]))
    return sum(file.size or 0 for _, file in pairs)


def _seconds(trial: Trial, cores: float) -> float:
    workload = workload_of(trial.workload, trial.changes)
    data = datasets.find(workload.dataset)
    whole = dict(zip(("train", "test"), data.rows, strict=True))
    train, test = (used_rows(whole, trial.rows, trial.share, data.name) or whole).values()
    model = model_of(trial.workload, trial.changes, trial.confounds)
    batch = min(int(model.recipe["batch"]), train)
    steps = trial.steps or trial.epochs * math.ceil(train / batch)
    epochs = math.ceil(steps * batch / train)
    forward = flops(model.graph)
    work = forward * (3 * steps * batch + epochs * test)
    if "train" in workload.recipe["evaluate"]:
        work += forward * train
    for metric in workload.recipe["metrics"]:
        if metric["name"] == GREEDY:
            places = next(s for s in workload.graph["inputs"] if s["name"] == metric["input"])
            work += forward * min(test, _DECODED) * places["shape"][0]
    asked = _PREDICTIONS_S if trial.inference else 0.0
    return _START_S + asked + work / (_FLOPS_A_CORE * cores) + _STEP_S * steps
