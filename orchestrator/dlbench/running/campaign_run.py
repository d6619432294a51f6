"""A campaign from its plan to its last trial: prepare, certify, run, record.

One failed trial never stops the campaign; Ctrl-C ends the running trial, records it as
`interrupted` and leaves a campaign that `--resume` finishes.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dlbench import __version__, workloads
from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.folder import Campaign, write_whole
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import (
    Scale,
    TrialResult,
    curve,
    intervals,
    measure,
    phase_seconds,
)
from dlbench.datasets.store import PreparedData
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.formats import Event
from dlbench.monitor.rate import check_rate
from dlbench.monitor.resources import summarise
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import read_samples
from dlbench.planning.choices import Choices
from dlbench.planning.plan import Trial, draft
from dlbench.running import origins
from dlbench.running.bench_code import bench_digest
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.certificates import Certificate, certify
from dlbench.running.execute import Execution, ExecutionObserver, execute, log_tail
from dlbench.running.jobs import identified, job_of, request_of
from dlbench.running.preparation import (
    Environments,
    GpuImpossible,
    prepare_data,
    prepare_environments,
)
from dlbench.running.workshop import Workshop


@dataclass(frozen=True)
class CampaignRun:
    """A campaign with everything that is needed to run its trials."""

    campaign: Campaign
    about: CampaignAbout
    workshop: Workshop
    environments: Environments
    data: Mapping[str, PreparedData]
    """By workload."""
    observer: CampaignObserver


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
    command: Sequence[str] = (),
) -> Finished:
    """Plan and run a new campaign in `out`."""
    from dlbench.host.machine import fingerprint

    plan = draft(choices, workshop.engine.name)
    check_rate(choices.hz)
    Campaign(out).check_new()
    if workshop.note:
        observer.note(workshop.note)
    for text in (*plan.notes, *workshop.engine.unenforced(plan.trials[0].limits)):
        observer.note(text)
    data = prepare_data(plan.trials, observer)
    environments = prepare_environments(plan.trials, workshop, observer)
    trials = identified(plan.trials, data)
    about = CampaignAbout(
        id=secrets.token_hex(6),
        dlbench=__version__,
        bench=bench_digest(),
        suite=plan.suite.name,
        command=tuple(command),
        choices=replace(choices, suite=Path(choices.suite).name),  # no home folder is recorded
        engine=workshop.engine.name,
        hz=choices.hz,
        notes=plan.notes,
        origins=tuple(origins.record(plan)),
        machine=fingerprint(workshop.runtime).to_dict(),
    )
    campaign = Campaign.create(out, about, trials)
    return _finish(CampaignRun(campaign, about, workshop, environments, data, observer), trials)


def resume(folder: Path, workshop: Workshop, observer: CampaignObserver) -> Finished:
    """Finish a campaign that was interrupted or killed."""
    campaign = Campaign.open(folder)
    about = campaign.about()
    trials = campaign.unfinished()
    with campaign.alone():
        for left in workshop.engine.sweep(about.id):
            observer.note(f"Cleared away {left}, left by the earlier run.")
    if trials:
        origins.check(about.origins, folder)
    data = prepare_data(trials, observer)
    for trial, now in zip(trials, identified(trials, data), strict=True):
        if now.id != trial.id:
            raise UserError(
                f"{trial.release} on {trial.workload} is no longer what was planned in {folder}:"
                " its lock, its model, its data or dlbench itself has changed.",
                "Start a new campaign, or go back to the version that planned this one.",
            )
    environments = prepare_environments(trials, workshop, observer)
    return _finish(CampaignRun(campaign, about, workshop, environments, data, observer), trials)


def _finish(run: CampaignRun, trials: Sequence[Trial]) -> Finished:
    interrupted = False
    with run.campaign.alone():
        everything = run.campaign.trials()
        run.observer.planned(everything, len(everything) - len(trials))
        try:
            certificates = _certificates(run, trials)
        except KeyboardInterrupt:
            return Finished(run.campaign, tuple(run.campaign.results()), True)
        for trial in trials:
            run.campaign.set_aside(trial.id)
            run.observer.started(trial)
            execution = _execution(run, trial)
            result = _result(run, trial, execution, certificates.get(_contender(trial)))
            run.campaign.write_result(result)
            run.observer.ended(trial, result)
            if result.outcome is Outcome.INTERRUPTED:
                interrupted = True
                break
    return Finished(run.campaign, tuple(run.campaign.results()), interrupted)


def _contender(trial: Trial) -> tuple[str, str, str, str]:
    """What has one certificate."""
    return trial.release, trial.variant, trial.device, trial.workload


def _certificates(
    run: CampaignRun, trials: Sequence[Trial]
) -> dict[tuple[str, str, str, str], Certificate]:
    """The proof of each contender, before anything is timed."""
    certificates: dict[tuple[str, str, str, str], Certificate] = {}
    folder = run.campaign.folder / "certificates"
    for trial in trials:
        environment = run.environments[trial.release, trial.device]
        if _contender(trial) in certificates or isinstance(environment, UserError):
            continue
        run.observer.certifying(trial.label, trial.workload)
        certificate = certify(
            run.workshop,
            environment,
            releases.find(trial.release),
            workloads.find(trial.workload),
            device=trial.device,
            variant=trial.variant,
            gpus=trial.gpus,
        )
        certificates[_contender(trial)] = certificate
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{certificate.key}.json", json.dumps(certificate.to_json(), indent=1))
        run.observer.certified(certificate)
    return certificates


class _Relay(ExecutionObserver):
    """Passes what one trial does on to the campaign's observer."""

    def __init__(self, trial: Trial, observer: CampaignObserver) -> None:
        self._trial, self._observer = trial, observer

    def event(self, event: Event) -> None:
        self._observer.event(self._trial, event)

    def tick(self, monitor: Monitor) -> None:
        self._observer.tick(self._trial, monitor)


