"""The sections of the report, in their order; what has no data is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.analysis.metrics import (
    AT_PEAK,
    BACKWARD,
    CPU,
    CPU_ENERGY,
    CPU_USE,
    FIRST_EPOCH,
    FIRST_EPOCH_EXCESS,
    FORWARD,
    GPU_ENERGY,
    GPU_MEMORY,
    GPU_USE,
    HOST,
    INFERENCE,
    LATENCY,
    LATENCY_P99,
    MEAN_MEMORY,
    ON_TRAINING_ROWS,
    PADDING,
    PEAK_EPOCH,
    PEAK_MEMORY,
    QUALITY,
    SPEED,
    STEP,
    TRAINING,
    Metric,
)
from dlbench.report.charts.bars import bars
from dlbench.report.charts.confusion import confusion
from dlbench.report.charts.convergence import convergence
from dlbench.report.charts.history import history
from dlbench.report.charts.memory_against_speed import memory_against_speed
from dlbench.report.charts.phases import phases
from dlbench.report.charts.ranks import ranks
from dlbench.report.charts.scaling import scaling
from dlbench.report.charts.seeds import seeds
from dlbench.report.charts.speed_ups import speed_ups
from dlbench.report.charts.step_times import step_times
from dlbench.report.charts.timelines import timelines
from dlbench.report.material import Material
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
    if material.study is not None:
        yield Section("study", f"The study {material.study.name}", block="study")
    ranked, sentences = ranks(material)
    if ranked:
        yield Section("ranks", "Across workloads", ranked, tuple(sentences))
    made: tuple[Callable[[Material], Section | None], ...] = (
        _bars(
            "time",
            "Training time and throughput",
            (TRAINING, SPEED, STEP, FIRST_EPOCH, FIRST_EPOCH_EXCESS),
        ),
        _bars("parts", "Parts of a detector's step", (FORWARD, BACKWARD, HOST, PADDING)),
        _bars("inference", "Inference", (INFERENCE, LATENCY, LATENCY_P99)),
        _bars("quality", "Quality", (*QUALITY, *ON_TRAINING_ROWS, PEAK_EPOCH, *AT_PEAK)),
        _with_words("convergence", "Convergence", convergence),
        _drawn("phases", "Where the time goes", phases),
        _drawn("steps", "Step times", step_times),
        _bars(
            "resources",
            "Memory, CPU and energy",
            (PEAK_MEMORY, MEAN_MEMORY, GPU_MEMORY, CPU, CPU_USE, GPU_USE, GPU_ENERGY, CPU_ENERGY),
        ),
        _drawn("timelines", "Resources over a trial", timelines),
        _drawn("memory", "Memory against speed", memory_against_speed),
        _with_words("speed-ups", "GPU against CPU", speed_ups),
        _with_words("scaling", "Over what was swept", scaling),
        _with_words("history", "Over the releases", history),
        _with_words("seeds", "Reproducibility", seeds),
        _with_words("confusion", "Confusion matrices", confusion),
    )
    for make in made:
        if (section := make(material)) is not None:
            yield section
    if any(group.incomplete for group in material.groups):
        yield Section("failures", "Failures", block="failures")
    if material.certificates:
        yield Section("certificates", "Certificates", block="certificates")
    several = len(material.results.machines()) > 1
    yield Section("machine", "The machines" if several else "The machine", block="machine")
    yield Section("trials", "Trials and commands", block="trials")


def _bars(id: str, title: str, metrics: tuple[Metric, ...]) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        charts = (bars(material, metric) for metric in metrics)
        drawn = tuple(chart for chart in charts if chart is not None)
        return Section(id, title, drawn) if drawn else None

    return make


def _drawn(
    id: str, title: str, draw: Callable[[Material], Chart | None]
) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        chart = draw(material)
        return Section(id, title, (chart,)) if chart is not None else None

    return make


def _with_words(
    id: str, title: str, draw: Callable[[Material], tuple[Chart | None, list[str]]]
) -> Callable[[Material], Section | None]:
    def make(material: Material) -> Section | None:
        chart, sentences = draw(material)
        if chart is None and not sentences:
            return None
        return Section(id, title, (chart,) if chart else (), tuple(sentences))

    return make
