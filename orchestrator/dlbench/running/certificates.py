"""The certificate: the recorded proof that a release's model equals the reference.

The proof itself is made inside the environment (bench/verify.py), by a trial that verifies instead
of training. It is made once for each release, graph, engine and version of the code, and kept.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dlbench import paths
from dlbench.campaigns.folder import write_whole
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.environments import stub_driver
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively
from dlbench.errors import UserError
from dlbench.formats import check_version, digest, known_fields
from dlbench.planning.plan import Trial
from dlbench.running.execute import execute, log_tail
from dlbench.running.jobs import job_of, request_of, software
from dlbench.running.workshop import Workshop
from dlbench.workloads import Workload

VERSION = 1
_SEED = 1
_SECONDS = 1800.0
_QUICK = {
    # the reference's matrices are small: a second thread of NumPy's only gets in the way
    "OPENBLAS_NUM_THREADS": "1",
    # and so do threads that burn a processor while they wait for the reference's next step
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
}


@dataclass(frozen=True)
class Check:
    """One comparison with the reference."""

    name: str
    passed: bool
    error: float | None = None
    tolerance: float | None = None
    node: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class Certificate:
    key: str
    release: str
    workload: str
    variant: str
    device: str
    engine: str
    passed: bool
    checks: tuple[Check, ...]
    reason: str = ""
    setting: str = "matched"
    """`native`: no proof, but what the framework's own defaults change."""

    @property
    def faults(self) -> list[str]:
        """Each check that failed, in one sentence: what, where, both values."""
        return [
            f"{check.name} differs{f' at node {check.node}' if check.node else ''}: {check.detail}"
            for check in self.checks
            if not check.passed
        ]

    @property
    def first_fault(self) -> str:
        """What failed first, in one sentence."""
        return next(iter(self.faults), self.reason)

    def to_json(self) -> dict[str, Any]:
        return {"v": VERSION, **asdict(self)}

    @classmethod
    def from_json(
        cls, content: Mapping[str, Any], file: Path | str = "the certificate"
    ) -> Certificate:
        """From the content of `file`; keys that this version does not know are left out."""
        check_version(content, VERSION, file)
        checks = tuple(Check(**known_fields(Check, check)) for check in content["checks"])
        return cls(**{**known_fields(cls, content), "checks": checks})


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
) -> Certificate:
    """The certificate of this release for this workload: the kept one, or a new one.

    `build`: the device whose packages `environment` has, where that is not `device`: GPU builds are
    proven on a CPU with a stand-in for the driver."""
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
    )
    job = job_of(trial, data, "verify")
    key = digest([job, software(release, build), trial.engine, VERSION])[:24]
    kept = paths.cache() / "certificates" / f"{key}.json"
    if not again and (known := _read(kept)):
        return known
    with ExitStack() as stack:
        # another dlbench may be making the same one: then this one waits, and reads it
        stack.enter_context(exclusively(kept.with_suffix(".lock")))
        if not again and (known := _read(kept)):
            return known
        folder = Path(tempfile.mkdtemp(prefix="verify-", dir=kept.parent))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        request = request_of(
            replace(trial, id=key[:16]),
            job,
            data,
            folder=folder,
            environment=environment,
            campaign=f"certificate-{key[:16]}",
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
        )
        if whole:
            write_whole(kept, json.dumps(certificate.to_json(), indent=1))
        return certificate


def _libraries(workshop: Workshop, release: Release, device: str, build: str) -> tuple[Path, ...]:
    folders = workshop.libraries(release, build)
    if build == "gpu" and device == "cpu":
        # Also where there is a driver: whether the build works without one is the question.
        folders += (stub_driver.folder(),)
    return folders


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
        return Certificate.from_json(json.loads(path.read_text(encoding="utf-8")), path)
    except (UserError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # it is made again