def _execution(run: CampaignRun, trial: Trial) -> Execution:
    """Run the trial; where there is nothing to start, say why."""
    environment = run.environments[trial.release, trial.device]
    if isinstance(environment, UserError):
        impossible = isinstance(environment, GpuImpossible)
        outcome = Outcome.UNSUPPORTED if impossible else Outcome.BUILD_FAILED
        return Execution(outcome, str(environment), "", 0.0, ())
    data, folder = run.data[trial.workload], run.campaign.trial_folder(trial.id)
    request = request_of(
        trial,
        job_of(trial, data),
        data,
        folder=folder,
        environment=environment,
        campaign=run.about.id,
        libraries=run.workshop.libraries(releases.find(trial.release), trial.device),
    )
    return execute(
        run.workshop.engine,
        request,
        folder,
        hz=run.about.hz,
        stats=run.workshop.stats(),
        observer=_Relay(trial, run.observer),
    )


def _result(
    run: CampaignRun, trial: Trial, execution: Execution, certificate: Certificate | None
) -> TrialResult:
    folder = run.campaign.trial_folder(trial.id)
    data, batch = run.data[trial.workload], int(workloads.find(trial.workload).recipe["batch"])
    stretches = intervals(execution.events)
    phases = phase_seconds(stretches)
    samples = read_samples(folder / "samples.jsonl")
    facts = {event.kind: event.fields for event in execution.events}
    rows = facts.get("result", {}).get("samples")
    return TrialResult(
        id=trial.id,
        index=trial.index,
        round=trial.round,
        release=trial.release,
        workload=trial.workload,
        device=trial.compared_device,
        engine=trial.engine,
        setting=trial.setting,
        variant=trial.variant,
        seed=trial.seed,
        repeat=trial.repeat,
        outcome=execution.outcome,
        reason=execution.reason,
        started=execution.started,
        wall_s=round(execution.wall_s, 3),
        metrics=measure(execution.events, phases, batch),
        resources=summarise(samples, stretches, rows) if samples else None,
        curve=curve(execution.events),
        phases=phases,
        model=facts.get("model", {}),
        stack=facts.get("stack", {}),
        scale=Scale(
            epochs=trial.epochs,
            steps=trial.steps,
            batch=batch,
            data=data.digest,
            source=data.source,
            threads=trial.threads,
            cpus=trial.cpus,
            memory_bytes=trial.memory_bytes,
            setting=trial.setting,
        ),
        certified=certificate.passed if certificate else None,
        certificate=certificate.key if certificate else None,
        machine=str(run.about.machine.get("digest", "")),
        lock=releases.find(trial.release).lock_digest(trial.device),
        notes=[] if execution.outcome is Outcome.OK else log_tail(folder / "log.txt"),
    )
