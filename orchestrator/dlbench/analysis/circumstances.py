"""Under what circumstances a number came about: what has to stand beside it in every output."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from dlbench.analysis.core_use import core_note
from dlbench.statistics.stability import outlying_trials
from dlbench.statistics.words import count, number

if TYPE_CHECKING:
    from dlbench.analysis.groups import Group

Row = Mapping[str, Any]
BUSY = 10.0
"""Percent of the machine that other programs may take without being mentioned."""


def circumstances(groups: Sequence[Group]) -> tuple[str, ...]:
    """`synthetic data`, `200 steps`, `batch 64`, …: what these groups share, or its range."""
    rows = [row for group in groups for row in group.rows]
    sources = sorted({str(row["data_source"]) for row in rows if row["data_source"]})
    limits = [row["memory_limit_bytes"] for row in rows]
    parts = (
        f"{' and '.join(sources)} data" if sources else "",
        " or ".join(filter(None, (_epochs(rows), _steps(rows)))),
        _several((row["batch"] for row in rows), "batch {}"),
        _several((row["threads"] or row["threads_used"] for row in rows), "{} thread{s}"),
        _some(rows, "cpus") + _several((row["cpus"] for row in rows), "{} core{s} allowed"),
        _some(rows, "memory_limit_bytes")
        + _several((limit and limit / 2**20 for limit in limits), "{} MiB allowed"),
        *_changes_words(rows),
        _scale_words(rows),
        _weights_words(rows),
    )
    return tuple(part for part in parts if part)


def cautions_of(groups: Sequence[Group]) -> Iterator[str]:
    """What a reader has to know before any number of these groups."""
    rows = [row for group in groups for row in group.rows]
    sources = {row["data_source"] for row in rows}
    if altered := {group.name for group in groups if group.confounds}:
        yield (
            f"{count(len(altered), 'contender is', 'contenders are')} altered on purpose: such"
            " numbers show what a fault does, not what a framework does."
        )
    if "synthetic" in sources:
        what = "The data are synthetic" if len(sources) == 1 else "Some of the data are synthetic"
        yield f"{what}: accuracies and errors mean nothing."
    if steps := _steps(rows):
        what = "Some training" if _some(rows, "budget_steps") else "Training"
        yield f"{what} was cut to {steps}: qualities are not those of a whole training."
    if fewer := _rows_words(rows):
        what = "In some trials only" if _some(rows, "train_rows") else "Only"
        yield f"{what} {fewer} were used: qualities are not those of a whole training."
    yield from _start_cautions(rows)
    busy = {group.name: others_load(group) for group in groups if is_busy(group)}
    if busy:
        most = max(busy, key=lambda name: busy[name])
        yield (
            f"The machine was busy: other programs took {number(busy[most], 2)} % of it beside"
            f" {most}. Times from a busy machine scatter more and are longer."
        )


def others_load(group: Group) -> float:
    """Percent of the machine that other programs took beside this group, in the middle trial."""
    seen = [load for row in group.rows if (load := others_percent(row)) is not None]
    return statistics.median(seen) if seen else 0.0


def is_busy(group: Group) -> bool:
    """Whether other programs took so much of the machine that it has to be said."""
    return others_load(group) > BUSY


def others_percent(row: Row) -> float | None:
    """Percent of the machine that other programs took beside this trial; None: not known."""
    whole, own = row["system_cpu_percent_mean"], row["cpu_percent_mean"]
    if whole is None or own is None:
        return None
    # The trial's own share is one of the cores that it was given, and not of the machine.
    if row["cores"] and row["machine_cores"]:
        share = float(row["cores"]) / float(row["machine_cores"])
    elif row["cpus"] is None:
        share = 1.0
    else:
        return None
    return max(0.0, float(whole) - share * float(own))


def group_notes(group: Group) -> Iterator[str]:
    """What stands beside a group's number, in a few words each; its name says its confounds."""
    failed, interrupted = len(group.failed), len(group.interrupted)
    if failed:
        yield f"{failed} of {count(len(group.rows), 'run')} failed"
    if interrupted:
        yield f"{interrupted} interrupted"
    if group.synthetic:
        yield "synthetic data"
    yield from filter(None, (_steps(group.rows), _rows_words(group.rows)))
    yield from machine_notes(group)


def machine_notes(group: Group) -> Iterator[str]:
    """What of the machine weakens a group's times, in a few words each."""
    if is_busy(group):
        yield "busy machine"
    if cores := core_note(group):
        yield cores


