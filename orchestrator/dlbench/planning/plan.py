"""From the user's choices to the list of trials, in the order in which they will run.

Repeats are rounds: each round runs every contender once, in an order drawn from the seed, so that
a slow hour of the machine falls on all of them alike.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dlbench import suites, workloads
from dlbench.confounds.confound import marked
from dlbench.engines.base import Limits
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError, unknown
from dlbench.host import gpu_preflight
from dlbench.planning.altered import model_of
from dlbench.planning.choices import Choices
from dlbench.planning.confound_sets import ConfoundSets
from dlbench.planning.extents import extents_of, points_for, recipe_epochs
from dlbench.planning.points import MOST_THREADS
from dlbench.planning.repeats import most_compared, planned_looks, repeats_needed, rivals
from dlbench.planning.rows import read_share
from dlbench.planning.seeds import EACH, read_seeds, seeds_for
from dlbench.shapes import SECONDS, instance_of, label, list_of, number, optional, shown, whole
from dlbench.suites import Suite
from dlbench.suites.extent import NUMBERS
from dlbench.weights import store as weights_store
from dlbench.weights.canonical import fit
from dlbench.weights.store import Weights

VERSION = 1
"""Of a line of plan.jsonl."""
MOST_TRIALS = 100_000
"""In one campaign."""
DEVICES = ("cpu", "gpu")
SETTINGS = ("matched", "native")
_LABEL = re.compile(r"[^\W_][\w .-]{0,59}")
"""It becomes part of a folder's name."""


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
    inference: bool = False
    save: bool = False
    usual_variant: bool = True
    """Whether `variant` is the release's usual one, which need not be named."""
    point: str = ""
    """The values of what is swept: `batch=8 threads=2`."""
    changes: tuple[str, ...] = ()
    """What differs from the workload's recipe: `batch=8`, `optimizer.lr=0.1`."""
    scale: str = ""
    """The scale that was asked for: `smoke`, `0.01`; empty: none."""
    rows: int | None = None
    """The most rows of each split; None: all."""
    share: float | None = None
    """The share of the rows of each split; None: all."""
    weights: str = ""
    """The digest of the weights that it starts from; empty: those of the seed."""
    weights_file: str = ""
    """The name of the file that they came from, for people."""
    confounds: tuple[str, ...] = ()
    """What is wrong in it on purpose: `no-dropout`, `batchnorm-keep:keep=0.95`."""
    deterministic: bool = False
    """Whether the framework is asked for kernels that repeat to the last bit."""

    @property
    def compared_device(self) -> str:
        """The device as comparisons name it: `cpu`, `gpu`, or one GPU of several, `gpu:1`."""
        return f"gpu:{self.gpus[0]}" if self.own_gpu else self.device

    @property
    def contender(self) -> tuple[str, ...]:
        """Who it is a replicate of: what all its repeats have in common."""
        own = self.release, self.variant, self.compared_device
        return self.workload, *own, self.setting, self.point, self._kernels, *self.confounds

    @property
    def case(self) -> tuple[str, ...]:
        """Where contenders are compared with each other: those with confounds never with others."""
        altered = "altered" if self.confounds else ""
        return self.workload, self.device, self.setting, self.point, self._kernels, altered

    @property
    def _kernels(self) -> str:
        return "deterministic" if self.deterministic else ""

    @property
    def place(self) -> str:
        """What people read: the workload, with the point of a sweep."""
        return f"{self.workload} ({self.point})" if self.point else self.workload

    @property
    def limits(self) -> Limits:
        return Limits(cpus=self.cpus, memory_bytes=self.memory_bytes, seconds=self.seconds)

    @property
    def label(self) -> str:
        """What people read: the release, with a variant that is not the usual, and confounds."""
        return marked(self.plain_label, self.confounds)

    @property
    def plain_label(self) -> str:
        """The same without confounds."""
        return self.release if self.usual_variant else f"{self.release}:{self.variant}"

    def to_json(self) -> dict[str, Any]:
        """A line of plan.jsonl."""
        return {"v": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Trial:
        """From a line of plan.jsonl, checked; one without a version is of version 1."""
        trial: Trial = _LINE(content)
        return trial


_LINE = instance_of(
    Trial, id=label, release=label, workload=label, device=label, engine=label, setting=label,
    variant=label, data=label, seconds=SECONDS, threads=optional(whole(1)),
    cpus=optional(number(0.0, 1e6)), memory_bytes=optional(whole(1, 2**60)),
    gpus=list_of(label, 64), point=label, changes=list_of(label, 100), scale=label,
    rows=optional(whole(1)), share=optional(number(0.0, 1.0)), weights=label,
    weights_file=label, confounds=list_of(label, 100),
)  # fmt: skip


@dataclass(frozen=True)
class Draft:
    """Trials without their ids, which need the data; and what had to be left out, and why."""

    suite: Suite
    trials: tuple[Trial, ...]
    notes: tuple[str, ...]
    looks: tuple[int, ...] = ()
    """With `--until decided`: after how many repeats the results are looked at."""
    weights: Weights | None = None
    """What all trials start from; None: the seed."""


def draft(choices: Choices, engine: str, cores: float | None = None) -> Draft:
    """Plan the trials. Everything misspelt or impossible is found here.

    `cores`: how many trials may use, where that is not what this process may use."""
    suite = _merged(suites.find(choices.suite), choices)
    own_gpu = choices.gpu == "each"
    given = gpu_preflight.each() if own_gpu else gpu_preflight.in_order(parse_gpus(choices.gpu))
    selections = [(one,) for one in given] if own_gpu else [given]
    if choices.label is not None and not _LABEL.fullmatch(choices.label):
        raise UserError(
            f"{choices.label!r} can't be the name of a campaign.",
            "Use up to 60 letters, digits, spaces, `.`, `_` and `-`, a letter or digit first.",
        )
    memory = size(choices.memory) if choices.memory else None
    if choices.cpus is not None and not 0.01 <= choices.cpus <= _MOST_CPUS:
        raise UserError(
            f"--cpus {choices.cpus:g} is not possible.",
            f"Give a number from 0.01 to {_MOST_CPUS:,}.",
        )
    allotted = allotted_cores(choices.cpus, cores)
    notes: list[str] = []
    sets = ConfoundSets(choices, suite.name, notes)
    extents = extents_of(suite, _every(suite.workloads), choices)
    points = {name: points_for(name, extent, choices) for name, extent in extents.items()}
    start = weights_store.read(choices.weights) if choices.weights else None
    contenders = [
        Trial(
            id="",
            release=release.name,
            workload=workload,
            device=device,
            engine=engine,
            setting=setting,
            variant=variant,
            seed=suite.seed,
            epochs=point.epochs or extents[workload].epochs or recipe_epochs(workload),
            steps=point.steps or (None if point.epochs else extents[workload].steps),
            data=extents[workload].data or suite.data,
            threads=point.threads or _threads(choices.threads, setting, allotted),
            cpus=choices.cpus,
            memory_bytes=memory,
            seconds=duration(suite.time_limit),
            gpus=gpus,
            own_gpu=own_gpu and device == "gpu",
            inference=suite.inference,
            save=suite.save,
            usual_variant=variant == release.variants[0],
            point=point.text,
            changes=point.changes,
            scale=suite.scale,
            rows=extents[workload].rows,
            share=extents[workload].share,
            weights=start.digest if start else "",
            weights_file=start.name if start else "",
            confounds=confounds,
            deterministic=choices.deterministic,
        )
        for workload, release, variant, device, setting in _contenders(
            suite, notes, explicit=bool(choices.frameworks)
        )
        for gpus in (selections if device == "gpu" else [()])
        for point in points[workload]
        for confounds in sets.of(workload, release.name, variant, point.changes)
    ]
    sets.check_used()
    if not contenders:
        raise UserError("Nothing is left to run.", " ".join(notes))
    if start:
        notes += starting_notes(contenders, start)
    on_gpu = {t.release: releases.find(t.release) for t in contenders if t.device == "gpu"}
    for selection in selections if on_gpu else ():
        notes += gpu_preflight.notes(selection, on_gpu.values())
    ranked = rivals([trial for trial in contenders if not trial.confounds])
    looks = planned_looks(ranked, suite.repeats, choices.until, choices.at_most)
    repeats = looks[0] if looks else suite.repeats or _usual_repeats(suite, contenders)
    check_number(len(contenders), looks[-1] if looks else repeats)
    trials: list[Trial] = []
    for repeat, seed in enumerate(seeds_for(suite.seeds, suite.seed, repeats)):
        trials += one_round(contenders, repeat, seed, repeat, len(trials))
    return Draft(suite, tuple(trials), tuple(notes), looks, start)


def starting_notes(trials: Sequence[Trial], start: Weights) -> Iterator[str]:
    """What comes from a file of weights, a sentence each; refuses one that does not fit."""
    yield (
        f"Every repeat starts from the weights of {start.words}; batches and dropout still follow"
        " the seed."
    )
    said = []
    models = dict.fromkeys((trial.workload, trial.changes, trial.confounds) for trial in trials)
    for name, changes, confounds in models:
        settings = tuple(sorted({t.setting for t in trials if t.workload == name}))
        graph = model_of(name, changes, confounds).graph
        found = fit(start.arrays, graph, start.name, name)
        said.append(found.sentence(name, settings))
    yield from dict.fromkeys(said)


def _usual_repeats(suite: Suite, contenders: Sequence[Trial]) -> int:
    """As many as there are seeds; else what the test needs."""
    if isinstance(suite.seeds, tuple):
        return len(suite.seeds)
    return repeats_needed(most_compared(contenders))


def allotted_cores(cpus: float | None, cores: float | None = None) -> int:
    """The cores of each trial: those that can be used here (or `cores`), within `--cpus`."""
    from dlbench.host.machine import usable_cores

    usable = usable_cores() if cores is None else cores
    # A core of which a part is allowed is one that can be used.
    return max(1, math.ceil(min(usable, cpus if cpus is not None else usable)))


def check_number(contenders: int, repeats: int) -> None:
    if contenders * repeats > MOST_TRIALS:
        raise UserError(
            f"{contenders} contenders with {repeats:,} repeats are more than the"
            f" {MOST_TRIALS:,} trials that a campaign may have.",
            "Choose fewer repeats.",
        )


def one_round(
    contenders: Sequence[Trial], repeat: int, seed: int, number: int, index: int
) -> list[Trial]:
    """Each contender once, in an order drawn from the seed; `index` is that of the first."""
    order = list(contenders)
    random.Random(f"{seed - repeat}/{repeat}").shuffle(order)
    return [
        replace(trial, id="", index=index + place, round=number, repeat=repeat, seed=seed)
        for place, trial in enumerate(order)
    ]


def _merged(suite: Suite, choices: Choices) -> Suite:
    """The suite with the user's choices over it."""
    if choices.epochs is not None and choices.steps is not None:
        raise UserError("--epochs and --steps exclude each other.", "Give one of them.")
    if choices.scale is not None:
        named = read_share(choices.scale) is None
        suite = suite.at(choices.scale) if named else replace(suite, scale=choices.scale)
    changes: dict[str, Any] = {
        "releases": (*(choices.frameworks or suite.releases), *choices.against),
        "workloads": choices.workloads,
        "devices": choices.devices,
        "settings": choices.settings,
        "repeats": choices.repeats,
        "seed": choices.seed,
        "seeds": _seeds(suite, choices),
        "data": choices.data,
        "time_limit": choices.time_limit,
        "inference": choices.inference or None,
        "save": choices.save or None,
    }
    if choices.gpu is not None and choices.devices in (("cpu",), ("gpu",)):
        if choices.gpu != "each":
            parse_gpus(choices.gpu)
        (device,) = choices.devices
        if (device == "gpu") == (choices.gpu == "none"):
            raise UserError(
                f"`--gpu {choices.gpu}` and `--device {device}` contradict each other.",
                "Leave one of them out.",
            )
    if choices.gpu not in (None, "none") and not choices.devices:
        changes["devices"] = ("gpu",)
    if choices.gpu == "none":
        changes["devices"] = ("cpu",)
    merged = replace(suite, **{k: v for k, v in changes.items() if v not in (None, ())})
    for kind, values, known in (
        ("device", merged.devices, DEVICES),
        ("setting", merged.settings, SETTINGS),
    ):
        for value in values:
            if value not in known:
                raise unknown(kind, value, known)
    for name, (least, most) in NUMBERS.items():
        value = getattr(choices, name)
        value = getattr(merged, name) if value is None else value
        if value is not None and not least <= value <= most:
            raise UserError(
                f"--{name} {shown(value)} is not possible.",
                f"Give a number from {least} to {most:,}.",
            )
    return merged


def _seeds(suite: Suite, choices: Choices) -> tuple[int, ...] | str | None:
    """What the user says of the seeds; None: nothing."""
    listed = isinstance(suite.seeds, tuple)
    if choices.seeds is None:
        return EACH if listed and (choices.seed is not None or choices.until) else None
    seeds = read_seeds(choices.seeds)
    if isinstance(seeds, tuple):
        for option, value in (("--seed", choices.seed), ("--until", choices.until)):
            if value is not None:
                raise UserError(
                    f"{option} and a list of --seeds exclude each other.", "Leave one of them out."
                )
    return seeds


_MOST_CPUS = 10_000
_LEAST_MEMORY = 6 * 2**20
_MOST_MEMORY = 1 << 50


def _contenders(
    suite: Suite, notes: list[str], explicit: bool
) -> Iterator[tuple[str, Release, str, str, str]]:
    """Each once, however often and in whatever spelling it was named."""
    found = [find_contender(name) for name in _every_release(suite.releases)]
    named = {(release.name, variant): (release, variant) for release, variant in found}
    for workload in dict.fromkeys(workloads.find(name).name for name in _every(suite.workloads)):
        check_trainable(workload)
        for release, variant in named.values():
            for device in dict.fromkeys(suite.devices):
                if device not in release.devices:
                    if explicit and len(set(suite.devices)) == 1:
                        release.lock(device)  # raises: the user chose just this
                    note = f"{release.name} has no packages for device {device!r}: left out."
                    notes += [note] if note not in notes else []
                    continue
                for setting in dict.fromkeys(suite.settings):
                    yield workload, release, variant, device, setting


def _every(names: tuple[str, ...]) -> tuple[str, ...]:
    """The named workloads; `all` names every one that can be trained."""
    if "all" not in names:
        return names
    return tuple(name for name, each in workloads.workloads().items() if not each.only_proof)


def _every_release(names: tuple[str, ...]) -> Iterator[str]:
    """The named releases; `all` names every one, `newest` the newest of each framework."""
    shipped = [r for r in releases.load_releases() if r.framework != _REFERENCE]
    last = {r.framework: r.version.partition("-")[0] for r in shipped}
    for name in names:
        if name == "all":
            yield from (r.name for r in shipped)
        elif name == "newest":  # in each of its builds: Keras 3 runs on three frameworks
            yield from (r.name for r in shipped if r.version.partition("-")[0] == last[r.framework])
        else:
            yield name


_REFERENCE = "numpy"
"""What the others are proven against; it runs only where somebody names it."""


def check_trainable(workload: str) -> None:
    if workloads.find(workload).only_proof:
        raise UserError(
            f"{workload} is there to be certified, not to be trained.",
            f"Use `dlbench verify --workload {workload}`.",
        )


def find_contender(name: str) -> tuple[Release, str]:
    """(release, variant) of `mxnet`, `mxnet@1.3.0` or `mxnet@1.3.0:imperative`."""
    plain, _, variant = name.partition(":")
    release = releases.find(plain)
    if variant and variant not in release.variants:
        raise unknown(f"variant of {release.name}", variant, release.variants)
    return release, variant or release.variants[0]


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `15m`, `24h` or `2d`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|m|h|d)?", text.strip())
    found = float(match[1]) * _UNITS_S[match[2] or "s"] if match else 0.0
    if not 0 < found <= _MOST_SECONDS:
        raise UserError(
            f"{shown(text)} is not a time that a trial can take.",
            "Write it as 90s, 15m, 24h or 2d, up to 1000d.",
        )
    return found


