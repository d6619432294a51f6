"""A study's trials without a campaign: rows of numbers, one group a contender and workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlbench.analysis.groups import Conditions, Group
from dlbench.studies.claims import Claim, Study
from dlbench.studies.judging import Verdict, verdicts_on
from dlbench.studies.runs import StudyRuns

Key = tuple[str, str, str]
"""Workload, device, the study's name of a contender."""


def runs_of(study: Study, columns: Mapping[Key, Mapping[str, Sequence[Any]]]) -> StudyRuns:
    """Each column has one value a trial."""
    return StudyRuns(study, {key: (group(study, key, own),) for key, own in columns.items()})


def group(
    study: Study, key: Key, own: Mapping[str, Sequence[Any]], scale: str = "s", **more: Any
) -> Group:
    workload, device, name = key
    whole = study.workloads[workload]
    usual = {
        "release": study.frameworks[name].release, "variant": "", "workload": workload,
        "device": device, "session": "one", "certified": True, "data_source": "real",
        "outcome": "ok", "budget_steps": None, "budget_epochs": whole.epochs, "samples": None,
        "epochs": None, "point": "",
    }  # fmt: skip
    turns = range(len(next(iter(own.values()))))
    rows = tuple(
        {
            **usual, "id": f"{workload}-{device}-{name}-{scale}-{turn}", "round": turn,
            "seed": turn, **more, **{column: values[turn] for column, values in own.items()},
        }
        for turn in turns
    )  # fmt: skip
    return Group(name, workload, Conditions("m", "d", scale), rows)


def verdict_on(study: Study, number: str, runs: StudyRuns) -> Verdict:
    (claim,) = (one for one in study.claims if one.id == f"{study.name}-{number}")
    return on_claim(study, claim, runs)


def on_claim(study: Study, claim: Claim, runs: StudyRuns) -> Verdict:
    ((verdict,), _) = verdicts_on(study, runs, [claim], 0.05)
    return verdict
