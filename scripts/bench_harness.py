"""Does dlbench's training loop cost anything? Its median step over a handwritten loop's.

    PYTHONPATH=orchestrator .venv/bin/python scripts/bench_harness.py [RELEASE …] [--kind KIND]
        [--clock cpu] [--json]

Both train the same model (random rows, one thread) in one process of the same environment, in short
blocks that alternate, so that whatever the machine does falls on both. On a busy machine
`--clock cpu` takes processor time instead of the wall's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SCRIPTS = Path(__file__).resolve().parent
sys.path[:0] = [str(_SCRIPTS)]

from handwritten import KINDS, LSTM, WIDTHS, kinds_of  # noqa: E402

from dlbench import formats, paths, workloads  # noqa: E402
from dlbench.environments import venvs  # noqa: E402
from dlbench.environments.releases import Release  # noqa: E402
from dlbench.planning.plan import find_contender  # noqa: E402
from dlbench.workloads._elshawi import imdb_lstm  # noqa: E402
from dlbench.workloads._resnet import resnet18  # noqa: E402

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_STRICT = ("pytorch", "tensorflow", "keras", "mxnet", "jax", "chainer")


def limit(framework: str, kind: str) -> float:
    """How many times as long a step of dlbench may take."""
    return 1.03 if framework in _STRICT and kind != "detector" else 1.05


def model(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The graph and the recipe: a workload's own, or the same in small."""
    if kind == "lstm":
        return imdb_lstm("imdb-lstm-small", **LSTM), workloads.find("imdb-lstm").recipe
    if kind == "resnet":
        recipe = workloads.find("cifar10-resnet18").recipe
        return resnet18("cifar10-resnet18-small", 10, WIDTHS), {**recipe, "batch": 16}
    found = workloads.find("voc2012-faster-rcnn-small" if kind == "detector" else f"mnist-{kind}")
    return found.graph, found.recipe


def ratio(name: str, kind: str, blocks: int, steps: int, clock: str) -> dict[str, Any]:
    """Median step of dlbench over median step by hand, and what the machine did meanwhile."""
    release, variant = find_contender(name)
    found = both(release, variant, kind, blocks, steps, clock)
    if wrong := difference(found):
        raise SystemExit(f"{name}, {kind}: {wrong}")
    medians = {loop: statistics.median(found[loop]) for loop in ("dlbench", "handwritten")}
    return {
        "release": f"{release.name}:{variant}",
        "kind": kind,
        "clock": clock,
        "dlbench_ms": round(medians["dlbench"], 3),
        "handwritten_ms": round(medians["handwritten"], 3),
        "ratio": round(medians["dlbench"] / medians["handwritten"], 4),
        "limit": limit(release.framework, kind),
        "load": round(os.getloadavg()[0], 1),
    }


def both(
    release: Release, variant: str, kind: str, blocks: int, steps: int, clock: str
) -> dict[str, Any]:
    """What `handwritten.against` finds in the release's environment."""
    graph, recipe = model(kind)
    job = {
        **{"v": formats.VERSION, "id": "harness", "action": "train"},
        **{"framework": release.framework, "version": release.version},
        **{"adapter": release.adapter, "variant": variant, "device": "cpu", "gpu": 0},
        **{"setting": "matched", "seed": 1, "threads": 1, "graph": graph, "recipe": recipe},
        **{"budget": {"epochs": 1, "steps": steps}, "inference": False, "save": False},
        "data": {"name": "drawn", "source": "synthetic", "digest": "", "splits": {}, "rows": None},
    }
    python = venvs.prepare(release, "cpu").python
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.json"
        file.write_text(json.dumps(job))
        modules = [str(paths.bundled("bench").parent), str(_SCRIPTS)]
        done = subprocess.run(
            [python, "-m", "handwritten.against", file, kind, str(blocks), str(steps), clock],
            env={
                **os.environ,
                "PYTHONPATH": ":".join(modules),
                **dict.fromkeys(_THREADS, "1"),
                **release.variables,
            },
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{release.name}, {kind}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def difference(found: Mapping[str, Any]) -> str:
    """Why the two loops did not do the same work, as far as they tell; empty: they did."""
    ours, theirs = found.get("parameters", (0, 0))
    if ours != theirs:
        return f"the model by hand has {theirs:,} parameters, dlbench's {ours:,}."
    # from the same weights; Adam's epsilon is not in its place in every release by hand
    for loss, other in found.get("losses", ())[:1]:
        if not math.isclose(loss, other, rel_tol=1e-5):
            return f"the first step has the loss {other:.6f} by hand, {loss:.6f} in dlbench."
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=_STRICT)
    parser.add_argument("--kind", choices=KINDS, action="append", help="all, if none is named")
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in options.releases:
        for kind in written(name, options.kind or KINDS):
            rows.append(ratio(name, kind, options.blocks, options.steps, options.clock))
            if not options.json:
                print(_line(rows[-1]), flush=True)
    if not rows:
        raise SystemExit("No such kind is written by hand for these releases.")
    if options.json:
        print(json.dumps(rows, indent=1))
    return 0 if all(row["ratio"] <= row["limit"] for row in rows) else 1


def written(name: str, kinds: Sequence[str]) -> list[str]:
    """Those kinds that there is a loop by hand of."""
    release, variant = find_contender(name)
    if variant not in (release.variants[0], "tuned"):
        raise SystemExit(f"{name}: the handwritten loops are of each release's first variant.")
    return [kind for kind in kinds if kind in kinds_of(release.adapter)]


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['release']} {row['kind']}: dlbench {row['dlbench_ms']} ms, by hand"
        f" {row['handwritten_ms']} ms a step ({row['clock']}), ratio {row['ratio']:.3f}"
        f" (at most {row['limit']}), load {row['load']}"
    )


if __name__ == "__main__":
    sys.exit(main())
