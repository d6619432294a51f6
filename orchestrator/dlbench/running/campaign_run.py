"""A campaign from its plan to its last trial: prepare, certify, run, record.

One failed trial never stops the campaign; Ctrl-C ends the running trial, records it as
`interrupted` and leaves a campaign that `--resume` finishes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from dlbench import __version__, workloads
from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.campaign_list import fresh_folder
from dlbench.campaigns.certificate_file import Certificate
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult
from dlbench.confounds.confound import marked
from dlbench.datasets.store import PreparedData
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.host.busyness import wait_until_idle
from dlbench.monitor.gpu import digests
from dlbench.monitor.rate import check_rate
from dlbench.planning.altered import to_be_proven
from dlbench.planning.choices import Choices
from dlbench.planning.extension import ADDED, extension
from dlbench.planning.notices import check_gpus, notices
from dlbench.planning.plan import draft
from dlbench.planning.repeats import (
    ALPHA,
    planned_looks,
    rivals,
    what_another_look_costs,
)
from dlbench.planning.trial import Trial
from dlbench.running import origins
from dlbench.running.bench_code import bench_digest
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.certificates import certify
from dlbench.running.execute import Execution, execute
from dlbench.running.jobs import identified, job_of, request_of
from dlbench.running.preparation import (
    Environments,
    GpuImpossible,
    check_weights,
    prepare_data,
    prepare_environments,
    refusal_of,
)
from dlbench.running.recording import record, result_of
from dlbench.running.resumable import check_extensible, check_machine
from dlbench.running.workshop import Workshop
from dlbench.statistics.looks import alpha_at_look
from dlbench.weights import store as weights_store
from dlbench.whole_files import write_json


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
    certificates: dict[tuple[object, ...], Certificate] = field(default_factory=dict)
    """Of the contenders that were proven so far."""
    gpus: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Which GPUs a choice such as `all` meant when it was first used, as digests."""


@dataclass(frozen=True)
class CampaignEnd:
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
    out: Path | None,
    observer: CampaignObserver,
    *,
    command: Sequence[str] = (),
    idle_wait_s: float | None = None,
) -> CampaignEnd:
    """Plan and run a new campaign in `out`, or in a folder called after what it compares.

    `idle_wait_s`: wait at most so long for an idle machine."""
    from dlbench.host.machine import fingerprint

    plan = draft(choices, workshop.engine.name, workshop.cores)
    check_gpus(plan.trials, workshop)
    check_rate(choices.hz)
    out = out or fresh_folder(plan.trials, choices.label)
    Campaign(out).check_new()
    for text in (
        workshop.note,
        *plan.notes,
        *notices(plan.trials, plan.looks, workshop, busy=idle_wait_s is None),
    ):
        if text:
            observer.note(text)
    data = prepare_data(plan.trials, observer)
    if plan.weights:
        weights_store.keep(plan.weights)
    environments = prepare_environments(plan.trials, workshop, observer)
    trials = identified(plan.trials, data)
    if idle_wait_s is not None:
        wait_until_idle(idle_wait_s, observer.note)
    about = CampaignAbout(
        id=secrets.token_hex(6),
        dlbench=__version__,
        bench=bench_digest(),
        suite=plan.suite.name,
        command=tuple(command),
        choices=_without_folders(choices),
        engine=workshop.engine.name,
        hz=choices.hz,
        notes=plan.notes,
        looks=plan.looks,
        origins=tuple(origins.record(plan)),
        machine=fingerprint(workshop.runtime).to_dict(),
    )
    campaign = Campaign.create(out, about, trials)
    return _finish(CampaignRun(campaign, about, workshop, environments, data, observer))


def _without_folders(choices: Choices) -> Choices:
    """As they are recorded: of a path its last part alone, which names no home folder."""
    weights = Path(choices.weights).name if choices.weights else None
    return replace(choices, suite=Path(choices.suite).name, weights=weights)


def resume(
    folder: Path,
    workshop: Workshop,
    observer: CampaignObserver,
    choices: Choices | None = None,
    *,
    idle_wait_s: float | None = None,
) -> CampaignEnd:
    """Finish a campaign, with what `choices` add to it: repeats, releases, workloads."""
    campaign = Campaign.open(folder)
    about, planned = campaign.about(), campaign.trials()
    added: tuple[Trial, ...] = ()
    if choices is not None and any(getattr(choices, name) not in (None, ()) for name in ADDED):
        check_extensible(folder, about)
        added = extension(planned, choices)
        made = max(trial.repeat for trial in (*planned, *added)) + 1
        contenders = rivals((*planned, *added))
        looks = planned_looks(contenders, made, choices.until, choices.at_most)
        about = replace(about, looks=looks)
    unfinished = campaign.unfinished()
    with campaign.alone():
        for left in workshop.engine.sweep(about.id):
            observer.note(f"Removed {left}, which the earlier run had left.")
    if not (unfinished or added or about.looks_left):
        return CampaignEnd(campaign, tuple(campaign.results()), False)
    check_machine(folder, about, workshop)
    origins.check(about.origins, folder)
    # what is added belongs to what is there: then all of it must still be what was planned
    grows = bool(added) or about.looks_left
    kept = planned if grows else unfinished
    data = prepare_data([*kept, *added], observer)
    check_weights([*kept, *added], choices.weights if choices else None, folder)
    for trial, now in zip(kept, identified(kept, data), strict=True):
        if now.id != trial.id:
            raise UserError(
                f"{trial.release} on {trial.workload} is no longer what was planned in {folder}:"
                " its lock, its model, its data or dlbench itself has changed.",
                "Start a new campaign, or go back to the version that planned this one.",
            )
    whole = [*planned, *identified(added, data)]
    if grows:
        made = max(trial.repeat for trial in planned) + 1
        again = "" if about.looked else what_another_look_costs(made, rivals(planned))
        said = notices(whole, about.looks, workshop, busy=idle_wait_s is None)
        for text in filter(None, (*said, again)):
            observer.note(text)
    needed = whole if about.looks_left else [*unfinished, *added]
    environments = prepare_environments(needed, workshop, observer)
    more = [origin for origin in origins.used(added) if origin not in about.origins]
    about = replace(about, origins=(*about.origins, *more))
    if idle_wait_s is not None:
        wait_until_idle(idle_wait_s, observer.note)
    with campaign.alone():
        campaign.write_plan(whole)
        campaign.write_about(about)
    return _finish(CampaignRun(campaign, about, workshop, environments, data, observer))


