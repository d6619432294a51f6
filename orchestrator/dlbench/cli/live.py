"""What a person sees while a campaign runs: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dlbench.cli.console import seconds
from dlbench.cli.panel import CampaignPanel, Estimate
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.statistics.words import count

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, TaskID

    from dlbench.campaigns.certificate_file import Certificate
    from dlbench.campaigns.trial_result import TrialResult
    from dlbench.environments.progress import Step
    from dlbench.formats import Event
    from dlbench.monitor.sampler import Monitor
    from dlbench.planning.trial import Trial


_BAR = 12


@contextmanager
def view(quiet: bool = False, watch: bool = False) -> Iterator[CampaignObserver]:
    """The view that fits where the output goes; `watch`: with curves and use of the machine."""
    if quiet:
        yield CampaignObserver()
    elif watch and sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        panel = CampaignPanel()
        console = Console(stderr=True, highlight=False)
        with Live(get_renderable=panel.draw, console=console, refresh_per_second=4) as live:
            yield _Panel(panel, live)
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(_BAR),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        console = Console(stderr=True, highlight=False)
        with Progress(*columns, console=console, refresh_per_second=4) as progress:
            yield _Live(progress)
    else:
        yield _Lines()


class _Lines(CampaignObserver):
    """One line for each thing that happened."""

    def __init__(self) -> None:
        self._estimate = Estimate()
        self._total = self._done = 0
        self._stage = ""

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        self._print(text)

    def preparing(self, step: Step) -> None:
        if step.detail and (words := step_words(step)) != self._stage:
            self._stage = words
            self._print(words)

    def certifying(self, release: str, workload: str) -> None:
        self._print(f"proving that {release} computes {workload} as the reference does")

    def certified(self, certificate: Certificate) -> None:
        if not certificate.passed:
            self._print(
                f"{certificate.release} is NOT certified for {certificate.workload}:"
                f" {certificate.first_fault}. Its numbers will not be ranked."
            )

    def _plan(self, trials: Sequence[Trial], done: int) -> None:
        self._total, self._done = len(trials), done
        self._estimate.plan(trials[done:])

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        self._plan(trials, done)
        rest = f", {done} of them done" if done else ""
        self._print(f"{count(len(trials), 'trial')}{rest}")

    def looked(self, repeats: int, known: bool) -> None:
        found = "the leader is known" if known else "the leader is not known yet"
        self._print(f"After {repeats} runs of each {found}.")

    def ended(self, trial: Trial, result: TrialResult) -> None:
        self._done += 1
        self._estimate.ended(trial, result.wall_s)
        self._print(self.line(trial, result))

    def line(self, trial: Trial, result: TrialResult) -> str:
        left = self._estimate.left_s() if self._done < self._total else None
        return ended_line(trial.label, result, self._done, self._total, left)


_STAGES = {
    "download": "downloading",
    "install": "installing",
    "base": "base image:",
    "cuda": "CUDA:",
    "wait": "waiting for",
    "build": "building",
    "data": "data set",
}


def step_words(step: Step) -> str:
    """What is being prepared, as a person reads it."""
    return f"{_STAGES.get(step.stage, step.stage)} {step.detail}".strip()


def ended_line(label: str, result: TrialResult, done: int, total: int, left_s: float | None) -> str:
    rest = f", about {seconds(left_s)} left" if left_s else ""
    accuracy = result.metrics.get("accuracy")
    quality = f", accuracy {100 * accuracy:.1f} %" if accuracy is not None else ""
    step = result.metrics.get("step_ms_median")
    pace = f", {step:.2f} ms a step" if step is not None else ""
    place = f"{result.workload} ({result.point})" if result.point else result.workload
    return (
        f"[{done}/{total}] {label} on {place}, seed {result.seed}:"
        f" {result.outcome.value} in {seconds(result.wall_s)}{quality}{pace}{rest}"
    )


class _Panel(_Lines):
    """The panel that `dlbench watch` shows too, fed by the campaign itself."""

    def __init__(self, panel: CampaignPanel, live: Live) -> None:
        super().__init__()
        self._panel, self._live = panel, live
        self._estimate = panel.estimate
        self._seen = -1.0

    def _print(self, text: str) -> None:
        self._live.console.print(text, markup=False)

    def preparing(self, step: Step) -> None:
        self._panel.doing(step_words(step))

    def certifying(self, release: str, workload: str) -> None:
        self._panel.doing(f"proving {release} on {workload}")

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        self._total, self._done = len(trials), done
        self._panel.planned(trials, done)

    def started(self, trial: Trial) -> None:
        self._panel.started(trial)

    def event(self, _trial: Trial, event: Event) -> None:
        self._panel.event(event)

    def tick(self, _trial: Trial, monitor: Monitor) -> None:
        latest = monitor.latest
        if latest is not None and latest.t != self._seen:
            self._seen = latest.t
            self._panel.sample(latest)

    def ended(self, trial: Trial, result: TrialResult) -> None:
        self._panel.ended(trial, result)
        self._done += 1
        self._print(self.line(trial, result))


class _Live(_Lines):
    """Two bars: the campaign, and the trial that runs now with its loss and use of the machine."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._whole: TaskID | None = None
        self._now: TaskID | None = None
        self._doing = ""
        self._metrics: list[str] = []
        self._shown = 0.0

    def _print(self, text: str) -> None:
        self._progress.console.print(text, markup=False)

    def _set(
        self, description: str, note: str = "", done: float = 0, total: float | None = None
    ) -> None:
        """Show what happens now; its clock begins anew with every other thing that happens."""
        if self._now is None:
            self._now = self._progress.add_task(description, total=total, note=note)
        elif description != self._doing:
            self._progress.reset(
                self._now, description=description, note=note, completed=int(done), total=total,
                visible=True,
            )  # fmt: skip
        else:
            self._progress.update(self._now, note=note, completed=done, total=total)
        self._doing = description

    def _room(self) -> int:
        """What a note may fill beside its description, bar and clock."""
        return self._progress.console.width - len(self._doing) - _BAR - len("0:00:00") - 3

    def preparing(self, step: Step) -> None:
        amount = ""
        if step.stage == "download" and step.total:
            amount = f"{step.done / 1e6:,.0f} of {step.total / 1e6:,.0f} MB"
        longest = self._progress.console.width - _BAR - len(amount) - 12
        self._set(step_words(step)[:longest], amount, step.done, step.total or None)

    def certifying(self, release: str, workload: str) -> None:
        self._set(f"proving {release} on {workload}")

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        self._plan(trials, done)
        note = f"{done} of {len(trials)}"
        if self._whole is None:
            self._whole = self._progress.add_task("all trials", total=len(trials), note=note)
        self._progress.update(self._whole, total=len(trials), completed=done, note=note)

    def started(self, trial: Trial) -> None:
        self._metrics = []
        self._set(f"{trial.label} {trial.place} seed {trial.seed}", "starting")

    def event(self, trial: Trial, event: Event) -> None:
        fields = event.fields
        if event.kind == "epoch":
            values = {"loss": fields["loss"], **fields["metrics"]}
            self._metrics = [f"epoch {fields['epoch']}"] + [
                f"{name} {value:.4f}" for name, value in values.items() if value is not None
            ]
            if self._now is not None and not trial.steps:
                self._progress.update(self._now, completed=fields["epoch"], total=trial.epochs)
        elif event.kind == "progress" and self._now is not None:
            self._progress.update(self._now, completed=fields["step"], total=fields["steps"])

    def tick(self, _trial: Trial, monitor: Monitor) -> None:
        if self._now is None or time.monotonic() - self._shown < 0.25:
            return
        self._shown = time.monotonic()
        latest, cpu = monitor.latest, monitor.cpu_percent()
        parts = list(self._metrics)
        parts += [f"{cpu:.0f} % of one core"] if cpu is not None else []
        parts += [f"{latest.memory_bytes / 1e6:,.0f} MB"] if latest is not None else []
        self._progress.update(self._now, note=fitting(parts, self._room()))

    def ended(self, trial: Trial, result: TrialResult) -> None:
        super().ended(trial, result)
        if self._now is not None:
            self._progress.update(self._now, visible=False)
        if self._whole is not None:
            left = self._estimate.left_s()
            rest = f", about {seconds(left)} left" if left else ""
            self._progress.update(
                self._whole, completed=self._done, note=f"{self._done} of {self._total}{rest}"
            )


def fitting(parts: Sequence[str], room: int) -> str:
    """As many of the parts, first the first, as there is room for: none of them is cut."""
    text = ""
    for part in parts:
        longer = f"{text}  {part}" if text else part
        if len(longer) > room:
            break
        text = longer
    return text
