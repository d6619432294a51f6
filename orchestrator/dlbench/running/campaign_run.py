"""A campaign from its plan to its last trial: prepare, certify, run, record.

One failed trial never stops the campaign; Ctrl-C ends the running trial, records it as
`interrupted` and leaves a campaign that `--resume` finishes.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench import __version__, datasets, workloads
from dlbench.campaigns.folder import Campaign, write_whole
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult, curve, intervals, measure
from dlbench.datasets import store
from dlbench.engines.base import Request
from dlbench.environments import releases
from dlbench.environments.progress import Step
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.resources import summarise
from dlbench.monitor.sampler import Monitor, check_rate
from dlbench.monitor.samples import read_samples
from dlbench.planning.plan import Choices, Trial, draft
from dlbench.running import origins
from dlbench.running.bench_code import bench_digest, bench_folder
from dlbench.running.certificates import Certificate, certify
from dlbench.running.execute import Execution, ExecutionObserver, execute, log_tail
from dlbench.running.jobs import identified, job_of
from dlbench.running.workshop import Workshop


class CampaignObserver:
    """Told of a campaign's progress; does nothing by itself."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def preparing(self, step: Step) -> None:
        """An environment or data set is being made."""

    def prepared(self) -> None:
        """Everything is ready."""

    def planned(self, trials: Sequence[Trial], done: int) -> None:
        """These will run; `done` of them have already."""

    def certifying(self, release: str, workload: str) -> None:
        """A proof is being made."""

    def certified(self, certificate: Certificate) -> None:
        """A proof was made or found."""

    def started(self, trial: Trial) -> None:
        """A trial begins."""

    def event(self, trial: Trial, event: Event) -> None:
        """A trial wrote an event."""

    def tick(self, _trial: Trial, monitor: Monitor) -> None:
        """A trial is running; about ten times a second."""

    def ended(self, trial: Trial, result: TrialResult) -> None:
        """A trial has ended."""


@dataclass(frozen=True)
class Finished:
    """How a campaign went."""

    campaign: Campaign
    results: tuple[TrialResult, ...]
    interrupted: bool

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 130
        return 0 if all(result.complete for result in self.results) else 1


def start(
    choices: Choices,
    workshop: Workshop,
    out: Path,
    observer: CampaignObserver,
    *,
    hz: float = 1.0,
    command: Sequence[str] = (),
) -> Finished:
    """Plan and run a new campaign in `out`."""
    from dlbench.host.machine import fingerprint

    plan = draft(choices, workshop.engine.name)
    check_rate(hz)
    _check_folder(out)
    if workshop.note:
        observer.note(workshop.note)
    for text in (*plan.notes, *workshop.engine.unenforced(plan.trials[0].limits)):
        observer.note(text)
    stores = _data(plan.trials, observer)
    environments = _environments(plan.trials, workshop, observer)
    trials = [identified(trial, stores[trial.workload]) for trial in plan.trials]
    about = {
        "id": secrets.token_hex(6),
        "dlbench": __version__,
        "bench": bench_digest(),
        "suite": plan.suite.name,
        "command": list(command),
        "choices": asdict(choices),
        "engine": workshop.engine.name,
        "hz": hz,
        "notes": list(plan.notes),
        "origins": origins.record(plan),
        "machine": fingerprint(workshop.runtime).to_dict(),
    }
    campaign = Campaign.create(out, about, trials)
    return _finish(campaign, about, trials, workshop, environments, stores, observer, hz)


def resume(folder: Path, workshop: Workshop, observer: CampaignObserver) -> Finished:
    """Finish a campaign that was interrupted or killed."""
    campaign = Campaign.open(folder)
    about = campaign.about()
    trials = campaign.unfinished()
    with campaign.alone():
        for left in workshop.engine.sweep(about["id"]):
            observer.note(f"Cleared away {left}, left by the earlier run.")
    if trials:
        origins.check(about.get("origins", []), folder)
    stores = _data(trials, observer)
    for trial in trials:
        if identified(trial, stores[trial.workload]).id != trial.id:
            raise UserError(
                f"{trial.release} on {trial.workload} is no longer what was planned in {folder}:"
                " its lock, its model, its data or dlbench itself has changed.",
                "Start a new campaign, or go back to the version that planned this one.",
            )
    environments = _environments(trials, workshop, observer) if trials else {}
    return _finish(
        campaign, about, trials, workshop, environments, stores, observer, float(about["hz"])
    )


