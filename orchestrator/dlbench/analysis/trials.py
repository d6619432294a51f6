"""`trial.json` files to the tables of trials and of curves, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.analysis.columns import CURVES, METRICS, RESOURCES, TRIALS, schema
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.campaigns.sources import CampaignSource
from dlbench.campaigns.trial_file import read_trial
from dlbench.errors import UserError
from dlbench.shapes import parsed_moment

_PLAIN = (
    "release", "workload", "device", "engine", "setting", "variant", "seed", "repeat", "round",
    "index", "outcome", "reason", "certificate", "machine", "wall_s", "lock",
)  # fmt: skip
_SCALE = {
    "budget_epochs": "epochs",
    "budget_steps": "steps",
    "batch": "batch",
    "data": "data",
    "data_source": "source",
    "threads": "threads",
    "cpus": "cpus",
    "memory_limit_bytes": "memory_bytes",
    "train_rows": "rows",
    "test_rows": "test_rows",
}
_MODEL = ("parameters", "weights_sha256", "weights_given", "weights_drawn", "constants_drawn")
_KERNEL_PEAK = "memory_peak_bytes"
"""In trial.json: the peak of all of a trial's processes, by the kernel."""
_RESOURCE = {"resource_source": "source", "resource_samples": "samples"}
_MOST_OTHERS = 2000
"""Columns of metrics that workloads define."""
_TAKEN = frozenset(column.name for column in (*TRIALS, *RESOURCES))


@dataclass(frozen=True)
class Tables:
    """What the `trial.json` files hold."""

    trials: pl.DataFrame
    curves: pl.DataFrame
    folders: dict[str, Path]
    """Where each trial's files are, by its id in the tables."""


def read_trials(sources: Sequence[CampaignSource]) -> Tables:
    """All trials that have ended, campaign by campaign in order of execution."""
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    owners: list[str] = []
    folders: dict[str, Path] = {}
    for planned, name, content in _distinct(_read(sources)):
        rows.append(_row(name, planned, content))
        folders[name] = planned.folder
        curve = content.get("curve", [])
        points += curve
        owners += [name] * len(curve)
    fixed = schema((*TRIALS, *METRICS, *RESOURCES))
    trials = _frame(rows, {**fixed, _KERNEL_PEAK: pl.Float64})
    trials = trials.with_columns(
        # A control group is not charged for libraries that were in memory already, its main process
        # is; a control group counts all processes, the main process is one.
        pl.max_horizontal(_KERNEL_PEAK, "rss_main_peak_bytes").alias("peak_memory_bytes"),
    ).drop(_KERNEL_PEAK)
    curves = _frame(points, schema(CURVES)).with_columns(pl.Series("id", owners, dtype=pl.String))
    return Tables(trials, curves, folders)


def _read(sources: Sequence[CampaignSource]) -> list[tuple[PlannedTrial, dict[str, Any]]]:
    """What is known of the trials that have ended."""
    every = (planned for source in sources for planned in source.planned)
    found = ((planned, read_trial(planned.folder)) for planned in every)
    return [(planned, content) for planned, content in found if content is not None]


def _distinct(
    trials: Sequence[tuple[PlannedTrial, dict[str, Any]]],
) -> Iterator[tuple[PlannedTrial, str, dict[str, Any]]]:
    """Each trial once, under a name of its own.

    A trial's id says what was run, not where or when: campaigns of two machines share their ids. A
    copy of the same run is left out; another run of the same trial gets a running number.
    """
    often = Counter(planned.id for planned, _ in trials)
    seen: dict[str, list[str]] = {}
    for planned, content in trials:
        if often[planned.id] == 1:
            yield planned, planned.id, content
            continue
        alike = seen.setdefault(planned.id, [])
        # What was measured, not every word: packing an archive takes secrets out of those.
        run = repr([content.get(key) for key in ("machine", "started", "wall_s", "metrics")])
        if run in alike:
            continue
        alike.append(run)
        name = planned.id if len(alike) == 1 else f"{planned.id}-{len(alike)}"
        yield planned, name, content


def _row(name: str, planned: PlannedTrial, content: dict[str, Any]) -> dict[str, Any]:
    framework, _, version = content["release"].partition("@")
    scale, resources = content.get("scale", {}), content.get("resources", {})
    model, stack, cores = (content.get(key, {}) for key in ("model", "stack", "cores"))
    ended_with = content.get("ended_with", {})
    confounds = content.get("confounds") or planned.trial.confounds
    # metrics are named by workloads: one that is called like a column of ours gives way
    metrics = content["metrics"].items()
    row = {f"metric_{key}" if key in _TAKEN else key: value for key, value in metrics}
    row |= {key: value for key, value in resources.items() if key not in ("per_phase", "samples")}
    row |= {own: resources.get(theirs) for own, theirs in _RESOURCE.items()}
    row |= {key: content.get(key) for key in _PLAIN}
    row |= {own: scale.get(theirs) for own, theirs in _SCALE.items()}
    row |= {
        "id": name,
        "point": content.get("point", ""),
        "changes": " ".join(scale.get("changes", ())),
        "scale": scale.get("name", ""),
        "started": parsed_moment(content["started"]),
        "campaign": planned.campaign,
        "framework": framework,
        "version": version,
        "kernels": "deterministic" if scale.get("deterministic") else "",
        "switches_cover": " ".join((stack.get("deterministic") or {}).get("covers", ())),
        "threads_used": stack.get("threads"),
        "one_core": stack.get("one_core") or "",
        "cores": cores.get("allotted"),
        "pinned": ",".join(map(str, cores.get("pinned", ()))),
        "machine_cores": cores.get("machine"),
        "final_weights_sha256": ended_with.get("weights_sha256"),
        "predictions_sha256": ended_with.get("predictions_sha256"),
        "losses_sha256": ended_with.get("losses_sha256"),
        **{key: model.get(key) for key in _MODEL},
        "weights": scale.get("weights", ""),
        "weights_file": scale.get("weights_file", ""),
        "confounds": " ".join(confounds),
        # a model with confounds is not the workload's, whatever a file says
        "certified": False if confounds else content.get("certified"),
    }
    row.pop("source", None)
    return row


def _frame(rows: list[dict[str, Any]], fixed: dict[str, Any]) -> pl.DataFrame:
    """The fixed columns first and always; others as they come, as numbers."""
    alike = dict.fromkeys(map(tuple, rows))  # most rows have the same keys
    others = dict.fromkeys(key for keys in alike for key in keys if key not in fixed)
    if len(others) > _MOST_OTHERS:
        raise UserError(
            f"The trials have {len(others):,} different metrics; at most {_MOST_OTHERS:,} fit a"
            " table.",
            "Open fewer campaigns at once.",
        )
    types = {**fixed, **dict.fromkeys(others, pl.Float64)}
    return pl.DataFrame(
        [pl.Series(key, _column(rows, key), dtype=kind) for key, kind in types.items()]
    )


def _column(rows: list[dict[str, Any]], key: str) -> list[Any]:
    try:
        return list(map(itemgetter(key), rows))
    except KeyError:
        return [row.get(key) for row in rows]