def _finish(run: CampaignRun) -> CampaignEnd:
    """Run what is left; with looks, round after round until one of them knows the leader."""
    campaign, about = run.campaign, run.about
    with campaign.alone():
        interrupted = _run_rest(run)
        while about.looks_left and not interrupted:
            number = len(about.looked) + 1
            repeats = about.looks[number - 1]
            if _add_rounds(run, repeats):
                interrupted = _run_rest(run)
                continue
            level = alpha_at_look(ALPHA, number, len(about.looks))
            known = _leader_is_known(campaign, level)
            about = replace(about, looked=(*about.looked, known))
            campaign.write_about(about)
            run.observer.looked(repeats, known)
    return CampaignEnd(campaign, tuple(campaign.results()), interrupted)


def _leader_is_known(campaign: Campaign, alpha: float) -> bool:
    """Whether in each case one contender is shown to train faster than all the others."""
    from dlbench.analysis.metrics import TRAINING
    from dlbench.analysis.results import open_results

    try:
        results = open_results(campaign.folder)
        compared = results.compare(TRAINING.column, alpha=alpha, stability=False)
    except UserError:  # no trial has a training time
        return False
    return all(case.comparison.leader for case in compared.cases)


def _add_rounds(run: CampaignRun, repeats: int) -> bool:
    """Plan the rounds up to this number of repeats; whether any were missing."""
    planned = run.campaign.trials()
    if max(trial.repeat for trial in planned) + 1 >= repeats:
        return False
    added = identified(extension(planned, Choices(repeats=repeats)), run.data)
    run.campaign.write_plan([*planned, *added])
    return True


def _run_rest(run: CampaignRun) -> bool:
    """Run the trials that have not ended; whether the user interrupted it."""
    trials = run.campaign.unfinished()
    if not trials:
        return False
    everything = run.campaign.trials()
    run.observer.planned(everything, len(everything) - len(trials))
    try:
        _certify(run, trials)
    except KeyboardInterrupt:
        return True
    for trial in trials:
        run.campaign.set_aside(trial.id)
        run.observer.started(trial)
        execution = _execution(run, trial)
        certificate = run.certificates.get(_contender(trial))
        folder, data = run.campaign.trial_folder(trial.id), run.data[trial.workload]
        result = result_of(trial, execution, folder, data, certificate, run.about.machine)
        result = record(run.campaign, result)
        run.observer.ended(trial, result)
        if result.outcome is Outcome.INTERRUPTED:
            return True
    return False


def _contender(trial: Trial) -> tuple[object, ...]:
    """What decides which certificate a trial needs."""
    what = trial.workload, to_be_proven(trial.changes, trial.confounds)
    return trial.release, trial.variant, trial.device, trial.gpus, *what, trial.deterministic


def _environment(run: CampaignRun, trial: Trial) -> str | UserError:
    """What the engine starts; or why nothing can be started for this trial."""
    environment = run.environments[trial.release, trial.device]
    if isinstance(environment, UserError):
        return environment
    return refusal_of(trial, run.workshop) or environment


def _certify(run: CampaignRun, trials: Sequence[Trial]) -> None:
    """The proof of each contender, before anything is timed."""
    folder = run.campaign.folder / "certificates"
    for trial in trials:
        environment = _environment(run, trial)
        if _contender(trial) in run.certificates or isinstance(environment, UserError):
            continue
        changes, confounds = to_be_proven(trial.changes, trial.confounds)
        what = f"{trial.workload} ({' '.join(changes)})" if changes else trial.workload
        run.observer.certifying(trial.plain_label, marked(what, confounds))
        certificate = certify(
            run.workshop,
            environment,
            releases.find(trial.release),
            workloads.find(trial.workload),
            device=trial.device,
            variant=trial.variant,
            gpus=trial.gpus,
            changes=changes,
            confounds=confounds,
            deterministic=trial.deterministic,
        )
        run.certificates[_contender(trial)] = certificate
        folder.mkdir(exist_ok=True)
        write_json(folder / f"{certificate.key}.json", certificate.to_json())
        run.observer.certified(certificate)


def _execution(run: CampaignRun, trial: Trial) -> Execution:
    """Run the trial; where there is nothing to start, say why."""
    environment = _environment(run, trial)
    if isinstance(environment, UserError):
        impossible = isinstance(environment, GpuImpossible)
        outcome = Outcome.UNSUPPORTED if impossible else Outcome.BUILD_FAILED
        return Execution(outcome, str(environment), "", 0.0, ())
    seen = digests(trial.gpus) if trial.gpus else ()
    if seen and seen != run.gpus.setdefault(trial.gpus, seen):
        words = f"`--gpu {','.join(trial.gpus)}` no longer means the GPUs that it meant before."
        return Execution(Outcome.GPU_LOST, words, "", 0.0, ())
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
        on_event=partial(run.observer.event, trial),
        on_tick=partial(run.observer.tick, trial),
    )