def _check_folder(out: Path) -> None:
    """Find out that the results can't be written before an hour has gone into preparing them."""
    if Campaign(out).exists():
        raise UserError(
            f"{out} already holds a campaign.",
            f"Finish it with --resume {out}, or choose another --out.",
        )
    existing = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    try:
        probe = existing / f".dlbench-{secrets.token_hex(4)}"
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise UserError(
            f"{out} can't be written ({error.strerror}).", "Choose another place with --out."
        ) from error


def _data(trials: Sequence[Trial], observer: CampaignObserver) -> dict[str, store.PreparedData]:
    """The data of each workload."""
    found: dict[str, store.PreparedData] = {}
    for trial in trials:
        if trial.workload not in found:
            dataset = datasets.find(workloads.find(trial.workload).dataset)
            source: datasets.Source = "synthetic" if trial.data == "synthetic" else "real"
            found[trial.workload] = store.prepare(
                dataset, source, lambda text: observer.preparing(Step("data", text))
            )
    return found


Environments = dict[tuple[str, str], str | UserError]
"""What the engine starts, by (release, device); or why there is nothing to start."""


def _environments(
    trials: Sequence[Trial], workshop: Workshop, observer: CampaignObserver
) -> Environments:
    """Each release's environment. A failure is kept for its trials, unless nothing else is left."""
    wanted = sorted({(trial.release, trial.device) for trial in trials})
    found: Environments = {}
    for name, device in wanted:
        release = releases.find(name)
        if device == "gpu" and (refusal := workshop.gpu_refusal(release)):
            found[name, device] = GpuImpossible(refusal)
            continue
        workshop.check(release, device)
    for name, device in wanted:
        if (name, device) in found:
            continue
        try:
            found[name, device] = workshop.environment(
                releases.find(name), device, observer.preparing
            )
        except UserError as error:
            if len(wanted) == 1:
                raise
            observer.note(f"{name}: {error}")
            found[name, device] = error
    observer.prepared()
    return found


class GpuImpossible(UserError):
    """A GPU trial that is refused before it starts."""


def _finish(
    campaign: Campaign,
    about: dict[str, Any],
    trials: Sequence[Trial],
    workshop: Workshop,
    environments: Environments,
    stores: dict[str, store.PreparedData],
    observer: CampaignObserver,
    hz: float,
) -> Finished:
    interrupted = False
    with campaign.alone():
        everything = campaign.trials()
        observer.planned(everything, len(everything) - len(trials))
        try:
            certificates = _certificates(campaign, trials, workshop, environments, observer)
        except KeyboardInterrupt:
            return Finished(campaign, tuple(campaign.results()), True)
        for trial in trials:
            campaign.set_aside(trial.id)
            observer.started(trial)
            environment = environments[trial.release, trial.device]
            if isinstance(environment, UserError):
                ended = _refused(environment)
            else:
                ended = _run(
                    campaign, about["id"], trial, environment, stores[trial.workload], workshop,
                    observer, hz,
                )  # fmt: skip
            result = _result(
                campaign, about, trial, ended, stores[trial.workload],
                certificates.get(_key(trial)),
            )  # fmt: skip
            campaign.write_result(result)
            observer.ended(trial, result)
            if result.outcome is Outcome.INTERRUPTED:
                interrupted = True
                break
    return Finished(campaign, tuple(campaign.results()), interrupted)


def _key(trial: Trial) -> tuple[str, str, str, str]:
    return trial.release, trial.variant, trial.device, trial.workload


