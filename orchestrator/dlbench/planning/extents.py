"""How much of each workload a campaign trains, and at which points.

The suite says it, then what it says of a workload, then its scale, then what that says of a
workload, then the command line; the later one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from dlbench import datasets, workloads
from dlbench.errors import UserError, unknown
from dlbench.planning.choices import Choices
from dlbench.planning.points import Point, points_of, read_sweeps
from dlbench.planning.rows import read_share, used_rows
from dlbench.suites import Suite
from dlbench.suites.extent import Extent


def extents_of(suite: Suite, names: Iterable[str], choices: Choices) -> dict[str, Extent]:
    """By workload. A share that leaves nothing to train on is refused."""
    scales = suite.scales.values()
    for name in {*suite.workload, *(name for scale in scales for name in scale.workload)}:
        workloads.find(name)  # what is said of a workload that nobody knows was meant for another
    chosen = Extent(
        epochs=choices.epochs,
        steps=choices.steps,
        rows=choices.rows,
        share=read_share(choices.scale) if choices.scale else None,
        data=choices.data,
        sweep=read_sweeps(choices.sweep),
    )
    wanted = dict.fromkeys(workloads.find(name).name for name in names)
    extents = {name: suite.extent(name).below(chosen) for name in wanted}
    for name, extent in extents.items():
        data = datasets.find(workloads.find(name).dataset)
        splits = dict(zip(("train", "test"), data.rows, strict=True))
        used_rows(splits, extent.rows, extent.share, data.name)
        if extent.data not in get_args(datasets.Source):
            raise unknown("kind of data", str(extent.data), get_args(datasets.Source))
    return extents


def points_for(workload: str, extent: Extent, choices: Choices) -> list[Point]:
    """The points of a workload; what is swept can't be fixed as well."""
    swept = {*extent.sweep, *(field for point in extent.points for field in point)}
    budget = swept & {"epochs", "steps"}
    threads = swept & {"threads"} if choices.threads != "default" else set()
    for option, both in (
        ("epochs", budget if choices.epochs is not None else ()),
        ("steps", budget if choices.steps is not None else ()),
        ("threads", threads),
    ):
        if both:
            raise UserError(
                f"--{option} and a sweep of {min(both)} exclude each other.",
                "Leave one of them out.",
            )
    return points_of(workload, extent, "--sweep" if choices.sweep else f"suite {choices.suite}")


def recipe_epochs(workload: str) -> int:
    return int(workloads.find(workload).recipe["epochs"])
