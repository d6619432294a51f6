"""Random graphs as jobs on disk, and a release's environment that proves many of them.

A process that dies while it proves costs the graph that killed it: the next one goes on behind it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlbench.environments.releases import Release
from tests.bench.random_graphs import Dice, arrays_for, drawn

WORKER = Path(__file__).resolve().parents[2] / "scripts/prove_worker.py"
_ROWS = 24


def write_job(
    folder: Path, seed: int, *, adapter: str, variant: str, ops: int = 10, unusual: bool = True
) -> None:
    """The job that proves the graph of this seed, with its data beside it."""
    graph, recipe = drawn(Dice(seed), ops, unusual)
    write_graph(folder, graph, recipe, seed, adapter=adapter, variant=variant)


def write_graph(
    folder: Path,
    graph: Mapping[str, Any],
    recipe: Mapping[str, Any],
    seed: int,
    *,
    adapter: str,
    variant: str,
) -> None:
    """The job that proves this graph, with random data."""
    folder.mkdir(parents=True)
    arrays = arrays_for(dict(graph), dict(recipe), 2 * _ROWS, seed)
    arrays["number_of_the_row"] = np.arange(2 * _ROWS, dtype=np.int32)  # no two rows are equal
    splits: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    for name, values in arrays.items():
        for split, part in (("train", values[:_ROWS]), ("test", values[_ROWS:])):
            splits[split][name] = f"{split}-{name}.npy"
            np.save(folder / splits[split][name], part)
    files = sorted(name for names in splits.values() for name in names.values())
    lines = "".join(
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()} {name}\n" for name in files
    )
    job = {
        "v": 1, "id": f"graph-{seed}", "action": "verify", "framework": adapter, "version": "",
        "adapter": adapter, "variant": variant, "device": "cpu", "setting": "matched", "seed": 1,
        "threads": None, "graph": graph, "recipe": recipe,
        "budget": {"epochs": 1, "steps": None},
        "data": {
            "name": "random", "source": "synthetic", "splits": splits, "divide": {},
            "digest": hashlib.sha256(lines.encode()).hexdigest(),
        },
        "save": False,
    }  # fmt: skip
    (folder / "job.json").write_text(json.dumps(job))


def prove(python: str, release: Release, folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """The result of each job, in order; `died` where it took the process with it."""
    waiting = list(folders)
    while waiting:
        worker = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **_QUIET, **release.variables},
        )
        assert worker.stdin is not None and worker.stdout is not None
        left = _LIFE.get(release.adapter, 30)
        try:
            while waiting and left:
                left -= 1
                worker.stdin.write(f"{waiting[0]}\n")
                worker.stdin.flush()
                line = worker.stdout.readline()
                if not line:
                    reason = f"the process ended with {worker.wait()}"
                    yield {"folder": str(waiting.pop(0)), "outcome": "died", "reason": reason,
                           "failed": []}  # fmt: skip
                    break
                waiting.pop(0)
                yield json.loads(line)
        finally:
            worker.kill()
            worker.wait()


_LIFE = {"keras2": 1}
"""Graphs that one process proves: frameworks keep what they have compiled, and Keras 2 has all its
models in one session, so that each makes the next one slower."""
_QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
    "OMP_NUM_THREADS": "1",
}
