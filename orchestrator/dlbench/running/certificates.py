"""The certificate: the recorded proof that a release's model equals the reference.

The proof itself is made inside the environment (bench/verify.py). Here it is asked for once for
each release, graph, engine and version of the code, and kept.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench import formats, paths
from dlbench.campaigns.folder import write_whole
from dlbench.campaigns.outcomes import Outcome
from dlbench.datasets import find as find_dataset
from dlbench.datasets import store
from dlbench.engines.base import Limits, Request
from dlbench.environments.releases import Release
from dlbench.environments.wheels import exclusively
from dlbench.running.bench_code import bench_folder
from dlbench.running.execute import ExecutionObserver, execute, log_tail
from dlbench.running.jobs import software
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
    def from_json(cls, content: dict[str, Any]) -> Certificate:
        known = {key: content[key] for key in cls.__dataclass_fields__ if key in content}
        return cls(**{**known, "checks": tuple(Check(**check) for check in content["checks"])})


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
    watch: ExecutionObserver | None = None,
) -> Certificate:
    """The certificate of this release for this workload: the kept one, or a new one."""
    variant = variant or release.variants[0]
    data = store.prepare_proof(find_dataset(workload.dataset))
    job = {
        "v": formats.VERSION,
        "id": "certificate",
        "action": "verify",
        "framework": release.framework,
        "version": release.version,
        "adapter": release.adapter,
        "variant": variant,
        "device": device,
        "setting": setting,
        "seed": _SEED,
        "threads": None,
        "graph": workload.proof_graph,
        "recipe": workload.recipe,
        "budget": {"epochs": 1, "steps": None},
        "data": data.to_job(),
        "save": False,
    }
    key = formats.digest([job, software(release, device), workshop.engine.name, VERSION])[:24]
    kept = paths.cache() / "certificates" / f"{key}.json"
    if not again and (found := _read(kept)):
        return found
    with ExitStack() as stack:
        # another dlbench may be making the same one: then this one waits, and reads it
        stack.enter_context(exclusively(kept.with_suffix(".lock")))
        if not again and (found := _read(kept)):
            return found
        folder = Path(tempfile.mkdtemp(prefix="verify-", dir=kept.parent))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "out").mkdir()
        (folder / "job.json").write_text(json.dumps(job))
        request = Request(
            trial=key[:16],
            campaign=f"certificate-{key[:16]}",
            environment=environment,
            bench=bench_folder(release.adapter_from),
            job=folder / "job.json",
            data=data.folder,
            out=folder / "out",
            log=folder / "log.txt",
            limits=Limits(seconds=_SECONDS),
            gpus=gpus,
            variables={**_QUICK, **release.variables},
            cache=release.cache_folder(device, workshop.engine.name),
        )
        ended = execute(
            workshop.engine,
            request,
            folder / "samples.jsonl",
            folder / "events.jsonl",
            stats=workshop.stats(),
            watch=watch,
        )
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
            variant=variant,
            device=device,
            engine=workshop.engine.name,
            passed=whole and all(check.passed for check in checks),
            checks=checks,
            reason=reason,
            setting=setting,
        )
        if whole:
            write_whole(kept, json.dumps(certificate.to_json(), indent=1))
        return certificate


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
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Certificate.from_json(content) if content["v"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
