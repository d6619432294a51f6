"""The trials of a campaign that speak for a study: which group stands for which of its contenders.

As intended: the models are equal, trials without confounds in the matched setting. As published:
trials that carry just the confounds that the study's code had in their framework, as `--as
published` runs them, and for contenders of which it had none the intended ones. A trial with any
others, such as one that was put back alone, speaks for neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import polars as pl

from dlbench.analysis.groups import Conditions, Group, cases_of
from dlbench.analysis.results import Results
from dlbench.statistics.words import count, listing
from dlbench.studies.claims import Study
from dlbench.studies.curve_columns import COLUMNS, with_curve_columns
from dlbench.studies.quantities import QUANTITIES

_SOURCES = ("synthetic", "sample", "real")
"""The better ones last."""
_ENOUGH_ROWS = 0.9
"""Of the study's rows an epoch: a validation split may have been taken away."""


class As(StrEnum):
    INTENDED = "intended"
    PUBLISHED = "published"


@dataclass(frozen=True)
class StudyRuns:
    """The groups that stand for a study's contenders, of trials as intended or as published."""

    study: Study
    groups: dict[tuple[str, str, str], tuple[Group, ...]]
    """By workload, device and the study's name of the contender; one for each set of conditions."""

    @cached_property
    def _chosen(self) -> dict[tuple[str, str], Conditions]:
        """Of each workload and device: the conditions under which most can be compared, and of
        several those nearest to the study."""
        ranked: dict[tuple[str, str], dict[Conditions, list[Group]]] = {}
        for (workload, device, _), groups in self.groups.items():
            for group in groups:
                place = ranked.setdefault((workload, device), {})
                place.setdefault(group.conditions, []).append(group)
        return {
            place: max(
                sets,
                key=lambda one: (
                    len(sets[one]),
                    *_nearness(self.study, place[0], sets[one]),
                    str(one),
                ),
            )
            for place, sets in ranked.items()
        }

    def group(self, workload: str, device: str, name: str) -> Group | None:
        """The group that stands for it, under the chosen conditions."""
        return self.under(self._chosen.get((workload, device)), workload, device, name)

    def settings(self, workload: str, device: str) -> tuple[Conditions, ...]:
        """All conditions under which anything ran there."""
        found = {
            group.conditions: None
            for (own, on, _), groups in self.groups.items()
            if (own, on) == (workload, device)
            for group in groups
        }
        return tuple(found)

    def under(
        self, conditions: Conditions | None, workload: str, device: str, name: str
    ) -> Group | None:
        groups = self.groups.get((workload, device, name), ())
        return next((group for group in groups if group.conditions == conditions), None)

    def has(self, workload: str, device: str) -> bool:
        return (workload, device) in self._chosen


def study_runs(study: Study, results: Results) -> dict[As, StudyRuns | None]:
    """None: nothing was run in this way."""
    trials = results.trials()
    releases = {one.release for one in study.frameworks.values()}
    trials = trials.filter(
        pl.col("workload").is_in(list(study.workloads)), pl.col("release").is_in(list(releases))
    )
    curves = results.curves().join(trials.select("id", "workload"), on="id")
    trials = with_curve_columns(_as_accuracy(study, trials), _as_accuracy(study, curves))
    marked = trials["confounds"] != ""
    matched = trials["setting"] == "matched"
    intended = trials.filter(~marked & matched)
    runs: dict[As, StudyRuns | None] = {As.INTENDED: None, As.PUBLISHED: None}
    if len(intended):
        alike = with_saved_size(study, intended, published=False)
        runs[As.INTENDED] = StudyRuns(study, _groups(study, alike))
    # a confound may be the batch: then it is part of what is compared, no condition
    confounded = trials.filter(marked).with_columns(certified=pl.lit(True))
    every = pl.concat([confounded, intended]).with_columns(batch=pl.lit(None, pl.Int64))
    every = with_saved_size(study, every, published=True)
    groups = _groups(study, every, published=True)
    if any(group.confounds for each in groups.values() for group in each):
        runs[As.PUBLISHED] = StudyRuns(study, groups)
    return runs


