"""What is said of a plan before it is run, each thing once: `dlbench plan` and `run` say the same.

What this machine does not have is refused here, and not by every trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dlbench import datasets, workloads
from dlbench.datasets import store
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.host.busyness import busy_sentence, busy_share
from dlbench.planning.altered import model_of
from dlbench.planning.recipes import rows_trained
from dlbench.planning.repeats import what_looks_do, what_repeats_show
from dlbench.planning.rows import used_rows
from dlbench.planning.trial import Trial
from dlbench.statistics.words import listing

if TYPE_CHECKING:
    from dlbench.running.workshop import Workshop

_Contender = tuple[str, tuple[str, ...]]
"""A release, and the GPUs that it is given."""


def notices(
    trials: Sequence[Trial], looks: Sequence[int], workshop: Workshop, *, busy: bool = True
) -> Iterator[str]:
    """What to know before the first trial; `busy`: also how busy the machine is."""
    check_limits(trials[0], workshop)
    refused = _refused(trials, workshop)
    if _none_is_left(trials, refused):
        yield f"None of these trials can run here: `dlbench run` would refuse. {' '.join(refused)}"
        return
    yield from workshop.engine.unenforced(trials[0].limits)
    yield from _threads(trials, workshop)
    for refusal, contenders in refused.items():  # one sentence a reason, not one a release
        names = list(dict.fromkeys(name for name, _ in contenders))
        yield f"GPU trials of {listing(names)} will end as `unsupported`. {refusal}"
    yield from _samples(trials)
    yield from _unfilled(trials)
    yield from _altered(trials)
    yield what_looks_do(looks) if looks else what_repeats_show(trials)
    if busy and (share := busy_share()) is not None and (sentence := busy_sentence(share)):
        yield sentence


def _samples(trials: Sequence[Trial]) -> Iterator[str]:
    real = {workloads.find(trial.workload).dataset for trial in trials if trial.data != "synthetic"}
    here = [name for name in sorted(real)
            if store.what_is_here(datasets.find(name)).word == "sample"]  # fmt: skip
    if here:
        yield (
            f"Of {listing(here)} a sample is here, not the official data (`dlbench data list`):"
            " results say so, and are compared with none of the whole data."
        )


def _unfilled(trials: Sequence[Trial]) -> Iterator[str]:
    """Where the data or the budget are too small for what a recipe says."""
    seen: set[tuple[object, ...]] = set()
    for trial in trials:
        name, changes, confounds = trial.workload, trial.changes, trial.confounds
        key = name, trial.point, changes, confounds, trial.rows, trial.share
        if key in seen:
            continue
        seen.add(key)
        recipe = model_of(name, changes, confounds).recipe
        data = datasets.find(workloads.find(name).dataset)
        whole = dict(zip(("train", "test"), data.rows, strict=True))
        used = used_rows(whole, trial.rows, trial.share, data.name) or whole
        rows, batch = rows_trained(recipe, used["train"]), recipe["batch"]
        which = f"{name} ({trial.point})" if trial.point else name
        if batch > rows:
            yield (
                f"{which}: its batch of {batch:,} is larger than the {rows:,} training rows; each"
                " step has all of these."
            )
        steps = trial.steps or trial.epochs * math.ceil(rows / batch)
        warmup = (recipe.get("schedule") or {}).get("warmup", 0)
        if warmup > steps:
            yield (
                f"{which}: its schedule warms up for {warmup:,} steps, and there are {steps:,}: the"
                " learning rate is never reached."
            )


def _altered(trials: Sequence[Trial]) -> Iterator[str]:
    altered = {trial.contender for trial in trials if trial.confounds}
    if not altered:
        return
    every = len({trial.contender for trial in trials})
    which = "All" if len(altered) == every else f"{len(altered)} of {every}"
    yield (
        f"{which} contenders are altered on purpose: they are shown apart and never ranked."
        " `dlbench judge` uses those that are as a study published them."
    )


def _threads(trials: Sequence[Trial], workshop: Workshop) -> Iterator[str]:
    """Who is asked for more threads than there are cores for them."""
    most = max(trial.threads or 1 for trial in trials)
    if most == 1:
        return
    cores, _ = _cores_and_memory(workshop)
    within = min(each for each in (trials[0].cpus, cores, most) if each)
    if most > math.ceil(within):
        yield (
            f"{most:,} threads share {within:g} {'core' if within == 1 else 'cores'}: a trial gets"
            " no more cores than there are, and some frameworks make no more threads than that."
        )


def _cores_and_memory(workshop: Workshop) -> tuple[float, int]:
    """Of the machine that runs the trials; 0: not known."""
    from dlbench.host.machine import fingerprint

    if workshop.client is not None:  # the daemon may be on another machine
        info = workshop.client.info()
        return float(info.get("NCPU") or 0), int(info.get("MemTotal") or 0)
    here = fingerprint()
    return here.cores_usable, here.memory_bytes or 0


def check_limits(trial: Trial, workshop: Workshop) -> None:
    """Refuse more cores or memory than there are: no trial could get them."""
    if trial.cpus is None and trial.memory_bytes is None:
        return
    cores, memory = _cores_and_memory(workshop)
    if trial.cpus is not None and cores and trial.cpus > cores:
        raise UserError(
            f"--cpus {trial.cpus:g} is more than the {cores:g} cores that can be used here.",
            f"Give at most {cores:g}, or leave it out.",
        )
    if trial.memory_bytes is not None and memory and trial.memory_bytes > memory:
        raise UserError(
            f"--memory {trial.memory_bytes / 2**30:g}g is more than the {memory / 2**30:.1f} GiB"
            " of memory here.",
            f"Give at most {memory // 2**20}m, or leave it out.",
        )


def check_gpus(trials: Sequence[Trial], workshop: Workshop) -> None:
    """Refuse a campaign of which no trial could run: it would only record that, many times."""
    refused = _refused(trials, workshop)
    if _none_is_left(trials, refused):
        raise UserError(" ".join(refused), "Leave out --gpu and --device gpu to run on the CPU.")


def _refused(trials: Sequence[Trial], workshop: Workshop) -> dict[str, list[_Contender]]:
    """The releases that can't use the GPUs they were given, by the reason."""
    refused: dict[str, list[_Contender]] = {}
    for name, gpus in dict.fromkeys((t.release, t.gpus) for t in trials if t.device == "gpu"):
        if refusal := workshop.gpu_refusal(releases.find(name), gpus):
            refused.setdefault(refusal, []).append((name, gpus))
    return refused


def _none_is_left(trials: Sequence[Trial], refused: Mapping[str, list[_Contender]]) -> bool:
    hopeless = {each for contenders in refused.values() for each in contenders}
    return all(t.device == "gpu" and (t.release, t.gpus) in hopeless for t in trials)
