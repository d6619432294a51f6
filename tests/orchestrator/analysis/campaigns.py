"""Small campaigns with known numbers, written by dlbench's own code in the real format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import DIGESTS, Scale, TrialCores, TrialResult
from dlbench.formats import Event, digest
from dlbench.monitor.resources import Resources
from dlbench.planning.trial import Trial


@dataclass(frozen=True)
class Cell:
    """One contender with one value a seed."""

    release: str
    values: Sequence[float]
    metric: str = "train_s"
    workload: str = "digits-cnn"
    device: str = "cpu"
    variant: str = "plain"
    outcome: Outcome = Outcome.OK
    certified: bool | None = True
    epochs: int = 10
    metrics: Mapping[str, float] = field(default_factory=dict)
    steps_ms: Sequence[float] = ()
    """The steady steps of every trial."""
    reason: str = ""
    log: str = ""
    seeds: Sequence[int] = ()
    outcomes: Sequence[Outcome] = ()
    """One a round, in place of `outcome`."""
    steps: int | None = None
    source: str = "real"
    others_percent: float = 0.0
    """What other programs took of the machine."""
    point: str = ""
    changes: Sequence[str] = ()
    rows: int | None = None
    scale: str = ""
    confounds: Sequence[str] = ()
    model: Mapping[str, object] = field(default_factory=dict)
    weights: str = ""
    """The digest of a file of weights, of the name `start.npz`."""
    stack: Mapping[str, object] = field(default_factory=dict)
    cores: TrialCores = field(default_factory=TrialCores)
    threads: int | None = None
    deterministic: bool = False
    setting: str = "matched"
    ends: Sequence[str] = ()
    """What tells the end of each trial from others, one a round; empty: not recorded."""


def write(
    folder: Path,
    cells: Sequence[Cell],
    *,
    machine: str = "aaaaaaaabbbbbbbb",
    name: str = "one",
    day: str = "2026-11-16",
) -> Path:
    """A campaign in which every cell ran once a round."""
    planned: list[tuple[Trial, Cell, float]] = []
    for turn in range(max(len(cell.values) for cell in cells)):
        for cell in cells:
            if turn < len(cell.values):
                planned.append((_trial(cell, turn, len(planned)), cell, cell.values[turn]))
    about = CampaignAbout(
        id=digest(name)[:12], dlbench="0", suite=name, command=("dlbench",), engine="process",
        machine={"digest": machine, "cpu_model": "a processor"},
    )  # fmt: skip
    campaign = Campaign.create(folder, about, [trial for trial, _, _ in planned])
    for trial, cell, value in planned:
        campaign.write_result(_result(trial, cell, value, machine, day))
        own = campaign.trial_folder(trial.id)
        (own / "out").mkdir()
        (own / "log.txt").write_text(cell.log)
        (own / "events.jsonl").write_text("".join(e.line() + "\n" for e in _events(cell)))
    return folder


def _trial(cell: Cell, turn: int, index: int) -> Trial:
    trial = Trial(
        id="", index=index, round=turn, release=cell.release, workload=cell.workload,
        device=cell.device, engine="process", setting=cell.setting, variant=cell.variant,
        seed=cell.seeds[turn] if cell.seeds else 1 + turn, repeat=turn, epochs=cell.epochs,
        steps=cell.steps, data=cell.source, threads=cell.threads, cpus=None, memory_bytes=None,
        seconds=60.0, gpus=(), save=False, point=cell.point, changes=tuple(cell.changes),
        rows=cell.rows, scale=cell.scale, deterministic=cell.deterministic,
        confounds=tuple(cell.confounds),
    )  # fmt: skip
    same = ("release", "workload", "device", "variant", "point")
    kept = {key: getattr(trial, key) for key in same}
    made_of = [
        kept, trial.seed, trial.epochs, turn, *cell.confounds, cell.deterministic, cell.weights,
        cell.setting,
    ]  # fmt: skip
    return replace(trial, id=digest(made_of)[:16])


def _result(trial: Trial, cell: Cell, value: float, machine: str, day: str) -> TrialResult:
    same = ("id", "index", "round", "release", "workload", "device", "engine", "setting",
            "variant", "seed", "repeat", "point")  # fmt: skip
    return TrialResult(
        **{key: getattr(trial, key) for key in same},
        outcome=cell.outcomes[trial.round] if cell.outcomes else cell.outcome,
        reason=cell.reason,
        started=f"{day}T03:{trial.index // 60 % 60:02}:{trial.index % 60:02}+00:00",
        wall_s=20.0,
        metrics={**cell.metrics, cell.metric: value},
        resources=Resources(
            "cgroup-v2",
            3,
            memory_peak_bytes=10**8,
            cpu_percent_mean=50.0,
            system_cpu_percent_mean=50.0 + cell.others_percent,
        ),
        curve=[{"epoch": 1, "train_s": 1.0, "loss": 2.0, "accuracy": 0.5}],
        scale=Scale(
            epochs=cell.epochs,
            batch=32,
            data="d" * 64,
            source=cell.source,
            steps=cell.steps,
            changes=list(cell.changes),
            rows=cell.rows,
            test_rows=cell.rows,
            name=cell.scale,
            weights=cell.weights,
            weights_file="start.npz" if cell.weights else "",
            threads=cell.threads,
            deterministic=cell.deterministic,
        ),
        stack=dict(cell.stack),
        cores=cell.cores,
        ended_with=(
            {name: digest([name, cell.ends[trial.round]]) for name in DIGESTS} if cell.ends else {}
        ),
        model=dict(cell.model),
        certified=cell.certified,
        confounds=list(cell.confounds),
        machine=machine,
    )


def _events(cell: Cell) -> list[Event]:
    steps = list(cell.steps_ms)
    fields = {"epoch": 1, "loss": 2.0, "steps_ms": [99.0, *steps], "metrics": {"accuracy": 0.5},
              "train_s": 1.0, "first": 1}  # fmt: skip
    return [
        Event(0.1, "hello", {"bench": "1", "python": "3.11", "pid": 1}),
        Event(0.5, "phase", {"phase": "import", "seconds": 0.25}),
        *([Event(1.0, "epoch", fields)] if steps else []),
        Event(2.0, "end", {}),
    ]


def around(middle: float, count: int = 10) -> list[float]:
    """Values near a middle, no two alike, the same for everyone: pairs differ by the middles."""
    return [middle * (1 + 0.002 * ((7 * i) % count - count / 2)) for i in range(count)]


TWO = [Cell("a@1", around(1.0), steps_ms=[5.0, 6.0]), Cell("b@1", around(1.5))]
"""Two contenders of which the first is faster, with ten runs each."""
