"""A large campaign of invented trials in the real format, to try and to time what reads campaigns.

Five workloads, ten releases and two devices make a hundred contenders; the repeats make the rest.
As in life, one release got slower, one is not certified, some trials fail, throttle or stick out.
Metrics, curves and resources are computed from the events and samples by dlbench's own code.

With --releases N it has as many releases of one framework on one workload instead.

    python scripts/make_campaign.py OUT [--trials 10000] [--steps 500] [--samples 100] [--seed 1]
        [--workloads 5] [--releases N]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "orchestrator"))

import numpy as np  # noqa: E402

from dlbench import __version__  # noqa: E402
from dlbench.campaigns.campaign_file import CampaignAbout  # noqa: E402
from dlbench.campaigns.folder import Campaign  # noqa: E402
from dlbench.campaigns.outcomes import Outcome  # noqa: E402
from dlbench.campaigns.trial_result import (  # noqa: E402
    Scale,
    TrialResult,
    curve,
    intervals,
    measure,
    phase_seconds,
)
from dlbench.formats import Event, digest  # noqa: E402
from dlbench.monitor.resources import summarise  # noqa: E402
from dlbench.monitor.samples import (  # noqa: E402
    GpuSample,
    Sample,
    Samples,
    Totals,
    header_line,
    sample_line,
    totals_line,
)
from dlbench.planning.trial import Trial  # noqa: E402

WORKLOADS = {"mnist-cnn": 9.0, "cifar10-cnn": 24.0, "svhn-cnn": 31.0, "imdb-lstm": 60.0,
             "enthalpy-fcrn-10": 14.0}  # fmt: skip
"""With the milliseconds of a middling step."""
RELEASES = {
    "pytorch@1.13.1": 0.92, "pytorch@2.0.1": 0.90, "pytorch@2.4.0": 1.04, "pytorch@2.13.0": 1.03,
    "tensorflow@1.15.5": 1.25, "tensorflow@2.4.4": 1.1, "tensorflow@2.21.0": 1.1,
    "mxnet@1.3.0": 1.4, "mxnet@1.9.1": 1.15, "jax@0.12.0.1": 0.75,
}  # fmt: skip
"""With how their steps compare; pytorch became slower with 2.4.0."""
VARIANTS = {"pytorch": "eager", "tensorflow": "function", "mxnet": "hybrid", "jax": "jit"}
UNCERTIFIED = ("mxnet@1.3.0", "imdb-lstm")
FAILURES = {
    Outcome.OOM: "The kernel ended it: it reached its memory limit.",
    Outcome.TIMEOUT: "It did not end within 24 h.",
    Outcome.CRASHED: "It was ended by SIGSEGV.",
}
GPU = {
    "name": "An invented GPU", "memory_bytes": 16 << 30, "compute": "8.0", "processes": 0,
    "persistence": True, "ecc": False, "clock_mhz": 1410, "clock_limit_mhz": 1980,
}  # fmt: skip
MACHINE = {
    "architecture": "x86_64", "cpu_model": "An invented processor", "cores_physical": 8,
    "cores_logical": 16, "cores_usable": 16.0, "memory_bytes": 64 << 30, "gpus": [GPU],
    "os": "none", "kernel": "none", "load_average": 0.2, "digest": "0123456789abcdef",
}  # fmt: skip
EPOCHS = 10
BATCH = 64
WARM_UP = 10


@dataclass(frozen=True)
class Size:
    trials: int = 10_000
    steps: int = 500
    samples: int = 100
    seed: int = 1
    workloads: int = len(WORKLOADS)
    releases: int = 0
    """So many releases of one framework on one workload; 0: the usual contenders."""


def make(folder: Path, size: Size, workers: int = 2) -> Campaign:
    """Write the campaign into a new folder."""
    trials = list(planned(size))
    about = CampaignAbout(
        id=digest([size.trials, size.seed])[:12],
        dlbench=__version__,
        bench="0" * 64,
        suite="invented",
        command=("dlbench", "run", "--suite", "invented"),
        engine="docker",
        machine=MACHINE,
    )
    campaign = Campaign.create(folder, about, trials)
    (folder / "certificates").mkdir()
    write = partial(write_trial, folder, size)
    if workers < 2 or len(trials) < 500:
        for trial in trials:
            write(trial)
        return campaign
    with ProcessPoolExecutor(workers) as pool:
        for _ in pool.map(write, trials, chunksize=100):
            pass
    return campaign


def planned(size: Size) -> Iterator[Trial]:
    workloads = list(WORKLOADS)[: size.workloads]
    cells = [(w, r, d) for w in workloads for r in RELEASES for d in ("cpu", "gpu")]
    if size.releases:
        cells = [("mnist-cnn", f"pytorch@1.{minor}.0", "cpu") for minor in range(size.releases)]
    rng = np.random.default_rng(size.seed)
    for index in range(size.trials):
        turn, place = divmod(index, len(cells))
        if place == 0:
            order = rng.permutation(len(cells))
        workload, release, device = cells[order[place]]
        trial = Trial(
            id="", index=index, round=turn, release=release, workload=workload, device=device,
            engine="docker", setting="matched", variant=VARIANTS[release.split("@")[0]],
            seed=1 + turn, repeat=turn, epochs=EPOCHS, steps=None, data="synthetic", threads=None,
            cpus=None, memory_bytes=None, seconds=86400.0, gpus=("0",) if device == "gpu" else (),
            save=False,
        )  # fmt: skip
        yield replace(trial, id=digest(asdict(trial))[:16])


def write_trial(folder: Path, size: Size, trial: Trial) -> None:
    rng = np.random.default_rng([size.seed, trial.index])
    steps = step_times(trial, size.steps, rng)
    failed = rng.choice(list(FAILURES)) if rng.random() < 0.005 else None
    outcome = Outcome(failed) if failed else Outcome.OK
    events = list(events_of(trial, steps, outcome, rng))
    recorded = samples_of(trial, events[-1].t, size.samples, rng)
    stretches = intervals(events)
    phases = phase_seconds(stretches)
    facts = {event.kind: event.fields for event in events}
    started = datetime(2026, 11, 16, tzinfo=UTC) + timedelta(seconds=90 * trial.index)
    certified = (trial.release, trial.workload) != UNCERTIFIED
    result = TrialResult(
        **{key: getattr(trial, key) for key in (
            "id", "index", "round", "release", "workload", "device", "engine", "setting",
            "variant", "seed", "repeat")},
        outcome=outcome,
        reason=FAILURES.get(outcome, ""),
        started=started.isoformat(timespec="seconds"),
        wall_s=round(events[-1].t + 0.5, 3),
        metrics=measure(events, phases, BATCH),
        resources=summarise(recorded, stretches),
        curve=curve(events),
        phases=phases,
        model=facts["model"],
        stack=facts["stack"],
        scale=Scale(epochs=EPOCHS, batch=BATCH, data=digest(trial.workload), source="synthetic",
                    setting="matched"),
        certified=certified,
        certificate=digest([trial.release, trial.workload, trial.device])[:24],
        machine=str(MACHINE["digest"]),
        lock=digest(trial.release),
        notes=[] if outcome is Outcome.OK else ["an invented last line of the log"],
    )  # fmt: skip
    own = folder / "trials" / trial.id
    (own / "out").mkdir(parents=True)
    (own / "job.json").write_text(json.dumps({"v": 1, "id": trial.id, "action": "train"}))
    (own / "log.txt").write_text("" if outcome is Outcome.OK else "an invented last line\n")
    (own / "events.jsonl").write_text("".join(event.line() + "\n" for event in events))
    lines = [header_line(recorded.source, recorded.hz, recorded.cpus, recorded.gpus)]
    lines += [sample_line(sample) for sample in recorded.samples]
    assert recorded.totals is not None
    (own / "samples.jsonl").write_bytes(b"".join([*lines, totals_line(recorded.totals)]))
    (own / "trial.json").write_text(json.dumps(result.to_json(), indent=1))


def step_times(trial: Trial, count: int, rng: np.random.Generator) -> Any:
    """Log-normal steps with a first one that compiles; a few trials throttle, a few stick out."""
    middle = WORKLOADS[trial.workload] * RELEASES.get(trial.release, 1.0)
    middle *= 0.12 if trial.device == "gpu" else 1.0
    middle *= math.exp(rng.normal(0, 0.02)) * (1.5 if rng.random() < 0.01 else 1.0)
    steps = middle * np.exp(rng.normal(0, 0.05, count))
    if rng.random() < 0.02:
        steps[count // 2 :] *= 1.25
    steps[0] += 40 * middle
    steps[1:WARM_UP] *= 1.3
    return np.round(steps, 4)


def events_of(
    trial: Trial, steps: Any, outcome: Outcome, rng: np.random.Generator
) -> Iterator[Event]:
    framework, _, version = trial.release.partition("@")
    t = 0.1

    def phase(name: str, seconds: float) -> Event:
        nonlocal t
        t += seconds
        return Event(t, "phase", {"phase": name, "seconds": round(seconds, 6)})

    yield Event(t, "hello", {"bench": "1", "python": "3.11.7", "pid": 7})
    yield phase("import", 1.0 + rng.random())
    stack = {"python": "3.11.7", "framework": framework, "version": version, "threads": 16,
             "cores": 16, "packages": {"numpy": "2.4.6"}, "variables": {}}  # fmt: skip
    yield Event(t, "stack", stack)
    yield phase("load", 0.05)
    yield phase("build", 0.3)
    yield Event(t, "model", {"parameters": 53002, "weights_sha256": digest(trial.seed), "path": {}})
    lasts = EPOCHS if outcome is Outcome.OK else int(rng.integers(1, EPOCHS))
    final = 0.9 + rng.normal(0, 0.01)
    for epoch, own in enumerate(np.array_split(steps, EPOCHS)[:lasts], start=1):
        first = min(WARM_UP, len(own)) if epoch == 1 else 0
        if first:
            yield phase("first-step", float(own[0]) / 1000)
            yield phase("warm-up", float(own[1:first].sum()) / 1000)
        yield phase("train", float(own[first:].sum()) / 1000)
        yield phase("evaluate", 0.1)
        loss = 2.3 * math.exp(-0.35 * epoch) + abs(rng.normal(0, 0.01))
        accuracy = round(min(1.0, final * (1 - math.exp(-0.6 * epoch))), 6)
        fields = {"epoch": epoch, "loss": loss, "steps_ms": own.tolist(), "data_ms": 0.1,
                  "metrics": {"accuracy": accuracy}, "train_s": float(own.sum()) / 1000,
                  "first": first}  # fmt: skip
        yield Event(t, "epoch", fields)
    if outcome is Outcome.OK:
        fields = {"metrics": {"accuracy": accuracy}, "loss": loss, "epochs": lasts,
                  "steps": len(steps), "samples": len(steps) * BATCH}  # fmt: skip
        yield Event(t, "result", fields)
        yield Event(t, "end", {})


def samples_of(trial: Trial, end: float, count: int, rng: np.random.Generator) -> Samples:
    """Evenly spread over the trial."""
    on_gpu = trial.device == "gpu"
    at = np.linspace(0.02, end, count)
    busy = np.cumsum(rng.uniform(0.5, 0.9, count) * np.diff(at, prepend=0.0)) * 16
    memory = (400e6 + 300e6 * (1 - np.exp(-at)) + rng.uniform(0, 5e6, count)).astype(np.int64)
    power = rng.uniform(60, 90, count)
    found = []
    for i in range(count):
        gpus = ()
        if on_gpu:
            energy = float(power[: i + 1].mean() * at[i])
            gpus = (GpuSample("0", 90.0, int(2e9), int(1.5e9), float(power[i]), energy, 60, 0),)
        found.append(
            Sample(float(at[i]), float(busy[i]), int(memory[i]), int(memory[i]), 75.0,
                   int(memory[i]), gpus)
        )  # fmt: skip
    totals = Totals(
        source="cgroup-v2", origin="cgroup", cpu_s=float(busy[-1]),
        memory_peak_bytes=int(memory.max()), rss_peak_bytes=int(memory.max()),
        anon_peak_bytes=int(memory.max()), sampled_cpu_s=float(busy[-1]),
        sampled_memory_peak_bytes=int(memory.max()), cpu_deviation=0.0, memory_deviation=0.0,
        samples=count, skipped=0, monitor_cpu_s=0.01,
    )  # fmt: skip
    gpus = ("0",) if on_gpu else ()
    return Samples("cgroup-v2", 1.0, 16.0, gpus, tuple(found), totals)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=Size.trials)
    parser.add_argument("--steps", type=int, default=Size.steps, help="a trial")
    parser.add_argument("--samples", type=int, default=Size.samples, help="a trial")
    parser.add_argument("--seed", type=int, default=Size.seed)
    parser.add_argument("--workloads", type=int, default=Size.workloads, help="how many of five")
    parser.add_argument("--releases", type=int, default=Size.releases)
    chosen = parser.parse_args()
    size = Size(**{name: value for name, value in vars(chosen).items() if name != "out"})
    make(chosen.out, size, workers=os.cpu_count() or 1)
    print(
        f"{chosen.out}: {size.trials:,} trials, {size.trials * size.samples:,} samples, "
        f"{size.trials * size.steps:,} step times"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
