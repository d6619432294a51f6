"""The sections of the report, in their order; what has no data is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.report import charts, confusion, sameness, time_charts
from dlbench.report.material import Material
from dlbench.report.metrics import (
    CPU,
    GPU_ENERGY,
    GPU_MEMORY,
    PEAK_MEMORY,
    QUALITY,
    SPEED,
    STEP,
    TRAINING,
    Metric,
)
from dlbench.report.tables import Chart


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    charts: tuple[Chart, ...] = ()
    paragraphs: tuple[str, ...] = ()
    block: str = ""
    """The part of the template that fills it; empty: paragraphs and charts alone."""


def sections(material: Material) -> Iterator[Section]:
    yield Section("summary", "Summary", block="matrix")
    ranked, said = charts.ranks(material)
    if ranked:
        yield Section("ranks", "Across workloads", ranked, tuple(said))
    made: tuple[Callable[[Material], Section | None], ...] = (
        _bars("time", "Training time and throughput", (TRAINING, SPEED, STEP)),
        _bars("quality", "Quality", QUALITY),
        _drawn("convergence", "Convergence", time_charts.convergence),
        _drawn("phases", "Where the time goes", charts.phases),
        _drawn("steps", "Step times", time_charts.step_times),
        _bars("resources", "Memory, CPU and energy", (PEAK_MEMORY, GPU_MEMORY, CPU, GPU_ENERGY)),
        _drawn("timelines", "Resources over a trial", time_charts.timelines),
        _drawn("memory", "Memory against speed", charts.memory_against_speed),
        _drawn("speed-ups", "GPU against CPU", charts.speed_ups),
        _told("history", "Over the releases", charts.history),
        _told("seeds", "Reproducibility", sameness.seeds),
        _told("confusion", "Confusion matrices", confusion.confusion),
    )
    for make in made:
        if (section := make(material)) is not None:
            yield section
    if any(not result.complete for result in material.results):
        yield Section("failures", "Failures", block="failures")
    if material.certificates:
        yield Section("certificates", "Certificates", block="certificates")
    several = len(material.frames.machines()) > 1
    yield Section("machine", "The machines" if several else "The machine", block="machine")
    yield Section("again", "Do it again", block="commands")


def _bars(id: str, title: str, metrics: tuple[Metric, ...]) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        found = (charts.bars(material, metric) for metric in metrics)
        drawn = tuple(chart for chart in found if chart is not None)
        return Section(id, title, drawn) if drawn else None

    return make


def _drawn(
    id: str, title: str, draw: Callable[[Material], Chart | None]
) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        chart = draw(material)
        return Section(id, title, (chart,)) if chart is not None else None

    return make


def _told(
    id: str, title: str, draw: Callable[[Material], tuple[Chart | None, list[str]]]
) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        chart, said = draw(material)
        if chart is None and not said:
            return None
        return Section(id, title, (chart,) if chart else (), tuple(said))

    return make
