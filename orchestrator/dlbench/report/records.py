"""The parts of a report that are read, not drawn: failures, proofs, the machine, the commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlbench.analysis.groups import Row
from dlbench.analysis.metrics import PEAK_MEMORY, QUALITY, TRAINING
from dlbench.campaigns.log_file import log_tail
from dlbench.campaigns.outcomes import Outcome
from dlbench.planning.trial import Trial
from dlbench.report import beside_numbers
from dlbench.report.material import Material
from dlbench.report.tables import Columns, columns_of
from dlbench.statistics.words import count

_MOST_FAILURES = 100
_USUAL_SECONDS = 86400.0


@dataclass(frozen=True)
class Failure:
    contender: str
    case: str
    outcome: str
    count: int
    """Trials that failed in this way; one of them is shown."""
    seed: int
    trial: str
    reached: str
    reason: str
    log: tuple[str, ...]
    command: str


@dataclass(frozen=True)
class GroupRecord:
    """Where the numbers of one group come from."""

    contender: str
    case: str
    circumstances: str
    trials: str
    """How many, and how many of them did not complete."""
    weaknesses: tuple[str, ...]
    proof: str
    certificate: int | None
    """Its position in `Material.certificates`; None: the campaign does not hold it."""
    key: str
    lock: str
    """The lock's digest, and of which release and device it is."""
    command: str


def failures(material: Material) -> tuple[list[Failure], int]:
    """Failed trials, alike ones once; and how many kinds were left out."""
    kinds: dict[tuple[str, str, str, str], list[Row]] = {}
    for group in material.groups:
        for row in group.rows:
            if row["outcome"] != Outcome.OK:
                key = (group.name, group.case, str(row["outcome"]), str(row["reason"] or ""))
                kinds.setdefault(key, []).append(row)
    epochs = dict(material.results.curves().group_by("id").len().iter_rows())
    listed = []
    for (contender, case, outcome, reason), alike in list(kinds.items())[:_MOST_FAILURES]:
        first = alike[0]
        record = material.results.trial(first["id"])
        log = log_tail(record.folder / "log.txt") or record.result.notes
        reached = "in its first epoch or before"
        if first["id"] in epochs:
            reached = f"after {count(epochs[first['id']], 'epoch')}"
        listed.append(
            Failure(contender, case, outcome, len(alike), first["seed"], first["id"], reached,
                    reason, tuple(log), command_of(material.planned[first["id"]].trial))
        )  # fmt: skip
    return listed, max(0, len(kinds) - _MOST_FAILURES)


def command_of(trial: Trial, seeds: Sequence[int] = ()) -> str:
    """The command that runs this trial again, or repeats of it with these seeds."""
    seeds = list(seeds or [trial.seed])
    in_a_row = seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    options: list[tuple[str, object]] = [
        ("--framework", f"{trial.release}:{trial.variant}"),
        ("--workload", trial.workload),
        ("--device", trial.device),
        ("--engine", trial.engine),
        ("--setting", trial.setting),
        ("--data", trial.data),
        ("--seed", seeds[0] if in_a_row else None),
        ("--repeats", len(seeds) if in_a_row else None),
        ("--seeds", None if in_a_row else ",".join(map(str, seeds))),
        ("--steps", trial.steps or None),
        ("--epochs", None if trial.steps else trial.epochs),
        *(("--sweep", change) for change in trial.changes),
        ("--confound", "+".join(trial.confounds) or None),
        ("--scale", None if trial.share is None else f"{trial.share:g}"),
        ("--rows", trial.rows),
        ("--threads", trial.threads),
        ("--cpus", None if trial.cpus is None else f"{trial.cpus:g}"),
        ("--memory", trial.memory_bytes),
        ("--gpu", ",".join(trial.gpus) if trial.device == "gpu" and trial.gpus else None),
        ("--inference", trial.inference),
        ("--deterministic", trial.deterministic),
        ("--time-limit", None if trial.seconds == _USUAL_SECONDS else f"{trial.seconds:g}s"),
    ]
    words = ["dlbench", "run"]
    for flag, value in options:
        if value is not None and value is not False:
            words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def group_records(material: Material) -> list[GroupRecord]:
    """One for each of `Material.groups`, in their order."""
    number = {certificate.key: i for i, certificate in enumerate(material.certificates)}
    around = {case.label: beside_numbers.of_case(material, case) for case in material.cases}
    records = []
    for group in material.groups:
        row = group.rows[0]
        key, lock = str(row["certificate"] or ""), str(row["lock"] or "")
        seeds = sorted(row["seed"] or 0 for row in group.rows)
        records.append(
            GroupRecord(
                group.name,
                group.case,
                around[group.case],
                group.incomplete or f"{count(len(group.rows), 'trial')}, all complete.",
                beside_numbers.weaknesses(material, group),
                group.proof,
                number.get(key),
                key,
                f"{lock} ({group.release}, {row['device']})" if lock else "not recorded",
                command_of(material.planned[row["id"]].trial, seeds),
            )
        )
    return records