def with_saved_size(study: Study, trials: pl.DataFrame, *, published: bool) -> pl.DataFrame:
    """The table with the column `saved_bytes`; null where nothing was saved.

    As intended, all contenders save the same: the weights. As published, each saved what the
    study's code made it save: with some the optimiser's state, too."""
    with_state = [one.release for one in study.frameworks.values() if one.saves_state]
    size = pl.col("model_bytes")
    if published and with_state:
        of_both = pl.col("release").is_in(with_state)
        size = pl.when(of_both).then(pl.col("model_with_optimizer_bytes")).otherwise(size)
    return trials.with_columns(size.alias("saved_bytes"))


def _as_accuracy(study: Study, frame: pl.DataFrame) -> pl.DataFrame:
    """What stands for the study's accuracy, where that is another metric."""
    for one in study.workloads.values():
        if one.accuracy != "accuracy" and one.accuracy in frame.columns:
            own = pl.when(pl.col("workload") == one.name).then(one.accuracy).otherwise("accuracy")
            frame = frame.with_columns(accuracy=own)
    return frame


def _groups(
    study: Study, trials: pl.DataFrame, *, published: bool = False
) -> dict[tuple[str, str, str], tuple[Group, ...]]:
    wanted = {q.column for q in QUANTITIES.values()} | {q.gpu_column for q in QUANTITIES.values()}
    columns = [name for name in (*wanted, *COLUMNS, "samples", "epochs") if name in trials.columns]
    found: dict[tuple[str, str, str], list[Group]] = {}
    if not len(trials):
        return {}
    for case in cases_of(trials, "release", columns):
        device = dict(case.fixed)["device"].partition(":")[0]
        for group in case.groups:
            for one in study.frameworks.values():
                had = study.confounds_of(one.name, case.workload) if published else ()
                stands_for_it = (
                    one.release == group.release
                    and one.variant in (None, group.rows[0]["variant"])
                    and set(group.confounds.split()) == set(had)
                )
                if stands_for_it:
                    found.setdefault((case.workload, device, one.name), []).append(group)
    return {key: tuple(groups) for key, groups in found.items()}


def _nearness(study: Study, workload: str, groups: list[Group]) -> tuple[int, bool, int, int]:
    """Of groups under the same conditions: real data, its recipe, more epochs, more trials."""
    row = groups[0].rows[0]
    source = _SOURCES.index(row["data_source"]) if row["data_source"] in _SOURCES else -1
    own = not _departures(study, groups[0], workload)
    epochs = 0 if row["budget_steps"] is not None else int(row["budget_epochs"] or 0)
    return source, own, epochs, sum(len(group.rows) for group in groups)


def _departures(study: Study, group: Group, workload: str) -> list[str]:
    """What differs from the study's recipe, but for what it varied itself: `batch=8`."""
    changes = str(group.rows[0].get("changes") or "").split()
    return [one for one in changes if one.partition("=")[0] not in study.workloads[workload].swept]


def reduced(study: Study, group: Group, workload: str) -> str:
    """In what the trials are less than the study's: `3 of 15 epochs`; empty: in nothing."""
    whole, row = study.workloads[workload], group.rows[0]
    said = []
    if "epochs" in whole.swept and "epochs=" not in str(row.get("point") or ""):
        said.append(f"{count(row['budget_epochs'] or 0, 'epoch')} at every point")
    if row["budget_steps"] is not None:
        said.append(count(row["budget_steps"], "step"))
    elif whole.epochs is not None and (row["budget_epochs"] or 0) < whole.epochs:
        said.append(f"{row['budget_epochs'] or 0} of {whole.epochs} epochs")
    rows = [
        one["samples"] / one["epochs"] for one in group.complete if one["samples"] and one["epochs"]
    ]
    if whole.rows is not None and rows and min(rows) < _ENOUGH_ROWS * whole.rows:
        said.append(f"{min(rows):,.0f} of {whole.rows:,} rows")
    if row["data_source"] == "sample":
        said.append("a sample of the data")
    if other := _departures(study, group, workload):
        said.append(f"another recipe: {' '.join(other)}")
    return listing(said)