_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MOST_SECONDS = 1000 * 86400.0


def size(text: str) -> int:
    """Bytes of `512m`, `4g` or a plain number."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt])?i?b?", text.strip().lower())
    found = float(match[1]) * 1024 ** " kmgt".index(match[2] or " ") if match else 0.0
    if not _LEAST_MEMORY <= found <= _MOST_MEMORY:
        raise UserError(
            f"{shown(text)} is not an amount of memory that a trial can have.",
            "Write it as 512m or 4g, from 6m (the least that Docker gives) up to 1024t.",
        )
    return int(found)


def _threads(text: str, setting: str, allotted: int) -> int | None:
    """None leaves the framework's own defaults alone, which is what `native` is about."""
    if text == "default":
        return allotted if setting == "matched" else None
    found = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not 1 <= found <= MOST_THREADS:
        raise UserError(
            f"--threads {shown(text)} is not possible.",
            f"Give `default` or a number from 1 to {MOST_THREADS:,}.",
        )
    return found


def parse_gpus(text: str | None) -> tuple[str, ...]:
    """The GPUs of `all`, `0,1` or a UUID; nothing said means all."""
    if text is None or text == "none":
        return ("all",)
    chosen = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in chosen or (text,):
        if not re.fullmatch(
            r"(nvidia\.com/gpu=)?(all|[0-9]{1,4}|(GPU|MIG)-[A-Za-z0-9/-]{1,100})", part
        ):
            raise UserError(
                f"{shown(part)} does not name a GPU.",
                "Give all, each, none, indices such as 0,1, or a UUID.",
            )
    return chosen
