"""Convergence: the median curves of each group by epoch, with the range of its trials."""

from __future__ import annotations

import polars as pl

from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row, thinned
from dlbench.statistics.words import listing

_MOST_EPOCHS = 120
_FIRST = ("accuracy", "mae", "mse", "perplexity", "loss")


def convergence(material: Material) -> tuple[Chart | None, list[str]]:
    """By epoch; the page can also show it by time. One epoch is a point, not a curve."""
    curves = material.results.curves()
    names = [name for name in curves.columns if name not in ("id", "epoch", "train_s")]
    drawn = [group.complete or group.rows for group in material.groups]
    owner = pl.DataFrame(
        [(row["id"], number) for number, trials in enumerate(drawn) for row in trials],
        schema={"id": pl.String, "group": pl.Int64}, orient="row",
    )  # fmt: skip
    epochs = (
        curves.join(owner, on="id")
        .group_by("group", "epoch")
        .agg(
            pl.len().alias("trials"),
            pl.col("train_s").median(),
            *(pl.col(name).median() for name in names),
            *(pl.col(name).quantile(0.05, "linear").name.suffix(" low") for name in names),
            *(pl.col(name).quantile(0.95, "linear").name.suffix(" high") for name in names),
        )
        .sort("epoch")
        .partition_by("group", as_dict=True)
    )
    longest: dict[str, int] = {}
    for number, group in enumerate(material.groups):
        if (number,) in epochs:
            last = epochs[(number,)]["epoch"].n_unique()
            longest[group.case] = max(longest.get(group.case, 0), last)
    single = [case for case, last in longest.items() if last < 2]
    done = {group.case for group in material.groups if group.complete}
    left_out = _left_out([case for case in single if case in done], len(material.cases))
    rows: list[Row] = []
    present: dict[str, None] = {}
    for number, (group, trials) in enumerate(zip(material.groups, drawn, strict=True)):
        if group.case in single:
            continue
        own = epochs[(number,)].rows(named=True) if (number,) in epochs else []
        # An epoch that less than half of the trials reached is not typical of them.
        whole = [point for point in own if point["trials"] * 2 >= len(trials)]
        for point in thinned(whole, _MOST_EPOCHS):
            for name in names:
                if point[name] is not None:
                    present[name] = None
                    rows.append((group, name, point["epoch"], point["train_s"], point[name],
                                 point[f"{name} low"], point[f"{name} high"]))  # fmt: skip
    metrics = [*(n for n in _FIRST if n in present), *(n for n in present if n not in _FIRST)]
    note = (
        "Median over trials; the band holds the middle 90 % of them. Loss is that of training,"
        " the others are measured on the test split. Time is training time without evaluation."
    )
    columns = "group metric epoch train_s median low high"
    chart = Chart.of("convergence", "curves", "Convergence", columns, rows, note, metrics=metrics)
    return chart, left_out


def _left_out(single: list[str], cases: int) -> list[str]:
    if not single:
        return []
    where = "" if len(single) == cases else f" on {listing(single)}"
    return [f"No curves{where}: every trial ran for one epoch. Its values are under Quality."]
