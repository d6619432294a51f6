"""The kinds of hostile input, and one campaign into which each of them is put."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np

from bench.formats import BadJob, read_job
from dlbench.campaigns.certificate_file import Certificate, Check
from dlbench.monitor.samples import Sample, Totals, header_line, sample_line, totals_line
from dlbench.sharing.archive import write_archive
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.hostile.commands import COMMANDS, Ended, on_campaign, run
from tests.orchestrator.hostile.mutations import (
    HOSTILE_NUMBERS,
    HOSTILE_TEXT,
    Mutation,
    mutated_bytes,
    mutated_json,
    mutated_lines,
    mutated_toml,
)

_SUITE = b"""about = "mine"
workloads = ["digits-cnn"]
releases = ["numpy"]
devices = ["cpu"]
settings = ["matched"]
repeats = 2
seed = 1
steps = 5
data = "synthetic"
time_limit = "1h"
notes = ["a note"]
rows = 100
recipe = { warmup = 3, optimizer.lr = 0.1 }
sweep = { batch = [8, 16], shuffle = [true, false] }
points = [{ threads = 1 }, { threads = 2, clip = 1.5 }]
workload = { digits-cnn = { share = 0.5 } }
scales = { smoke = { epochs = 1, workload = { digits-cnn = { rows = 9 } } } }
"""
_FILES: dict[str, tuple[str, Mutation]] = {
    "campaign": ("campaign.json", mutated_json),
    "plan": ("plan.jsonl", mutated_lines),
    "trial": ("trials/{}/trial.json", mutated_json),
    "job": ("trials/{}/job.json", mutated_json),
    "events": ("trials/{}/events.jsonl", mutated_lines),
    "samples": ("trials/{}/samples.jsonl", mutated_lines),
    "certificate": ("certificates/proof.json", mutated_json),
    "arrays": ("trials/{}/out/predictions.npz", mutated_bytes),
}
"""The files of a campaign: where each is, and how it is changed."""
KINDS = (*_FILES, "archive", "suite", "command")
_READERS = {
    "certificate": ("report", "markdown", "markdown", "merge", "archive"),
    "arrays": ("report", "python", "python", "merge", "archive"),
    "job": ("report", "python", "python", "archive", "bench", "bench"),
}
"""The commands that read a file, where not all of them do."""
_RARE = frozenset({"report", "mlflow"})
"""Commands that take long; each input gets one command, these less often."""


def make_campaign(folder: Path, machine: str = "aaaaaaaabbbbbbbb") -> Path:
    """Two releases, two trials each, with every file that a campaign can have."""
    cells = [Cell("a@1", around(1.0, 2), steps_ms=[5.0, 6.0]), Cell("b@2", around(1.5, 2))]
    write(folder, cells, machine=machine, name=machine)
    (folder / "certificates").mkdir()
    check = Check("forward", True, 1e-7, 1e-5, "conv1", "equal")
    proof = Certificate("proof", "a@1", "digits-cnn", "plain", "cpu", "process", True, (check,))
    (folder / "certificates" / "proof.json").write_text(json.dumps(proof.to_json()))
    totals = Totals("process-tree", "rusage", 2.0, 300, 200, None, 2.0, 300, 0.0, 0.0, 4, 0, 0.01)
    samples = [header_line("process-tree", 1.0, 2.0, ())]
    samples += [sample_line(Sample(t, t, 100 * t, 50, 10.0)) for t in range(1, 5)]
    for trial in (folder / "trials").iterdir():
        (trial / "samples.jsonl").write_bytes(b"".join([*samples, totals_line(totals)]))
        (trial / "job.json").write_text(json.dumps(_job(trial.name)))
        np.savez(trial / "out" / "predictions.npz", logits=np.ones((3, 2), np.float32))
    return folder


def _job(trial: str) -> dict[str, object]:
    metric = {"name": "accuracy", "output": "logits", "target": "label", "mask": None}
    return {
        "v": 1, "id": trial, "action": "train", "framework": "a", "version": "1",
        "adapter": "numpy", "variant": "plain", "device": "cpu", "setting": "matched", "seed": 1,
        "threads": None, "graph": {"v": 1, "nodes": []}, "recipe": {"metrics": [metric]},
        "budget": {"epochs": 1, "steps": None}, "save": False,
        "data": {"name": "digits", "source": "real", "digest": "d" * 64, "divide": {},
                 "splits": {"test": {"label": "test-label.npy"}}},
    }  # fmt: skip


class Laboratory:
    """A campaign, another one to merge it with, and a place for what commands write."""

    def __init__(self, folder: Path) -> None:
        self.campaign = make_campaign(folder / "campaign")
        self.other = make_campaign(folder / "other", "ccccccccdddddddd")
        (folder / "written").mkdir()
        self.out = folder / "written" / "out"
        self._folder = folder
        trial = next(iter(sorted((self.campaign / "trials").iterdir()))).name
        self._paths = {k: self.campaign / p.format(trial) for k, (p, _) in _FILES.items()}
        self._good = {kind: path.read_bytes() for kind, path in self._paths.items()}
        write_archive(self.campaign, folder / "good.dlbench")
        self._archive = (folder / "good.dlbench").read_bytes()

    def try_one(self, kind: str, draw: random.Random) -> tuple[str, Ended]:
        """One input of this kind: (what was run on it, how that ended)."""
        special: dict[str, Callable[[random.Random], tuple[str, Ended]]] = {
            "suite": self._suite,
            "command": self._command,
            "archive": self._archived,
        }
        if kind in special:
            return special[kind](draw)
        path, good = self._paths[kind], self._good[kind]
        content = _FILES[kind][1](good, draw)
        command = draw.choice(_READERS[kind]) if kind in _READERS else _command_for(draw)
        path.write_bytes(content)
        try:
            if command == "bench":
                return command, _read_by_bench(path)
            return command, on_campaign(command, self.campaign, self.other, self.out)
        finally:
            path.write_bytes(good)

    def _archived(self, draw: random.Random) -> tuple[str, Ended]:
        path = self._folder / "bad.dlbench"
        path.write_bytes(mutated_archive(self._archive, draw))
        command = draw.choice([c for c in COMMANDS if c not in _RARE and c != "watch"])
        return command, on_campaign(command, path, self.other, self.out)

    def _suite(self, draw: random.Random) -> tuple[str, Ended]:
        path = self._folder / "mine.toml"
        path.write_bytes(mutated_toml(_SUITE, draw))
        return "plan", run("plan", "--suite", path, "--engine", "process", "--json")

    def _command(self, draw: random.Random) -> tuple[str, Ended]:
        words = hostile_command(draw, self.campaign)
        return " ".join(words)[:200], run(*words)


def _command_for(draw: random.Random) -> str:
    command = draw.choice(COMMANDS)
    return draw.choice(COMMANDS) if command in _RARE else command


def _read_by_bench(path: Path) -> Ended:
    try:
        read_job(str(path))
    except BadJob as error:
        return Ended(2, "", str(error).encode("ascii", "backslashreplace").decode())
    return Ended(0, "", "")


def mutated_archive(content: bytes, draw: random.Random) -> bytes:
    """An archive with other bytes, or a sound one with other members."""
    if draw.random() < 0.5:
        return mutated_bytes(content, draw)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["SHA256SUMS"]
    name = draw.choice(list(members))
    kind = draw.randrange(4)
    if kind == 0:
        members[draw.choice(HOSTILE_TEXT) or "x"] = members.pop(name)
    elif kind == 1:
        del members[name]
    else:
        members[name] = mutated_bytes(members[name], draw)
    lines = (f"{sha256(each).hexdigest()}  {name}\n" for name, each in members.items())
    members["SHA256SUMS"] = "".join(lines).encode("utf-8", "replace")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in members.items():
            archive.writestr(_packable(name), each)
    return made.getvalue()


def _packable(name: str) -> str:
    return name.encode("utf-8", "replace").decode().replace("\x00", "0") or "x"


_PLAN_OPTIONS = {
    "--suite": "quick", "--framework": "numpy", "--workload": "digits-cnn", "--device": "cpu",
    "--gpu": "none", "--engine": "process", "--setting": "native", "--data": "synthetic",
    "--repeats": "2", "--seed": "7", "--epochs": "1", "--steps": "5", "--time-limit": "90s",
    "--cpus": "1.5", "--memory": "4g", "--threads": "2", "--hz": "2",
    "--sweep": "batch=8,16", "--scale": "0.1", "--rows": "50",
    "--until": "decided", "--at-most": "9", "--against": "pytorch", "--label": "mine",
}  # fmt: skip
_COMPARE_OPTIONS = {
    "--metric": "time", "--by": "release", "--alpha": "0.1", "--margin": "1.05",
    "--plan-power": "1.1",
}  # fmt: skip
"""With a value that is right."""
_VALUES = (
    "²", "٣", "1" * 400, "-1", "0", "1e308", "1e999", "nan", "inf", "99999999999", "1" * 5000, "4g",
    "9" * 400 + "g", "1_000", "0x10", "1.5", "24h", "9" * 400 + "d", "all", "GPU-\u00e9", "1,2,²",
    "3", "step_ms", "accuracy", "release", "1.05", "0.05",
    "batch=²", "batch=1,,2", "optimizer.lr=1e999", "threads=9e9", "batch=" + "9" * 400, "a=b=c",
    "=", "point=batch=8", "stopping=none", "schedule.name=cosine,none", "full", "1e-300", "100%",
)  # fmt: skip


def hostile_command(draw: random.Random, campaign: Path) -> list[str]:
    """A command line with values that nobody gives on purpose."""

    def value() -> str:
        chosen = draw.choice(
            (*_VALUES, *HOSTILE_TEXT, *(repr(n) for n in HOSTILE_NUMBERS if abs(n) < 1e300))
        )
        return chosen.replace("\x00", "") or "x"

    kind = draw.randrange(4)
    if kind < 2:
        options = draw.sample(list(_PLAN_OPTIONS), draw.randint(1, 3))
        words = ["plan", "--json"]
    elif kind == 2:
        options = draw.sample(list(_COMPARE_OPTIONS), draw.randint(1, 2))
        words = ["compare", str(campaign)]
        if draw.random() < 0.3:
            words += ["--baseline", str(campaign), "--fail-if", f"{value()} > {value()}"]
    else:
        words, options = [draw.choice(["show", "report", "export", "list", "watch", value()])], []
        words += [value() for _ in range(draw.randrange(3))]
    right = {**_PLAN_OPTIONS, **_COMPARE_OPTIONS}
    for option in options:
        words += [option, right[option] if draw.random() < 0.4 else value()]
    if words[0] == "plan" and "--engine" not in words:
        words += ["--engine", "process"]
    return words
