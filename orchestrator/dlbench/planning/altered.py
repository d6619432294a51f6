"""The model of a planned trial: its workload's, with changes of the recipe and confounds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from dlbench import datasets, extensions
from dlbench.confounds import catalog
from dlbench.confounds.confound import Altered, DoesNotApply
from dlbench.errors import UserError
from dlbench.extensions import Extension
from dlbench.planning.changes import proven, workload_of
from dlbench.planning.recipes import Recipe


@dataclass(frozen=True)
class Model:
    """What a trial trains, and what is wrong on purpose."""

    graph: dict[str, Any]
    proof_graph: dict[str, Any]
    recipe: Recipe
    divide: Mapping[str, float] | None
    """What the arrays are divided by; None: by what the data say."""
    confounds: tuple[dict[str, object], ...] = ()
    """As the job has them."""


def model_of(
    workload: str, changes: tuple[str, ...] = (), confounds: tuple[str, ...] = ()
) -> Model:
    """The model; a confound that does not apply is refused with a sentence that says why."""
    if not confounds:
        own = workload_of(workload, changes)
        return Model(own.graph, own.proof_graph, own.recipe, None)
    try:
        return _altered(workload, changes, confounds, extensions.search_path())
    except DoesNotApply as error:
        raise UserError(refusal(confounds, workload, error), "Leave it out.") from error


def check(workload: str, changes: tuple[str, ...], confounds: tuple[str, ...]) -> str:
    """Why these confounds do not change this workload; empty: they do, each of them."""
    try:
        catalog.apply(_plain(workload, changes), confounds, strict=True)
    except DoesNotApply as error:
        return refusal(confounds, workload, error)
    return ""


def to_be_proven(
    changes: tuple[str, ...], confounds: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The changes and the confounds that need a proof of their own.

    A confound may take a value from the recipe: then all its changes belong to it."""
    own = catalog.of_model(confounds)
    return changes if own else proven(changes), own


def refusal(confounds: tuple[str, ...], workload: str, error: DoesNotApply) -> str:
    return f"{' + '.join(confounds)} does not apply to {workload}: {error}."


@cache
def _altered(
    workload: str,
    changes: tuple[str, ...],
    confounds: tuple[str, ...],
    _search_path: tuple[Extension, ...],
) -> Model:
    plain = _plain(workload, changes)
    altered = catalog.apply(plain, confounds)
    own = workload_of(workload, changes)
    proof = altered.graph
    if own.proof is not None:
        small = Altered(own.proof, plain.recipe, plain.divide)
        with suppress(DoesNotApply):  # too small for it: the proof is of the model itself
            proof = catalog.apply(small, confounds).graph
    jobs = tuple(catalog.in_job(confounds, altered))
    return Model(altered.graph, proof, altered.recipe, altered.divide, jobs)


def _plain(workload: str, changes: tuple[str, ...]) -> Altered:
    own = workload_of(workload, changes)
    data = datasets.find(own.dataset)
    return Altered(own.graph, own.recipe, dict(data.divide))
