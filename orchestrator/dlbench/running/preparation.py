"""What a campaign needs before its first trial: data and environments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench import datasets, workloads
from dlbench.datasets import store
from dlbench.environments import releases
from dlbench.environments.progress import Step
from dlbench.errors import UserError
from dlbench.planning import recipes
from dlbench.planning.altered import model_of
from dlbench.planning.graph import GraphError
from dlbench.planning.regions import proposals_of
from dlbench.planning.targets import read_as_whole, values_allowed
from dlbench.planning.trial import Trial
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.jobs import rows_of
from dlbench.running.workshop import Workshop
from dlbench.weights import store as weights_store
from dlbench.weights.canonical import fit, read_canonical
from dlbench.weights.store import words_of
from dlbench.workloads import Workload

Environments = Mapping[tuple[str, str], str | UserError]
"""What the engine starts, by (release, device); or why there is nothing to start."""


class GpuImpossible(UserError):
    """A GPU trial that is refused before it starts."""


def prepare_data(
    trials: Sequence[Trial], observer: CampaignObserver
) -> dict[str, store.PreparedData]:
    """The data of each workload, made ready and held against its graph and recipe."""
    prepared: dict[str, store.PreparedData] = {}
    fitting: set[tuple[object, ...]] = set()
    for trial in trials:
        workload = workloads.find(trial.workload)
        if trial.workload not in prepared:
            source: datasets.Source = "synthetic" if trial.data == "synthetic" else "real"
            data = store.prepare(
                datasets.find(workload.dataset),
                source,
                lambda text: observer.preparing(Step("data", text)),
            )
            prepared[trial.workload] = data
            _ = data.rows  # read while they are there: results are recorded by them
        used = trial.workload, trial.changes, trial.confounds, trial.rows, trial.share
        if used not in fitting:
            model = model_of(trial.workload, trial.changes, trial.confounds)
            data = prepared[trial.workload]
            own = replace(workload, graph=model.graph, recipe=model.recipe)
            read = data
            if any(each["name"] == "chosen-on-test" for each in model.confounds):
                read = replace(data, splits={**data.splits, "validation": data.splits["test"]})
            check_fit(own, read, rows_of(trial, data))
            fitting.add(used)
    return prepared


def check_weights(trials: Sequence[Trial], file: str | None, folder: Path) -> None:
    """Before a campaign goes on: the weights that its trials start from must be at hand, the same
    ones, and fit. `file` is given where they have to come from there again."""
    again = weights_store.read(file) if file else None
    for digest in dict.fromkeys(trial.weights for trial in trials):
        own = [trial for trial in trials if trial.weights == digest]
        words = words_of(own[0].weights_file, digest) if digest else "the seed"
        if again and again.digest != digest:
            raise UserError(
                f"{again.words} does not hold the weights that {folder} was begun with, those of"
                f" {words}.",
                "Leave out --weights, or give the file that it was begun with.",
            )
        if not digest:
            continue
        if again:
            weights_store.keep(again)
        elif not weights_store.is_whole(digest):
            raise UserError(
                f"The weights that {folder} was begun with, {words}, are no longer in dlbench's"
                " cache, or were changed there.",
                f"Give the file again: `dlbench run --resume {folder} --weights FILE`.",
            )
        arrays = again.arrays if again else read_canonical(weights_store.path_of(digest))
        models = dict.fromkeys((trial.workload, trial.changes, trial.confounds) for trial in own)
        for name, changes, confounds in models:
            graph = model_of(name, changes, confounds).graph
            fit(arrays, graph, own[0].weights_file, name)


def check_fit(
    workload: Workload, data: store.PreparedData, rows: Mapping[str, int] | None = None
) -> None:
    """Refuse data that the workload can't read; `rows`: how many rows of each split are used, where
    that is not all."""
    shapes, stopping = data.shapes("train"), workload.recipe.get("stopping")
    if rows is not None:
        shapes = {name: (rows["train"], *shape[1:]) for name, shape in shapes.items()}
    try:
        recipes.check_data(workload.graph, workload.recipe, shapes)
        if stopping and stopping["validation"] is None and "validation" not in data.splits:
            raise GraphError(
                "The data have no split 'validation' to tell when to stop: a share of the training"
                " rows can stand for it (stopping's `validation`)."
            )
    except GraphError as error:
        raise _unfit(workload, error) from error
    check_arrays(workload, workload.graph, data)


def check_arrays(workload: Workload, graph: Mapping[str, Any], data: store.PreparedData) -> None:
    """Refuse data whose arrays are not of the shape, or hold other numbers, than this graph of the
    workload, which may be its smaller one, and the recipe read."""
    try:
        for split in data.splits:
            recipes.check_arrays(graph, workload.recipe, data.shapes(split))
            if not proposals_of(graph):
                _check_values(graph, workload.recipe, data, split)
    except GraphError as error:
        raise _unfit(workload, error) from error


def _check_values(
    graph: Mapping[str, Any], recipe: Mapping[str, Any], data: store.PreparedData, split: str
) -> None:
    whole, allowed = read_as_whole(graph, recipe), values_allowed(graph, recipe)
    for name in sorted(whole | allowed.keys()):
        values = data.array(split, name)
        if name in whole and values.dtype.kind not in "iub":
            raise GraphError(f"The array {name!r} of {split} does not hold whole numbers.")
        low, high, what = allowed.get(name, (-math.inf, math.inf, ""))
        if values.size and not (low <= values.min() and values.max() <= high):
            raise GraphError(
                f"The array {name!r} of {split} has values from {values.min():g} to"
                f" {values.max():g}; the {what} go from {low:g} to {high:g}."
            )


def _unfit(workload: Workload, error: GraphError) -> UserError:
    return UserError(
        f"{workload.name} can't be trained on {workload.dataset}: {error}",
        "Correct the workload or the data set.",
    )


def prepare_environments(
    trials: Sequence[Trial], workshop: Workshop, observer: CampaignObserver
) -> Environments:
    """Each release's environment. A failure is kept for its trials, unless nothing else is left."""
    wanted = sorted({(trial.release, trial.device) for trial in trials})
    environments: dict[tuple[str, str], str | UserError] = {}
    for name, device in wanted:
        release = releases.find(name)
        own = [trial for trial in trials if (trial.release, trial.device) == (name, device)]
        refusals = [
            refusal_of(trial, workshop) for trial in {trial.gpus: trial for trial in own}.values()
        ]
        if all(refusals) and refusals[0] is not None:  # on another GPU it may work
            environments[name, device] = refusals[0]
            continue
        try:  # what is known to fail is said before hours go into making the others
            workshop.check(release, device)
        except UserError as error:
            _keep(error, name, len(wanted), observer)
            environments[name, device] = error
    for name, device in wanted:
        if (name, device) in environments:
            continue
        try:
            environments[name, device] = workshop.environment(
                releases.find(name), device, observer.preparing
            )
        except UserError as error:
            _keep(error, name, len(wanted), observer)
            environments[name, device] = error
    failures = [e for e in environments.values() if isinstance(e, UserError)]
    if failures and len(failures) == len(wanted) and not isinstance(failures[0], GpuImpossible):
        raise failures[0]
    return environments


def refusal_of(trial: Trial, workshop: Workshop) -> GpuImpossible | None:
    """Why this trial can't use the GPUs that it is given; None: nothing is known against it."""
    if trial.device != "gpu":
        return None
    refusal = workshop.gpu_refusal(releases.find(trial.release), trial.gpus)
    return GpuImpossible(refusal) if refusal else None


def _keep(error: UserError, name: str, wanted: int, observer: CampaignObserver) -> None:
    """A failure of one release ends its own trials; the only one ends the campaign."""
    if wanted == 1:
        raise error
    observer.note(f"{name} will not run. {error}")
