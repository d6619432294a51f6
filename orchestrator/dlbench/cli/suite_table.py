"""`dlbench show suite NAME`: what a suite runs, where it comes from, its scales, its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from dlbench.cli.console import print_json, print_rows, say
from dlbench.planning.changes import texts_of, written

if TYPE_CHECKING:
    from dlbench.suites import Suite
    from dlbench.suites.extent import Extent, Value


def show_suite(name: str, *, as_json: bool) -> None:
    from dataclasses import asdict

    from dlbench.cli.confounds_table import of_study
    from dlbench.studies import reading
    from dlbench.suites import find

    suite = find(name)
    study = reading.find(suite.name) if suite.name in reading.names() else None
    if as_json:
        confounds = [asdict(one) for one in study.confounds] if study is not None else []
        print_json({**asdict(suite), "confounds": confounds})
        return
    for line in _head(suite):
        say(line)
    scales = {name: suite.at(name) for name in suite.scales} or {"full": suite}
    print_rows(
        scales.values(),
        {
            "scale": lambda scaled: scaled.scale or "full",
            **SIZES,
            "time limit": lambda scaled: scaled.time_limit,
            "about": lambda scaled: suite.scales[scaled.scale].about if suite.scales else "",
        },
    )
    for note in suite.notes:
        say(f"- {note}")
    for line in of_study(study) if study is not None else ():
        say(line)
    say(f"Run it: dlbench run --suite {name} --scale {next(iter(scales))}", whole=True)


def _count(names: tuple[str, ...]) -> str:
    """How many, or the word that stands for many."""
    words = [name for name in names if name in ("all", "newest")]
    return words[0] if words else str(len(names))


SIZES: dict[str, Callable[[Suite], object]] = {
    ">workloads": lambda suite: _count(suite.workloads),
    ">releases": lambda suite: _count(suite.releases),
    ">repeats": lambda suite: suite.repeats or "as needed",
}
"""How much a suite is, as columns of a table."""


def _head(suite: Suite) -> Iterator[str]:
    yield f"{suite.name}: {suite.about}"
    if suite.paper:
        yield f"study: {suite.paper}"
    yield f"workloads: {', '.join(suite.workloads)}"
    yield f"releases: {', '.join(suite.releases)}; devices: {', '.join(suite.devices)}"
    for name, extent in {"all workloads": suite, **suite.workload}.items():
        said = ", ".join(_extent_words(extent))
        if said:
            yield f"{name}: {said}"


def _extent_words(extent: Extent) -> Iterator[str]:
    for field in ("size", "epochs", "steps", "rows", "share"):
        if (value := getattr(extent, field)) is not None:
            yield f"{field} {value}"
    if extent.recipe:
        yield f"recipe with {_fields(extent.recipe)}"
    for field, values in extent.sweep.items():
        yield f"{field} swept over {', '.join(map(written, values))}"
    if extent.points:
        yield f"{len(extent.points)} points, the first {_fields(extent.points[0])}"


def _fields(values: Mapping[str, Value]) -> str:
    return " ".join(texts_of(values))
