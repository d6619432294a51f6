"""Makes certificates: the proof that a release's model equals the reference, recorded.

The proof itself is made inside the environment (bench/verify.py), by a trial that verifies instead
of training. It is made once for each release, graph, engine and version of the code, and kept.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench import paths
from dlbench.campaigns.certificate_file import VERSION, Certificate, Check, read_certificate
from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import stub_driver
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively
from dlbench.errors import UserError
from dlbench.formats import digest
from dlbench.host import gpu_preflight
from dlbench.planning.altered import model_of
from dlbench.planning.trial import Trial
from dlbench.running.execute import execute
from dlbench.running.jobs import job_of, request_of, software
from dlbench.running.preparation import check_arrays
from dlbench.running.workshop import Workshop
from dlbench.whole_files import write_json
from dlbench.workloads import Workload

_SEED = 1
_SECONDS = 1800.0
_QUICK = {
    # the reference's matrices are small: a second thread of NumPy's only gets in the way
    "OPENBLAS_NUM_THREADS": "1",
    # and so do threads that burn a processor while they wait for the reference's next step
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
}


def certify(
    workshop: Workshop,
    environment: str,
    release: Release,
    workload: Workload,
    *,
    device: str = "cpu",
    variant: str = "",
    setting: str = "matched",
    gpus: tuple[str, ...] = (),
    again: bool = False,
    build: str = "",
    changes: tuple[str, ...] = (),
    confounds: tuple[str, ...] = (),
    deterministic: bool = False,
) -> Certificate:
    """The certificate of this release for this workload: the kept one, or a new one.

    `build`: the device whose packages `environment` has, where that is not `device`: GPU builds are
    proven on a CPU with a stand-in for the driver. `changes` of the recipe are proven like it.
    `confounds`: those of the model; what is proven then is that it is altered in just this way."""
    build = build or device
    data = store.prepare_proof(find_dataset(workload.dataset))
    trial = Trial(
        id="certificate",
        release=release.name,
        workload=workload.name,
        device=device,
        engine=workshop.engine.name,
        setting=setting,
        variant=variant or release.variants[0],
        seed=_SEED,
        epochs=1,
        seconds=_SECONDS,
        gpus=gpus,
        changes=changes,
        confounds=confounds,
        deterministic=deterministic,
    )
    check_arrays(workload, model_of(workload.name, changes, confounds).proof_graph, data)
    job = job_of(trial, data, "verify")
    facts = [job, software(release, build), trial.engine, VERSION]
    if device == "gpu":  # another GPU, or driver, has other kernels
        facts.append(gpu_preflight.model(gpus or ("all",)))
    key = digest(facts)[:24]
    kept = paths.cache() / "certificates" / f"{key}.json"
    if not again and (known := _read(kept)):
        return replace(known, workload=workload.name)  # it may be of another one with this graph
    with ExitStack() as stack:
        # another dlbench may be making the same one: then this one waits, and reads it
        stack.enter_context(exclusively(kept.with_suffix(".lock")))
        if not again and (known := _read(kept)):
            return replace(known, workload=workload.name)
        proof, folder = _proof_name(kept), kept.with_suffix(".proof")
        workshop.engine.sweep(proof)  # what a killed proof left; nobody else makes this one now
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        request = request_of(
            replace(trial, id=key[:16]),
            job,
            data,
            folder=folder,
            environment=environment,
            campaign=proof,
            variables=_QUICK,
            libraries=_libraries(workshop, release, device, build),
        )
        ended = execute(workshop.engine, request, folder, stats=workshop.stats())
        if ended.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        checks = tuple(_check(event.fields) for event in ended.events if event.kind == "check")
        reason = ended.reason
        if ended.outcome not in (Outcome.OK, Outcome.UNSUPPORTED):
            reason = "\n".join([ended.reason, *log_tail(request.log)])
        whole = ended.outcome is Outcome.OK and bool(checks)
        certificate = Certificate(
            key=key,
            release=release.name,
            workload=workload.name,
            variant=trial.variant,
            device=device,
            engine=trial.engine,
            passed=whole and all(check.passed for check in checks),
            checks=checks,
            reason=reason,
            setting=setting,
            confounds=confounds,
        )
        if whole:
            write_json(kept, certificate.to_json())
        return certificate


def _libraries(workshop: Workshop, release: Release, device: str, build: str) -> tuple[Path, ...]:
    folders = workshop.libraries(release, build)
    if build == "gpu" and device == "cpu":
        # Also where there is a driver: whether the build works without one is the question.
        folders += (stub_driver.folder(),)
    return folders


def _proof_name(kept: Path) -> str:
    """What a proof is called in place of a campaign: its own in every cache, so that two of them
    do not take each other's containers and control groups away."""
    place = digest([str(kept.parent.resolve()), kept.parent.stat().st_ino])[:8]
    return f"certificate-{place}-{kept.stem[:16]}"


def _check(fields: dict[str, Any]) -> Check:
    return Check(
        name=fields["name"],
        passed=fields["passed"],
        error=fields.get("error"),
        tolerance=fields.get("tolerance"),
        node=fields.get("node"),
        detail=str(fields.get("detail") or ""),
    )


def _read(path: Path) -> Certificate | None:
    """The kept certificate; None: there is none that can be used."""
    try:
        return read_certificate(path)
    except UserError:
        return None  # it is made again