def trial_table(material: Material) -> Columns:
    metrics = [m for m in (TRAINING, *QUALITY, PEAK_MEMORY) if m in material.metrics]
    columns = [
        "group", "trial", "seed", "outcome", "started",
        *(f"{m.title}, {m.unit}" if m.unit else m.title for m in metrics),
    ]  # fmt: skip
    rows = [
        (
            number, row["id"], row["seed"], row["outcome"],
            f"{row['started']:%Y-%m-%d %H:%M:%S}" if row["started"] else None,
            *(None if row[m.column] is None else row[m.column] * m.factor for m in metrics),
        )
        for number, group in enumerate(material.groups)
        for row in group.rows
    ]  # fmt: skip
    return columns_of(columns, rows)


@dataclass(frozen=True)
class MachineFacts:
    name: str
    """Empty where there is only one."""
    facts: tuple[tuple[str, str], ...]


def machines(material: Material) -> list[MachineFacts]:
    """Every machine's fingerprint in words, what is not known left out; then what is common."""
    every = material.results.machines()
    trials = Counter(row["machine"] for group in material.groups for row in group.rows)
    about = material.about
    common = [("Engine", about.engine), ("Samples a second", about.hz), ("dlbench", about.dlbench),
              ("Campaign", about.id)]  # fmt: skip
    if len(every) < 2:
        return [MachineFacts("", _known([*_facts(about.machine), *common]))]
    described = [
        MachineFacts(f"Machine {digest[:6]}: {count(trials[digest], 'trial')}", _known(_facts(one)))
        for digest, one in every.items()
    ]
    merged = ("Merged of", ", ".join(part.id for part in about.merged))
    return [*described, MachineFacts("All together", _known([*common, merged]))]


def _known(facts: Iterable[tuple[str, object]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in facts if value not in (None, ""))


def _gpu_states(gpus: Sequence[object]) -> Iterator[str]:
    """`GPU 0: 1410 of 1980 MHz, persistence on, ECC off, used by 2 other programs`."""
    for index, gpu in enumerate(gpus):
        if not isinstance(gpu, dict):
            continue
        words = []
        if gpu.get("clock_mhz") is not None and gpu.get("clock_limit_mhz") is not None:
            words.append(f"{gpu['clock_mhz']} of {gpu['clock_limit_mhz']} MHz")
        for key, name in (("persistence", "persistence"), ("ecc", "ECC")):
            if gpu.get(key) is not None:
                words.append(f"{name} {'on' if gpu[key] else 'off'}")
        if gpu.get("processes") is not None:
            users = count(gpu["processes"], "other program") if gpu["processes"] else "nobody else"
            words.append(f"used by {users}")
        if words:
            yield f"GPU {index}: {', '.join(words)}"


def _facts(machine: Mapping[str, Any]) -> list[tuple[str, object]]:
    def of(key: str) -> Any:
        return machine.get(key)

    gpus = Counter(
        str(gpu.get("name") if isinstance(gpu, dict) else gpu) for gpu in of("gpus") or ()
    )
    turbo = of("turbo")
    return [
        ("CPU", of("cpu_model")),
        ("Cores", f"{of('cores_physical')} physical, {of('cores_logical')} logical,"
                  f" {of('cores_usable'):g} usable" if of("cores_usable") else None),
        ("Instruction sets", ", ".join(of("cpu_flags") or ())),
        ("Governor", of("governor")),
        ("Turbo", None if turbo is None else "on" if turbo else "off"),
        ("Memory", f"{of('memory_bytes') / 2**30:.1f} GiB" if of("memory_bytes") else None),
        ("Swap", f"{of('swap_bytes') / 2**30:.1f} GiB" if of("swap_bytes") else "none"),
        ("GPUs", ", ".join(f"{n} × {name}" for name, n in gpus.items()) or of("gpu_reason")),
        ("GPU driver", of("gpu_driver")),
        ("GPUs before", "; ".join(_gpu_states(of("gpus") or ()))),
        ("Operating system", of("os")),
        ("Kernel", of("kernel")),
        ("Architecture", of("architecture")),
        ("Virtualisation", of("virtualisation")),
        ("Container runtime", of("runtime")),
        ("Load before", of("load_average")),
        ("Fingerprint", of("digest")),
    ]  # fmt: skip


def campaign_commands(material: Material) -> list[str]:
    """The commands that made the campaign; of a merged one, those of its parts."""
    parts = material.about.merged or (material.about,)
    every = [shlex.join(part.command) for part in parts]
    return [command for command in dict.fromkeys(every) if command]
