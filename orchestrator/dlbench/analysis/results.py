"""`dlbench.open(...)`: the results of one or more campaigns as data frames.

    results = dlbench.open("results/2026-11-16_0312-quick")
    results.trials().group_by("release").agg(pl.col("train_s").median())
    print(results.compare("step_ms").sentence)

Nothing is read before it is asked for, and nothing is read twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dlbench.analysis.long_tables import read_phases, read_samples, read_steps
from dlbench.analysis.record import TrialRecord
from dlbench.analysis.trials import Tables, read_trials
from dlbench.campaigns.sources import CampaignSource, machines, open_source
from dlbench.errors import UserError, check_known, unknown
from dlbench.statistics.looks import alpha_at_look

if TYPE_CHECKING:
    from dlbench.analysis.campaign_comparison import CampaignComparison

ALPHA = 0.05
_TOLERANCE = 1e-6


def open_results(*paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Results:
    """The results of campaign folders or archives."""
    every: list[Path] = []
    for path in paths:
        every += [Path(path)] if isinstance(path, str | os.PathLike) else map(Path, path)
    if not every:
        raise UserError("No campaign was named.", "Give the folder that `dlbench run` named.")
    return Results(tuple(open_source(path) for path in every))


class Results:
    """Trials of one or more campaigns. Every table is a polars data frame; `id` joins them."""

    def __init__(self, sources: tuple[CampaignSource, ...]) -> None:
        self.sources = sources
        self._read: dict[Callable[..., pl.DataFrame], pl.DataFrame] = {}

    @cached_property
    def _tables(self) -> Tables:
        return read_trials(self.sources)

    def trials(self) -> pl.DataFrame:
        """One row a trial that has ended: what it was, how it ended, its metrics and resources."""
        return self._tables.trials

    def curves(self) -> pl.DataFrame:
        """One row an epoch: `id`, `epoch`, `train_s` so far, `loss`, and the metrics on test."""
        return self._tables.curves

    def steps(self) -> pl.DataFrame:
        """One row a training step: `id`, `epoch`, `step`, `ms`, `steady`."""
        return self._once(read_steps)

    def samples(self) -> pl.DataFrame:
        """One row a sample: `id`, `t`, CPU, memory and GPU."""
        return self._once(read_samples)

    def phases(self) -> pl.DataFrame:
        """One row a stretch of a phase: `id`, `phase`, `start`, `end`."""
        return self._once(read_phases)

    def machines(self) -> dict[str, dict[str, Any]]:
        """The fingerprints of the machines, by the digest in column `machine`."""
        return machines(self.sources)

    def trial(self, id: str) -> TrialRecord:
        """One trial, by its id or by an unambiguous beginning of it."""
        folders = self._tables.folders
        alike = [name for name in folders if name.startswith(id)] if id else []
        if id in folders or len(alike) == 1:
            name = id if id in folders else alike[0]
            return TrialRecord(name, folders[name])
        if alike:
            raise UserError(f"{len(alike)} trials begin with {id!r}.", "Give more of the id.")
        raise unknown("trial", id, folders)

    def find(self, *, tolerance: float = _TOLERANCE, **fields: Any) -> pl.DataFrame:
        """The trials whose columns have these values; a list means any of them, None means null.

        Floats match within `tolerance`, relative to the value: what was printed finds its trial
        again. `find(release="pytorch@2.13.0", accuracy=0.8056, tolerance=1e-4)`
        """
        frame = self.trials()
        for name, value in fields.items():
            check_known("column", name, frame.columns)
            wanted = value if isinstance(value, list | tuple | set | frozenset) else [value]
            numeric = frame.schema[name].is_numeric()
            tests = [_matches(name, item, numeric, tolerance) for item in wanted]
            frame = frame.filter(pl.any_horizontal(tests) if tests else pl.lit(False))
        return frame

    def compare(
        self,
        metric: str = "time",
        by: str = "release",
        alpha: float | None = None,
        margin: float | None = None,
        *,
        stability: bool = True,
    ) -> CampaignComparison:
        """Who differs from whom on a metric, workload by workload; see `CampaignComparison`.

        Without an `alpha`: 5 %, or of these the share that the campaign's last look has."""
        from dlbench.analysis.campaign_comparison import compare_campaigns

        level = self.share(ALPHA) if alpha is None else alpha
        return compare_campaigns(self, metric, by, level, margin, stability=stability)

    def share(self, alpha: float) -> float:
        """What a claim may cost, where a campaign planned to be looked at several times."""
        planned = [source.about for source in self.sources if source.about.looks]
        shares = [alpha_at_look(alpha, 1, len(about.looks)) for about in planned]
        return min(shares, default=alpha)

    def _once(self, read: Callable[[Mapping[str, Path]], pl.DataFrame]) -> pl.DataFrame:
        if read not in self._read:
            self._read[read] = read(self._tables.folders)
        return self._read[read]


def _matches(name: str, value: Any, numeric: bool, tolerance: float) -> pl.Expr:
    column = pl.col(name)
    if value is None:
        return column.is_null()
    if not numeric:
        return column.eq(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"Column {name} holds numbers, not {value!r}.", "Give a number.")
    return (column - value).abs().le(tolerance * max(abs(value), 1e-12))
