"""From the user's choices to the list of trials, in the order in which they will run.

Repeats are rounds: each round runs every contender once, in an order drawn from the seed, so that
a slow hour of the machine falls on all of them alike.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from dlbench import suites, workloads
from dlbench.engines.base import Limits
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError, unknown
from dlbench.formats import check_version, known_fields
from dlbench.host import gpu_preflight
from dlbench.planning.choices import Choices
from dlbench.suites import Suite

VERSION = 1
"""Of a line of plan.jsonl."""
DEVICES = ("cpu", "gpu")
SETTINGS = ("matched", "native")
SOURCES = ("real", "synthetic")


@dataclass(frozen=True)
class Trial:
    """One trial to be run. Its id is the digest of what defines it (see running/jobs.py)."""

    id: str
    release: str
    workload: str
    device: str
    engine: str
    setting: str
    variant: str
    seed: int
    epochs: int
    seconds: float
    index: int = 0
    round: int = 0
    repeat: int = 0
    steps: int | None = None
    data: str = "real"
    threads: int | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    gpus: tuple[str, ...] = ()
    own_gpu: bool = False
    """Its GPU is a device of its own in the comparison (`--gpu each`)."""
    save: bool = False
    usual_variant: bool = True
    """Whether `variant` is the release's usual one, which need not be named."""

    @property
    def compared_device(self) -> str:
        """The device as comparisons name it: `cpu`, `gpu`, or one GPU of several, `gpu:1`."""
        return f"gpu:{self.gpus[0]}" if self.own_gpu else self.device

    @property
    def limits(self) -> Limits:
        return Limits(cpus=self.cpus, memory_bytes=self.memory_bytes, seconds=self.seconds)

    @property
    def label(self) -> str:
        """What people read: the release, with a variant that is not the usual one."""
        return self.release if self.usual_variant else f"{self.release}:{self.variant}"

    def to_json(self) -> dict[str, Any]:
        """A line of plan.jsonl."""
        return {"v": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Trial:
        """From a line of plan.jsonl; one without a version is of version 1."""
        check_version(content, VERSION, "plan.jsonl", missing=1)
        return cls(**{**known_fields(cls, content), "gpus": tuple(content["gpus"])})


@dataclass(frozen=True)
class Draft:
    """Trials without their ids, which need the data; and what had to be left out, and why."""

    suite: Suite
    trials: tuple[Trial, ...]
    notes: tuple[str, ...]


def draft(choices: Choices, engine: str) -> Draft:
    """Plan the trials. Everything misspelt or impossible is found here."""
    suite = _merged(suites.find(choices.suite), choices)
    own_gpu = choices.gpu == "each"
    selections = [(one,) for one in gpu_preflight.each()] if own_gpu else [parse_gpus(choices.gpu)]
    seconds = duration(suite.time_limit)
    threads = _threads(choices.threads)
    memory = size(choices.memory) if choices.memory else None
    if choices.cpus is not None and choices.cpus <= 0:
        raise UserError(f"--cpus {choices.cpus:g} is not possible.", "Give a positive number.")
    notes: list[str] = []
    contenders = list(_contenders(suite, notes, explicit=bool(choices.frameworks)))
    if not contenders:
        raise UserError("Nothing is left to run.", " ".join(notes))
    on_gpu = {release.name: release for _, release, _, device, _ in contenders if device == "gpu"}
    for selection in selections if on_gpu else ():
        notes += gpu_preflight.notes(selection, on_gpu.values())
    compared = [
        (*contender, gpus)
        for contender in contenders
        for gpus in (selections if contender[3] == "gpu" else [()])
    ]
    trials: list[Trial] = []
    for repeat in range(suite.repeats):
        order = list(compared)
        random.Random(f"{suite.seed}/{repeat}").shuffle(order)
        for workload, release, variant, device, setting, gpus in order:
            recipe = workloads.find(workload).recipe
            trials.append(
                Trial(
                    id="",
                    index=len(trials),
                    round=repeat,
                    release=release.name,
                    workload=workload,
                    device=device,
                    engine=engine,
                    setting=setting,
                    variant=variant,
                    seed=suite.seed + repeat,
                    repeat=repeat,
                    epochs=suite.epochs or recipe["epochs"],
                    steps=suite.steps,
                    data=suite.data,
                    threads=threads,
                    cpus=choices.cpus,
                    memory_bytes=memory,
                    seconds=seconds,
                    gpus=gpus,
                    own_gpu=own_gpu and device == "gpu",
                    save=choices.save,
                    usual_variant=variant == release.variants[0],
                )
            )
    return Draft(suite, tuple(trials), tuple(notes))


def _merged(suite: Suite, choices: Choices) -> Suite:
    """The suite with the user's choices over it."""
    if choices.epochs is not None and choices.steps is not None:
        raise UserError("--epochs and --steps exclude each other.", "Give one of them.")
    changes: dict[str, Any] = {
        "releases": choices.frameworks,
        "workloads": choices.workloads,
        "devices": choices.devices,
        "settings": choices.settings,
        "repeats": choices.repeats,
        "seed": choices.seed,
        "epochs": choices.epochs,
        "steps": choices.steps,
        "data": choices.data,
        "time_limit": choices.time_limit,
    }
    if choices.gpu not in (None, "none") and not choices.devices:
        changes["devices"] = ("gpu",)
    if choices.gpu == "none":
        changes["devices"] = ("cpu",)
    if choices.epochs is not None:
        suite = replace(suite, steps=None)
    if choices.steps is not None:
        suite = replace(suite, epochs=None)
    merged = replace(suite, **{k: v for k, v in changes.items() if v not in (None, ())})
    for kind, values, known in (
        ("device", merged.devices, DEVICES),
        ("setting", merged.settings, SETTINGS),
        ("kind of data", (merged.data,), SOURCES),
    ):
        for value in values:
            if value not in known:
                raise unknown(kind, value, known)
    for name in ("repeats", "epochs", "steps"):
        value = getattr(merged, name)
        if value is not None and value < 1:
            raise UserError(f"--{name} {value} is not possible.", "Give a number from 1.")
    return merged


def _contenders(
    suite: Suite, notes: list[str], explicit: bool
) -> Iterator[tuple[str, Release, str, str, str]]:
    for workload in _every(suite.workloads):
        if workloads.find(workload).only_proof:
            raise UserError(
                f"{workload} is there to be certified, not to be trained.",
                f"Use `dlbench verify --workload {workload}`.",
            )
        for name in suite.releases:
            release, variant = find_contender(name)
            for device in suite.devices:
                if device not in release.devices:
                    if explicit and len(suite.devices) == 1:
                        release.lock(device)  # raises: the user chose just this
                    notes.append(f"{release.name} has no packages for device {device!r}: left out.")
                    continue
                for setting in suite.settings:
                    yield workload, release, variant, device, setting


def _every(names: tuple[str, ...]) -> tuple[str, ...]:
    """The named workloads; `all` names every one that can be trained."""
    if "all" not in names:
        return names
    return tuple(name for name, each in workloads.workloads().items() if not each.only_proof)


def find_contender(name: str) -> tuple[Release, str]:
    """(release, variant) of `mxnet`, `mxnet@1.3.0` or `mxnet@1.3.0:imperative`."""
    plain, _, variant = name.partition(":")
    release = releases.find(plain)
    if variant and variant not in release.variants:
        raise unknown(f"variant of {release.name}", variant, release.variants)
    return release, variant or release.variants[0]


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `15m`, `24h` or `2d`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)?", text.strip())
    if not match or float(match[1]) <= 0:
        raise UserError(f"{text!r} is not a time.", "Write it as 90s, 15m, 24h or 2d.")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2] or "s"]


def size(text: str) -> int:
    """Bytes of `512m`, `4g` or a plain number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt])?i?b?", text.strip().lower())
    if not match or float(match[1]) <= 0:
        raise UserError(f"{text!r} is not an amount of memory.", "Write it as 512m or 4g.")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


def _threads(text: str) -> int | None:
    if text == "default":
        return None
    if not text.isdigit() or int(text) < 1:
        raise UserError(f"--threads {text} is not possible.", "Give `default` or a number from 1.")
    return int(text)


def parse_gpus(text: str | None) -> tuple[str, ...]:
    """The GPUs of `all`, `0,1` or a UUID; nothing said means all."""
    if text is None or text == "none":
        return ("all",)
    chosen = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in chosen:
        if not re.fullmatch(r"(nvidia\.com/gpu=)?(all|\d+|(GPU|MIG)-[\w/-]+)", part):
            raise UserError(
                f"{part!r} does not name a GPU.",
                "Give all, each, none, indices such as 0,1, or a UUID.",
            )
    return chosen