def _certificates(
    campaign: Campaign,
    trials: Sequence[Trial],
    workshop: Workshop,
    environments: Environments,
    observer: CampaignObserver,
) -> dict[tuple[str, str, str, str], Certificate]:
    """The proof of each contender, before anything is timed."""
    found: dict[tuple[str, str, str, str], Certificate] = {}
    for trial in trials:
        environment = environments[trial.release, trial.device]
        if _key(trial) in found or isinstance(environment, UserError):
            continue
        observer.certifying(trial.label, trial.workload)
        certificate = certify(
            workshop,
            environment,
            releases.find(trial.release),
            workloads.find(trial.workload),
            device=trial.device,
            variant=trial.variant,
            gpus=trial.gpus,
        )
        found[_key(trial)] = certificate
        folder = campaign.folder / "certificates"
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{certificate.key}.json", json.dumps(certificate.to_json(), indent=1))
        observer.certified(certificate)
    return found


class _Relay(ExecutionObserver):
    """Passes what one trial does on to the campaign's observer."""

    def __init__(self, trial: Trial, observer: CampaignObserver) -> None:
        self._trial, self._observer = trial, observer

    def event(self, event: Event) -> None:
        self._observer.event(self._trial, event)

    def tick(self, monitor: Monitor) -> None:
        self._observer.tick(self._trial, monitor)


def _run(
    campaign: Campaign,
    campaign_id: str,
    trial: Trial,
    environment: str,
    data: store.PreparedData,
    workshop: Workshop,
    observer: CampaignObserver,
    hz: float,
) -> Execution:
    folder = campaign.trial_folder(trial.id)
    (folder / "out").mkdir(parents=True)
    write_whole(folder / "job.json", json.dumps(job_of(trial, data), indent=1))
    request = Request(
        trial=trial.id,
        campaign=campaign_id,
        environment=environment,
        bench=bench_folder(releases.find(trial.release).adapter_from),
        job=folder / "job.json",
        data=data.folder,
        out=folder / "out",
        log=folder / "log.txt",
        limits=trial.limits,
        gpus=trial.gpus,
        variables=dict(releases.find(trial.release).variables),
        cache=releases.find(trial.release).cache_folder(trial.device, workshop.engine.name),
    )
    return execute(
        workshop.engine,
        request,
        folder / "samples.jsonl",
        folder / "events.jsonl",
        hz=hz,
        stats=workshop.stats(),
        watch=_Relay(trial, observer),
    )


def _refused(why: UserError) -> Execution:
    outcome = Outcome.UNSUPPORTED if isinstance(why, GpuImpossible) else Outcome.BUILD_FAILED
    return Execution(outcome, str(why), "", 0.0, ())


def _result(
    campaign: Campaign,
    about: dict[str, Any],
    trial: Trial,
    ended: Execution,
    data: store.PreparedData,
    certificate: Certificate | None,
) -> TrialResult:
    folder = campaign.trial_folder(trial.id)
    stretches = intervals(ended.events)
    samples = read_samples(folder / "samples.jsonl")
    facts = {event.kind: event.fields for event in ended.events}
    recipe = workloads.find(trial.workload).recipe
    phases: dict[str, float] = {}
    for stretch in stretches:
        seconds = phases.get(stretch.phase, 0.0) + stretch.end - stretch.start
        phases[stretch.phase] = round(seconds, 6)
    return TrialResult(
        id=trial.id,
        index=trial.index,
        round=trial.round,
        release=trial.release,
        workload=trial.workload,
        device=trial.device,
        engine=trial.engine,
        setting=trial.setting,
        variant=trial.variant,
        seed=trial.seed,
        repeat=trial.repeat,
        outcome=ended.outcome,
        reason=ended.reason,
        started=ended.started,
        wall_s=round(ended.wall_s, 3),
        metrics=measure(ended.events, recipe["batch"]),
        resources=asdict(summarise(samples, stretches)) if samples else {},
        curve=curve(ended.events),
        phases=phases,
        model=facts.get("model", {}),
        stack=facts.get("stack", {}),
        scale={
            "epochs": trial.epochs,
            "steps": trial.steps,
            "batch": recipe["batch"],
            "data": data.digest,
            "source": data.source,
            "threads": trial.threads,
            "cpus": trial.cpus,
            "memory_bytes": trial.memory_bytes,
            "setting": trial.setting,
        },
        certified=certificate.passed if certificate else None,
        certificate=certificate.key if certificate else None,
        machine=about["machine"]["digest"],
        lock=releases.find(trial.release).lock_digest(trial.device),
        notes=[] if ended.outcome is Outcome.OK else log_tail(folder / "log.txt"),
    )
