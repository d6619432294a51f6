"""More of a campaign that is there already: repeats, releases, workloads, seeds; all its points.

What is added runs under the conditions of what is there: they are read from its plan. It comes in
rounds of its own, behind the others: only what ran in one round counts as a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.planning.altered import model_of
from dlbench.planning.changes import changed, parsed
from dlbench.planning.choices import Choices
from dlbench.planning.extents import recipe_epochs
from dlbench.planning.plan import (
    check_number,
    check_trainable,
    find_contender,
    one_round,
)
from dlbench.planning.seeds import EACH, MOST_SEED, SAME, Seeds, is_same, read_seeds, seeds_for
from dlbench.planning.trial import Trial
from dlbench.statistics.words import listing

ADDED = ("frameworks", "against", "workloads", "repeats", "seed", "seeds", "until", "at_most")
"""The choices that mean something when a campaign is resumed."""


def refuse_ignored(given: frozenset[str]) -> None:
    """Name the options that would change nothing, before anything is done."""
    flags = [
        field.metadata["flag"]
        for field in fields(Choices)
        # an engine may be confirmed, and so may a file of weights
        if field.name in given and field.name not in (*ADDED, "engine", "weights")
    ]
    if flags:
        raise UserError(
            f"{listing(flags)} can't be changed in a campaign that has begun.",
            "With --resume you can add releases, --workload, --repeats, --seed and --seeds."
            f" Leave out {listing(flags)}, or start a new campaign.",
        )


def extension(planned: Sequence[Trial], choices: Choices) -> tuple[Trial, ...]:
    """The trials to be added, in the order in which they will run; their ids are not known yet."""
    there = {trial.contender: trial for trial in planned}
    seeds = {trial.repeat: trial.seed for trial in planned}
    made = max(seeds) + 1
    policy = _policy(choices, list(seeds.values()))
    wanted = _repeats(choices, made, policy)
    contenders = [*there.values(), *_new_contenders(planned, choices)]
    check_number(len(contenders), wanted)
    more = _added_seeds(policy, choices, list(seeds.values()), wanted - made)
    seeds |= {made + k: seed for k, seed in enumerate(more)}
    done = {(trial.contender, trial.repeat) for trial in planned}
    added: list[Trial] = []
    number = max(trial.round for trial in planned) + 1
    for repeat in range(wanted):
        missing = [t for t in contenders if (t.contender, repeat) not in done]
        if missing:
            seed = seeds[repeat]
            added += one_round(missing, repeat, seed, number, len(planned) + len(added))
            number += 1
    return tuple(added)


def _policy(choices: Choices, planned: Sequence[int]) -> Seeds:
    """What is added has seeds of the kind that is there, unless the user says otherwise."""
    if choices.seeds is not None:
        return read_seeds(choices.seeds)
    return SAME if is_same(planned) and choices.seed is None else EACH


def _added_seeds(
    policy: Seeds, choices: Choices, planned: Sequence[int], number: int
) -> Sequence[int]:
    """The seeds of the repeats that are added."""
    if policy == SAME and choices.seed is None:
        return [planned[0]] * number
    start = max(planned) + 1 if choices.seed is None else choices.seed
    added = seeds_for(policy, start, number)
    if not 0 <= start <= MOST_SEED or max(added, default=0) > MOST_SEED:
        raise UserError(f"--seed {start} is not possible.", f"Give one from 0 to {MOST_SEED:,}.")
    if policy == EACH and set(added) & set(planned):
        raise UserError(
            f"Seeds from {start} are in this campaign already.",
            f"Give a --seed above {max(planned)}.",
        )
    return added


def _repeats(choices: Choices, made: int, policy: Seeds) -> int:
    listed = len(policy) if isinstance(policy, tuple) else 0
    if choices.seeds is not None and (choices.repeats or made + listed) <= made:
        raise UserError(
            "With --resume, --seeds are those of the repeats that are added.",
            f"Add --repeats with more than the {made} that there are.",
        )
    if listed and choices.seed is not None:
        raise UserError(
            "--seed and a list of --seeds exclude each other.", "Leave one of them out."
        )
    if choices.seed is not None and (choices.repeats or 0) <= made:
        raise UserError(
            "With --resume, --seed is the seed of the first repeat that is added.",
            f"Add --repeats with more than the {made} that there are.",
        )
    if choices.repeats is not None and choices.repeats < made:
        raise UserError(
            f"--repeats {choices.repeats} would change nothing: {made} are planned already.",
            "Give a larger number.",
        )
    return choices.repeats or made + listed


def _new_contenders(planned: Sequence[Trial], choices: Choices) -> Iterator[Trial]:
    """What was named and is not in the plan, on every workload and device that is."""
    there = {trial.contender for trial in planned}
    old = dict.fromkeys((trial.release, trial.variant) for trial in planned)
    if choices.frameworks or choices.against or choices.workloads:
        _check_confounds(planned)
    found = [find_contender(name) for name in (*choices.frameworks, *choices.against)]
    new = dict.fromkeys((release.name, variant) for release, variant in found)
    for workload in dict.fromkeys((*(t.workload for t in planned), *choices.workloads)):
        check_trainable(workload)
        like = _like(planned, workload)
        for name, variant in {**old, **new}:
            release = releases.find(name)
            if (name, variant) in old and workload not in choices.workloads:
                continue
            for one in like:
                if one.device not in release.devices:
                    continue
                trial = replace(
                    one,
                    release=name,
                    variant=variant,
                    usual_variant=variant == release.variants[0],
                )
                if trial.contender not in there:
                    there.add(trial.contender)
                    yield trial


def _check_confounds(planned: Sequence[Trial]) -> None:
    """What is added gets the confounds of what is there: then these must be the same for all."""
    sets: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for trial in planned:
        who = trial.workload, trial.release, trial.variant, trial.device, trial.point
        sets.setdefault(who, set()).add(trial.confounds)
    if len({frozenset(each) for each in sets.values()}) > 1:
        raise UserError(
            "This campaign has confounds that belong to single releases or workloads: it can't be"
            " known what a new one would get.",
            "Add --repeats, or start a new campaign.",
        )


def _like(planned: Sequence[Trial], workload: str) -> list[Trial]:
    """A planned trial of each device, setting and point of this workload; else those of another
    one, with the epochs that this one would have had."""
    there = [trial for trial in planned if trial.workload == workload]
    others = [trial for trial in planned if trial.workload == planned[0].workload]
    places = {(t.device, t.setting, t.point, t.confounds): t for t in there or others}
    like = list(places.values())
    if there:
        return like
    # a number of epochs that is not a recipe's was chosen for all workloads
    chosen = (t.epochs for t in planned if t.epochs != recipe_epochs(t.workload))
    epochs = next(chosen, recipe_epochs(workload))
    swept = len({t.epochs for t in others}) > 1
    for trial in like:
        changed(workload, parsed(trial.changes), "--workload")  # refuses what this one can't be
        model_of(workload, trial.changes, trial.confounds)
    # a suite may have made-up data for single workloads, of which this one is none
    data = "real" if any(t.data == "real" for t in planned) else like[0].data
    return [
        replace(t, workload=workload, epochs=t.epochs if swept else epochs, data=data) for t in like
    ]
