"""The panel that shows a running campaign on a terminal: progress, curves, use of the machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dlbench.cli.console import seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dlbench.campaigns.trial_result import TrialResult
    from dlbench.formats import Event
    from dlbench.monitor.samples import Sample
    from dlbench.planning.trial import Trial

_BLOCKS = "▁▂▃▄▅▆▇█"
_KEPT = 600
_WIDTH = 40


def sparkline(values: Sequence[float], floor: float | None = None) -> str:
    """A curve in one line of text, the whole of it in at most `_WIDTH` characters."""
    if not values:
        return ""
    if len(values) > _WIDTH:
        step = len(values) / _WIDTH
        values = [values[min(len(values) - 1, int((i + 1) * step) - 1)] for i in range(_WIDTH)]
    low = min(values) if floor is None else floor
    span = max(values) - low
    if span <= 0:
        return _BLOCKS[0 if floor is None else -1] * len(values)
    return "".join(_BLOCKS[min(7, max(0, int(8 * (v - low) / span)))] for v in values)


class Estimate:
    """How much longer, from how long trials of the same kind took so far."""

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], list[float]] = {}
        self._left: dict[str, Trial] = {}

    def plan(self, trials: Sequence[Trial], *, more: bool = False) -> None:
        """These trials are left to run; with `more`, in addition to those from before."""
        self._left = (self._left if more else {}) | {trial.id: trial for trial in trials}

    def ended(self, trial: Trial, took: float) -> None:
        self._took.setdefault((trial.release, trial.place), []).append(took)
        self._left.pop(trial.id, None)

    def left_s(self) -> float | None:
        everything = [value for values in self._took.values() for value in values]
        if not everything:
            return None
        usual = sum(everything) / len(everything)
        total = 0.0
        for trial in self._left.values():
            same = self._took.get((trial.release, trial.place))
            total += sum(same) / len(same) if same else usual
        return total


class CampaignPanel:
    """What is known of a campaign at this moment. It is told what happens and draws itself."""

    def __init__(self) -> None:
        self.estimate = Estimate()
        self.total = self.done = self.failed = 0
        self._doing = ""
        self._began: float | None = None
        self._clear()

    def _clear(self) -> None:
        self._phase = ""
        self._step, self._steps, self._epoch = 0, 0, 0
        self._curves: dict[str, list[float]] = {}
        self._cpu: list[float] = []
        self._memory: list[float] = []
        self._gpu: list[float] = []
        self._power: list[float] = []
        self._before: Sample | None = None

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        self.total, self.done = len(trials), done
        self.estimate.plan(trials[done:])

    def grown(self, trials: Sequence[Trial]) -> None:
        """The plan has more trials than before."""
        self.estimate.plan(trials[self.total :], more=True)
        self.total = len(trials)

    def doing(self, text: str) -> None:
        """What happens outside of trials."""
        self._doing, self._began = text, None
        self._clear()

    def started(self, trial: Trial, ago_s: float = 0.0) -> None:
        """A trial has been running for `ago_s` seconds."""
        self._doing = f"{trial.label} on {trial.place}, {trial.device}, seed {trial.seed}"
        self._began = time.monotonic() - ago_s
        self._clear()

    def event(self, event: Event) -> None:
        fields = event.fields
        if event.kind == "phase":
            self._phase = f"after {fields['phase']}"
        elif event.kind == "progress":
            self._step, self._steps = fields["step"], fields["steps"]
            self._epoch, self._phase = fields["epoch"], f"epoch {fields['epoch']}"
        elif event.kind == "epoch":
            values = {"loss": fields["loss"], **fields["metrics"]}
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._curves.setdefault(name, []).append(float(value))

    def sample(self, sample: Sample) -> None:
        before, self._before = self._before, sample
        if before is not None and sample.t - before.t > 1e-3:
            _keep(self._cpu, 100 * (sample.cpu_s - before.cpu_s) / (sample.t - before.t))
        _keep(self._memory, sample.memory_bytes / 1e6)
        used = [gpu.util_percent for gpu in sample.gpus if gpu.util_percent is not None]
        if used:
            _keep(self._gpu, max(used))
        power = [gpu.power_w for gpu in sample.gpus if gpu.power_w is not None]
        if power:
            _keep(self._power, sum(power))

    def ended(self, trial: Trial, result: TrialResult) -> None:
        self.done += 1
        self.failed += not result.complete
        self.estimate.ended(trial, result.wall_s)

    def left_s(self) -> float | None:
        left = self.estimate.left_s()
        if left is None or self._began is None:
            return left
        return max(0.0, left - (time.monotonic() - self._began))

    def draw(self) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        whole = Table.grid(padding=(0, 2))
        words = f"{self.done} of {self.total} trials" + (
            f", {self.failed} failed" if self.failed else ""
        )
        left = self.left_s()
        if left and self.done < self.total:
            end = datetime.now() + timedelta(seconds=left)
            words += f", about {seconds(left)} left (until {end:%H:%M})"
        bar = ProgressBar(total=max(1, self.total), completed=self.done, width=30)
        whole.add_row(bar, Text(words))
        rows = Table.grid(padding=(0, 2))
        if self._steps:
            part = f"{self._phase}, step {self._step} of {self._steps}"
            rows.add_row("progress", ProgressBar(total=self._steps, completed=self._step,
                                                 width=_WIDTH), part)  # fmt: skip
        elif self._phase:
            rows.add_row("progress", "", self._phase)
        for name, values in self._curves.items():
            rows.add_row(name, sparkline(values), f"{values[-1]:.4f}")
        for name, values, form in (
            ("CPU", self._cpu, "{:.0f} % of one core"),
            ("memory", self._memory, "{:,.0f} MB"),
            ("GPU", self._gpu, "{:.0f} %"),
            ("power", self._power, "{:.0f} W"),
        ):
            if values:
                rows.add_row(name, sparkline(values, floor=0.0), form.format(values[-1]))
        took = "" if self._began is None else f" {seconds(time.monotonic() - self._began)}"
        title = Text(self._doing + took) if self._doing else None
        return Group(whole, Panel(rows, title=title, title_align="left") if title else Text(""))


def _keep(values: list[float], value: float) -> None:
    values.append(value)
    del values[:-_KEPT]
