"""What a campaign's results say, as rows of a table and sentences: after a run, and with `show`.

Groups and comparisons are those of `dlbench compare` and of the report, so that none of them says
what another denies.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlbench.campaigns.outcomes import Outcome

if TYPE_CHECKING:
    from dlbench.analysis.groups import Group
    from dlbench.analysis.results import Results

Row = dict[str, Any]

COLUMNS = (
    "release", ">n", ">accuracy", ">training", ">times the best", ">step (5-95 %)", ">CPU",
    ">peak memory", "outcome",
)  # fmt: skip
_READ = (
    "accuracy", "mae", "mse", "perplexity", "train_s", "step_ms_median",
    "step_ms_p05", "step_ms_p95", "cpu_percent_mean", "peak_memory_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class CaseTable:
    """A workload on one device in one setting: its contenders, and which differences are real."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    sentences: tuple[str, ...]


def case_tables(results: Results) -> Iterator[CaseTable]:
    from dlbench.analysis.groups import cases_of

    trials = results.trials()
    compared = {
        words: results.compare(metric, stability=False)
        for words, metric in (("Training time", "train_s"), ("Accuracy", "accuracy"))
        if trials[metric].count()
    }
    for case in cases_of(trials, "release", _READ):
        own = {
            words: one
            for words, comparison in compared.items()
            for one in comparison.cases
            if (one.case.workload, one.case.fixed) == (case.workload, case.fixed)
        }
        times = own.get("Training time")
        ranking = times.comparison.ranking if times else ()
        sentences = (
            f"{words}: {one.comparison.sentence}"
            for words, one in own.items()
            if len(one.case.groups) > 1
        )
        rows = tuple(_rows(case.groups, ranking))
        yield CaseTable(case.label, rows, tuple(sentences))


def _rows(groups: Sequence[Group], ranking: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """One row a contender, the quickest first: medians over its complete trials, means of quality.

    What is not certified or not complete stands below the rest and has no rank."""
    rank = {name: number for number, name in enumerate(ranking)}
    best: dict[object, float] = {}
    for group in sorted(groups, key=lambda g: (rank.get(g.name, len(rank)), g.name)):
        whole = group.complete
        time = _median(whole, "train_s")
        ratio = None
        if group.name in rank and time:
            # Machines, data and scales are never held against each other.
            ratio = time / best.setdefault(group.conditions, time)
        step = _median(whole, "step_ms_median")
        low, high = _median(whole, "step_ms_p05"), _median(whole, "step_ms_p95")
        yield (
            group.name,
            str(len(group.rows)),
            _quality(whole),
            _cell(time, "{:.2f} s"),
            _cell(ratio, "{:.2f}"),
            "-" if step is None else f"{step:.2f} ms ({low or step:.2f}-{high or step:.2f})",
            _cell(_median(whole, "cpu_percent_mean"), "{:.0f} %"),
            _cell(_median(whole, "peak_memory_bytes"), "{:,.0f} MB", 1e6),
            _outcome(group),
        )


def _outcome(group: Group) -> str:
    counted = Counter(str(row["outcome"]) for row in group.rows)
    words = [outcome if len(counted) == 1 else f"{n} {outcome}" for outcome, n in counted.items()]
    if not group.certified:
        words.append("NOT certified" if group.proof == "no" else "not checked")
    return ", ".join(words)


def failures(results: Results) -> Iterator[str]:
    """The trials that did not complete, with the reason, in the order in which they ran."""
    from dlbench.analysis.groups import cases_of

    epochs = dict(results.curves().group_by("id").len().iter_rows())
    failed = [
        (row["index"], row, group)
        for case in cases_of(results.trials(), "release", ("reason",))
        for group in case.groups
        for row in group.rows
        if row["outcome"] != Outcome.OK
    ]
    for _, row, group in sorted(failed, key=lambda one: one[0] or 0):
        reached = f", after {epochs[row['id']]} epochs" if row["id"] in epochs else ""
        where = f"{group.name} on {group.case}, seed {row['seed']}"
        reason = " ".join(str(row["reason"] or "").split())
        yield f"{row['outcome']}: {where}{reached}. {reason}"


def _median(rows: Sequence[Row], key: str) -> float | None:
    known = [row[key] for row in rows if row[key] is not None]
    return statistics.median(known) if known else None


def _quality(rows: Sequence[Row]) -> str:
    """A mean: qualities are compared by the difference of means."""
    for name in ("accuracy", "mae", "mse", "perplexity"):
        known = [row[name] for row in rows if row[name] is not None]
        if known:
            mean = statistics.fmean(known)
            words = name.upper() if len(name) == 3 else name
            return f"{100 * mean:.2f} %" if name == "accuracy" else f"{words} {mean:.4f}"
    return "-"


def _cell(value: float | None, form: str, unit: float = 1.0) -> str:
    return "-" if value is None else form.format(value / unit)
