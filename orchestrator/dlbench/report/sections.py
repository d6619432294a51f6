"""The sections of the report, in their order; what has no data is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.analysis import metrics as m
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


_Drawn = Chart | None | tuple[Chart | None, list[str]]
_CHARTS: tuple[tuple[str, str, tuple[m.Metric, ...] | Callable[[Material], _Drawn]], ...] = (
    ("time", "Training time and throughput",
     (m.TRAINING, m.SPEED, m.STEP, m.FIRST_EPOCH, m.FIRST_EPOCH_EXCESS)),
    ("parts", "Parts of a detector's step", (m.FORWARD, m.BACKWARD, m.HOST, m.PADDING)),
    ("inference", "Evaluation and inference",
     (m.EVALUATION, m.INFERENCE, m.LATENCY, m.LATENCY_P99)),
    ("quality", "Quality", (*m.QUALITY, *m.ON_TRAINING_ROWS, m.PEAK_EPOCH, *m.AT_PEAK)),
    ("convergence", "Convergence", convergence),
    ("phases", "Where the time goes", phases),
    ("steps", "Step times", step_times),
    ("resources", "Memory, CPU and energy",
     (m.PEAK_MEMORY, m.MEAN_MEMORY, m.GPU_MEMORY, m.CPU, m.CPU_USE, m.GPU_USE, m.GPU_ENERGY,
      m.CPU_ENERGY)),
    ("timelines", "Resources over a trial", timelines),
    ("sizes", "Saved models", (m.MODEL_SIZE, m.MODEL_SIZE_WITH_STATE)),
    ("memory", "Memory against speed", memory_against_speed),
    ("speed-ups", "GPU against CPU", speed_ups),
    ("scaling", "Over what was swept", scaling),
    ("history", "Over the releases", history),
    ("seeds", "Reproducibility", seeds),
    ("confusion", "Confusion matrices", confusion),
)  # fmt: skip
"""Of each section its id, its title, and what is drawn: bars of these metrics, or a chart."""


def sections(material: Material) -> Iterator[Section]:
    yield Section("summary", "Summary", block="matrix")
    if material.study is not None:
        yield Section("study", f"The study {material.study.name}", block="study")
    ranked, sentences = ranks(material)
    if ranked:
        yield Section("ranks", "Across workloads", ranked, tuple(sentences))
    for id, title, what in _CHARTS:
        charts, sentences = _drawn(material, what)
        if charts or sentences:
            yield Section(id, title, charts, tuple(sentences))
    if any(group.incomplete for group in material.groups):
        yield Section("failures", "Failures", block="failures")
    if material.certificates:
        yield Section("certificates", "Certificates", block="certificates")
    several = len(material.results.machines()) > 1
    yield Section("machine", "The machines" if several else "The machine", block="machine")
    yield Section("trials", "Trials and commands", block="trials")


def _drawn(
    material: Material, what: tuple[m.Metric, ...] | Callable[[Material], _Drawn]
) -> tuple[tuple[Chart, ...], list[str]]:
    """The charts that have anything to show, and what is said beside them."""
    if isinstance(what, tuple):
        charts = (bars(material, metric) for metric in what)
        return tuple(chart for chart in charts if chart is not None), []
    made = what(material)
    chart, sentences = made if isinstance(made, tuple) else (made, [])
    return (chart,) if chart else (), sentences
