"""From the user's choices to the list of trials, in the order in which they will run.

Repeats are rounds: each round runs every contender once, in an order drawn from the seed, so that
a slow hour of the machine falls on all of them alike.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlbench import suites, workloads
from dlbench.environments import releases
from dlbench.environments.releases import Release
from dlbench.errors import UserError, check_known, unknown
from dlbench.host import gpu_preflight
from dlbench.planning.altered import model_of
from dlbench.planning.choices import Choices
from dlbench.planning.confound_sets import ConfoundSets
from dlbench.planning.extents import extents_of, points_for, recipe_epochs
from dlbench.planning.option_values import duration, parse_gpus, size, threads
from dlbench.planning.repeats import most_compared, planned_looks, repeats_needed, rivals
from dlbench.planning.rows import read_share
from dlbench.planning.seeds import EACH, read_seeds, seeds_for
from dlbench.planning.trial import MOST_TRIALS, Trial
from dlbench.shapes import shown
from dlbench.suites import Suite
from dlbench.suites.extent import NUMBERS
from dlbench.weights import store as weights_store
from dlbench.weights.canonical import fit
from dlbench.weights.store import Weights

DEVICES = ("cpu", "gpu")
SETTINGS = ("matched", "native")
_OF_BOTH = ("workloads", "devices", "settings", "repeats", "seed", "data", "time_limit")
"""What a suite says, and a user may say otherwise under the same name."""
_MOST_CPUS = 10_000
_LABEL = re.compile(r"[^\W_][\w .-]{0,59}")
"""It becomes part of a folder's name."""


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
            threads=point.threads or threads(choices.threads, setting, allotted),
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
    """As many as there are seeds in a list; else as many as the test needs."""
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
        **{name: getattr(choices, name) for name in _OF_BOTH},
        "releases": (*(choices.frameworks or suite.releases), *choices.against),
        "seeds": _seeds(suite, choices),
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
            check_known(kind, value, known)
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
    """The seeds that the user chose; None: those of the suite."""
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
