"""Draws graphs that a fault changes, certifies the faulty model, and judges what was found."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import data, verify
from bench.ops import nodes_for, owner
from bench.reference.model import Reference
from tests.bench.faults.effect import matters
from tests.bench.faults.fault import Fault, Json, adapter
from tests.bench.random_graphs import Arrays, Dice, arrays_for, drawn

_ROWS = 40
_TRAIN = 30
_DRAWS = 3000


@dataclass(frozen=True)
class Case:
    """A graph with a recipe and data."""

    seed: int
    graph: Json
    recipe: Json
    arrays: Arrays


@dataclass(frozen=True)
class Finding:
    """What the certificate said of one faulty model."""

    case: Case
    check: Json | None
    """The first check that failed."""
    named_right: bool


def case_of(seed: int, ops: int = 10) -> Case:
    graph, recipe = drawn(Dice(seed), ops)
    return Case(seed, graph, recipe, arrays_for(graph, recipe, _ROWS, seed % 2**32))


def cases_for(fault: Fault, seed: int, ops: int = 10) -> Iterator[Case]:
    """Random graphs in which the fault changes something."""
    for number in range(_DRAWS):
        graph, recipe = drawn(Dice(seed + number), ops)
        if fault.needs(graph, recipe):
            case = case_of(seed + number, ops)
            if matters(fault, graph, recipe, case.arrays):
                yield case


def failures(case: Case, model: type[Reference]) -> Iterator[Json]:
    """The checks that fail, as they are found; of the data, which are random, none is asked."""
    with tempfile.TemporaryDirectory() as name:
        job = _job(case, Path(name))
        splits = data.load(name, job["data"], job["graph"], job["recipe"])
        checks = verify.checks(job, splits, adapter(model), name)
        while True:
            with contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
                check = next(checks, None)
            if check is None:
                return
            if not check["passed"] and check["name"] != "data":
                yield check


def judged(fault: Fault, case: Case) -> Finding:
    check = next(failures(case, fault.model), None)
    return Finding(case, check, check is not None and _is_right(fault, case.graph, check))


def _is_right(fault: Fault, graph: Json, check: Json) -> bool:
    """Whether the first check that fails, and the node that it names, are the fault's."""
    if check["name"] not in fault.checks:
        return False
    ops = {node["name"]: node["op"] for node in graph["nodes"]}
    altered = [name for name, op in ops.items() if op in fault.ops]
    allowed = set(altered)
    if fault.upstream:
        allowed |= {node["name"] for node in nodes_for(graph, altered)}
    for label in (check["node"] or "").split(", ") if check["node"] else []:
        node, _, parameter = label.partition("/")
        if fault.ops and owner(node) not in allowed:
            return False
        if fault.parameters and parameter and parameter not in fault.parameters:
            return False
    return True


def _job(case: Case, folder: Path) -> Json:
    splits: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    for name, values in case.arrays.items():
        for split, part in (("train", values[:_TRAIN]), ("test", values[_TRAIN:])):
            splits[split][name] = f"{split}-{name}.npy"
            np.save(folder / splits[split][name], part)
    lines = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n"
        for file in sorted(folder.glob("*.npy"))
    )
    source: dict[str, Any] = {
        "name": "random", "source": "synthetic", "splits": splits, "divide": {},
        "digest": hashlib.sha256(lines.encode()).hexdigest(),
    }  # fmt: skip
    return {
        "v": 1, "id": "fault", "action": "verify", "framework": "numpy", "version": "0",
        "adapter": "numpy", "variant": "numpy", "device": "cpu", "setting": "matched", "seed": 1,
        "threads": None, "graph": case.graph, "recipe": case.recipe,
        "budget": {"epochs": 1, "steps": None}, "data": source, "save": False,
    }  # fmt: skip
