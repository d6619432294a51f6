"""What a certificate costs: how it grows with a graph's nodes, and two deep graphs in releases.

    python scripts/bench_certificate.py [RELEASE …] [--json]

The NumPy reference is certified against itself on chains of residual blocks of several depths; the
power with which the cost grows should be about one. Then ResNet-50 and DenseNet-121 in small are
certified in each RELEASE. Seconds are those of the processor, of one thread, so that a busy machine
counts little. Exit code 1 if a graph fails or costs more than stated; which, is said.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "orchestrator"), str(ROOT)]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy reads it: threads that wait cost, too

from bench.reference.model import Reference  # noqa: E402
from dlbench.planning.graph import Graph  # noqa: E402
from dlbench.planning.plan import find_contender  # noqa: E402
from dlbench.running.workshop import open_workshop  # noqa: E402
from tests.bench.deep_graphs import densenet121, recipe_for, resnet50  # noqa: E402
from tests.bench.faults.proving import Case, failures  # noqa: E402
from tests.bench.proving import prove, write_graph  # noqa: E402
from tests.bench.random_graphs import arrays_for  # noqa: E402

_BLOCKS = (4, 8, 16, 32)
_LARGEST_POWER = 1.25
_SECONDS = 60.0

Json = dict[str, Any]


def chain(blocks: int) -> Json:
    """Residual blocks, one like the other."""
    g = Graph(f"chain of {blocks}")
    x = g.conv2d(g.input("image", (8, 8, 3)), 8, 3, padding="same", bias=False)
    for _ in range(blocks):
        y = g.conv2d(g.relu(g.batchnorm(x)), 8, 3, padding="same", bias=False)
        x = g.add(x, g.conv2d(g.relu(g.batchnorm(y)), 8, 1, bias=False))
    g.outputs(g.dense(g.globalavgpool(x), 10, name="logits"))
    return g.to_json()


def in_the_reference(graph: Json) -> Json:
    recipe = recipe_for(graph)
    case = Case(0, graph, recipe, arrays_for(graph, recipe, 40, 1))
    begun = time.process_time()
    passed = not list(failures(case, Reference))
    seconds = time.process_time() - begun
    return {"graph": graph["name"], "nodes": len(graph["nodes"]), "passed": passed,
            "cpu_seconds": round(seconds, 2)}  # fmt: skip


def power(rows: list[Json]) -> float:
    """The slope of the cost over the number of nodes, both as logarithms."""
    nodes = [math.log(row["nodes"]) for row in rows]
    return statistics.linear_regression(nodes, [math.log(r["cpu_seconds"]) for r in rows]).slope


def in_release(name: str) -> list[Json]:
    release, variant = find_contender(name)
    python = open_workshop("process").environment(release, "cpu")
    with tempfile.TemporaryDirectory() as place:
        folders = []
        for graph in (resnet50(), densenet121()):
            folders.append(Path(place) / graph["name"])
            recipe = recipe_for(graph)
            write_graph(folders[-1], graph, recipe, 1, adapter=release.adapter, variant=variant)
        return [
            {"graph": f"{Path(result['folder']).name} in {name}",
             "passed": result["outcome"] == "ok", "cpu_seconds": result.get("cpu_seconds")}
            for result in prove(python, release, folders)
        ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chains = [in_the_reference(chain(blocks)) for blocks in _BLOCKS]
    deep = [row for name in asked.releases for row in in_release(name)]
    grows = power(chains)
    if asked.json:
        print(json.dumps({"chains": chains, "power": grows, "releases": deep}, indent=1))
    else:
        for row in [*chains, *deep]:
            word = "passed" if row["passed"] else "FAILED"
            limit = f" (at most {_SECONDS:g})" if row in deep else ""
            print(f"{row['graph']:<40} {word}  {row['cpu_seconds']} s of the processor{limit}")
        print(f"the cost grows with the nodes to the power {grows:.2f} (at most {_LARGEST_POWER})")
    passed = all(row["passed"] for row in [*chains, *deep])
    quick = all(row["cpu_seconds"] <= _SECONDS for row in deep if row["passed"])
    return 0 if passed and quick and grows <= _LARGEST_POWER else 1


if __name__ == "__main__":
    sys.exit(main())
