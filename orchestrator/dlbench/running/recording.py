"""What is kept of a trial that has ended: its events, samples and proof as trial.json."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench.campaigns.certificate_file import Certificate
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import (
    DIGESTS,
    Scale,
    TrialCores,
    TrialResult,
    curve,
    intervals,
    measure,
    phase_seconds,
)
from dlbench.datasets.store import PreparedData
from dlbench.engines.base import Scope
from dlbench.environments import releases
from dlbench.errors import UserError
from dlbench.monitor.resources import summarise
from dlbench.monitor.samples import read_samples
from dlbench.plain_json import printable
from dlbench.planning.altered import model_of
from dlbench.planning.recipes import rows_trained
from dlbench.planning.trial import Trial
from dlbench.running.execute import Execution
from dlbench.running.jobs import rows_of


def record(campaign: Campaign, result: TrialResult) -> TrialResult:
    """Write the result, and read it again: one that no reader takes would spoil the campaign."""
    try:
        campaign.write_result(result)
        campaign.result(result.id)
    except (UserError, ValueError, RecursionError) as error:
        problem = error.problem if isinstance(error, UserError) else str(error)
        problem = problem.replace(str(campaign.folder), campaign.folder.name)
        outcome, words = Outcome.INVALID, f"What it wrote can't be recorded: {problem}"
        if result.outcome is Outcome.INTERRUPTED:
            outcome, words = result.outcome, result.reason
        result = replace(
            result, outcome=outcome, reason=printable(words), metrics={}, resources=None, curve=[],
            phases={}, model={}, stack={}, notes=[],
        )  # fmt: skip
        campaign.write_result(result)
    return result


def _cores(scope: Scope | None) -> TrialCores:
    if scope is None:
        return TrialCores()
    return TrialCores(scope.cpus, list(scope.pinned), scope.unpinned, os.cpu_count())


def _of(trial: Trial, *names: str) -> dict[str, Any]:
    """These fields of the trial, which its result has under the same names."""
    return {name: getattr(trial, name) for name in names}


def result_of(
    trial: Trial,
    execution: Execution,
    folder: Path,
    data: PreparedData,
    certificate: Certificate | None,
    machine: Mapping[str, Any],
) -> TrialResult:
    """All that is known of a trial that has ended; `folder` has its files."""
    model = model_of(trial.workload, trial.changes, trial.confounds)
    batch, rows = int(model.recipe["batch"]), rows_of(trial, data)
    trained = rows_trained(model.recipe, (rows or data.rows)["train"])
    stretches = intervals(execution.events)
    phases = phase_seconds(stretches)
    samples = read_samples(folder / "samples.jsonl")
    facts = {event.kind: event.fields for event in execution.events}
    end = facts.get("result", {})
    # how the model was audited, why its state was not saved
    of_its_end = {key: end[key] for key in ("audit", "optimizer_state") if end.get(key)}
    return TrialResult(
        **_of(trial, "id", "index", "round", "release", "workload", "engine", "setting", "variant",
              "seed", "repeat", "point"),
        device=trial.compared_device,
        outcome=execution.outcome,
        reason=execution.reason,
        started=execution.started,
        wall_s=round(execution.wall_s, 3),
        metrics=measure(execution.events, phases, batch, trained),
        resources=summarise(samples, stretches, end.get("samples")) if samples else None,
        curve=curve(execution.events),
        phases=phases,
        model={**facts.get("model", {}), **of_its_end},
        stack=facts.get("stack", {}),
        scale=Scale(
            **_of(trial, "epochs", "steps", "threads", "cpus", "memory_bytes", "setting", "weights",
                  "weights_file", "deterministic"),
            batch=batch,
            data=data.digest,
            source=data.source,
            name=trial.scale,
            rows=rows["train"] if rows else None,
            test_rows=rows["test"] if rows else None,
            changes=list(trial.changes),
        ),
        cores=_cores(execution.scope),
        ended_with={name: str(end[name]) for name in DIGESTS if end.get(name)},
        # with confounds it is not the workload's model, whatever the certificate proves of it
        certified=False if trial.confounds else certificate.passed if certificate else None,
        certificate=certificate.key if certificate else None,
        machine=str(machine.get("digest", "")),
        lock=releases.find(trial.release).lock_digest(trial.device),
        notes=[] if execution.outcome is Outcome.OK else log_tail(folder / "log.txt"),
        confounds=list(trial.confounds),
    )  # fmt: skip