NOTES = "what weakens its numbers or those of its group, in words"


def with_notes(trials: pl.DataFrame) -> pl.DataFrame:
    """The trials' table with a last column: what has to stand beside the numbers of each."""
    from dlbench.analysis.groups import cases_of
    from dlbench.analysis.metrics import TRAINING

    cases = cases_of(trials, "release", (TRAINING.column,))
    watched = sum(len(case.groups) for case in cases)
    notes: dict[str, str] = {}
    for case in cases:
        for group in case.groups:
            altered = [f"altered on purpose ({group.confounds})"] if group.confounds else []
            shared = [*altered, *group_notes(group)]
            measured = group.measured(TRAINING)
            times = [float(row[TRAINING.column]) for row in measured]
            odd = {measured[i]["id"] for i in outlying_trials(times, groups=watched)}
            for row in group.rows:
                own = ["training time sticks out"] if row["id"] in odd else []
                notes[str(row["id"])] = "; ".join([*shared, *own])
    told = [notes.get(name, "a copy of another trial") or None for name in trials["id"]]
    return trials.with_columns(pl.Series("notes", told, dtype=pl.String))


def _steps(rows: Sequence[Row]) -> str:
    """How many each was cut to; empty: it trained whole epochs."""
    return _several((row["budget_steps"] for row in rows), "{} step{s}")


def _epochs(rows: Sequence[Row]) -> str:
    """Of those that were not cut."""
    whole = (row["budget_epochs"] for row in rows if row["budget_steps"] is None)
    return _several(whole, "{} epoch{s}")


def _some(rows: Sequence[Row], column: str) -> str:
    """`some ` where it is said of some of these trials and not of all."""
    return "some " if len({row[column] is None for row in rows}) > 1 else ""


def _scale_words(rows: Sequence[Row]) -> str:
    """`600 training and 100 test rows, scale 0.01`; empty for a whole training."""
    names = sorted({str(row["scale"]) for row in rows if row["scale"]})
    scale = f"scale {' and '.join(names)}" if names else ""
    fewer = _some(rows, "train_rows") + _rows_words(rows)
    return ", ".join(filter(None, (fewer, scale)))


def _rows_words(rows: Sequence[Row]) -> str:
    """How many rows were used, where that is not all of them."""
    train, test = (_several(row[name] for row in rows) for name in ("train_rows", "test_rows"))
    return f"{train} training and {test} test rows" if train or test else ""


def _changes_words(rows: Sequence[Row]) -> tuple[str, ...]:
    """What all of them changed of the workload's recipe, beside the batch and the point."""
    every = [set(row["changes"].split()) - set(row["point"].split()) for row in rows]
    shared = set.intersection(*every) if every else set()
    return tuple(sorted(change for change in shared if not change.startswith("batch=")))


def _weights_words(rows: Sequence[Row]) -> str:
    """`started from weights backbone.npz (1f2e3d4c…)`; empty where the seed drew them all."""
    files = sorted({(str(r["weights_file"]), str(r["weights"])) for r in rows if r["weights"]})
    if not files:
        return ""
    named = " and ".join(f"{name} ({digest[:8]}…)" for name, digest in files)
    drawn = (r["weights_drawn"] or None for r in rows if r["weights"])
    rest = _several(drawn, ", {} parameters drawn")
    some = "" if all(row["weights"] for row in rows) else "some "
    return f"{some}started from weights {named}{rest}"


def _start_cautions(rows: Sequence[Row]) -> Iterator[str]:
    """What the first weights mean for the numbers."""
    if words := _weights_words(rows):
        yield (
            f"Trials {words.removeprefix('some ')}: their repeats differ by batches and dropout,"
            " not by these weights."
        )
    random = [row for row in rows if row["constants_drawn"]]
    if random:
        layers = _several(row["constants_drawn"] for row in random)
        where = " and ".join(sorted({str(row["workload"]) for row in random}))
        yield (
            f"The backbone of {where} was drawn from the seed: {layers} of its layers never learn"
            " and hold random numbers. Qualities are not those of a backbone that was trained"
            " before; `--weights` starts from one."
        )


def _several(values: Iterable[Any], words: str = "{}") -> str:
    """One number, or the range of several, in these words; empty where nothing is known."""
    known = sorted({value for value in values if value is not None})
    if not known:
        return ""
    # All digits of a whole number: 60000 rows are not 6e+04.
    number = " to ".join(f"{value:,.12g}" for value in dict.fromkeys((known[0], known[-1])))
    return words.format(number, s="" if number == "1" else "s")
