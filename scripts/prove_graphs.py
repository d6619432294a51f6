"""Certify random legal graphs in real releases: how many pass, and what is wrong with the others.

    scripts/prove_graphs.py pytorch mxnet@1.3.0:imperative --graphs 500 --seed 1000
    scripts/prove_graphs.py pytorch --known        # well-known architectures in small, odd corners

One process a release proves graph after graph; one that dies is counted and the rest go on. Prints
a line for each graph that does not pass and a table at the end; exit code 1 if any did not pass.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "orchestrator"), str(ROOT)]

from dlbench.planning.plan import find_contender  # noqa: E402
from dlbench.running.workshop import open_workshop  # noqa: E402
from tests.bench.known_graphs import KNOWN  # noqa: E402
from tests.bench.proving import prove, write_graph, write_job  # noqa: E402

OUTCOMES = ("ok", "differs", "unsupported", "crashed", "died")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("releases", nargs="+", metavar="RELEASE")
    parser.add_argument("--graphs", type=int, default=100, help="graphs for each release")
    parser.add_argument("--seed", type=int, default=1000, help="of the first graph")
    parser.add_argument("--ops", type=int, default=10, help="most nodes of a graph")
    parser.add_argument("--known", nargs="*", metavar="NAME", choices=KNOWN,
                        help="instead: graphs of tests/bench/known_graphs.py")  # fmt: skip
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.graphs)
    known = asked.known is not None
    names = asked.known or list(KNOWN) if known else [str(seed) for seed in seeds]
    workshop, rows = open_workshop("process"), []
    for name in asked.releases:
        release, variant = find_contender(name)
        python = workshop.environment(release, "cpu")
        started, worked, counts = time.monotonic(), 0.0, Counter[str]()
        with tempfile.TemporaryDirectory() as place:
            folders = []
            for graph in names:
                folder, run = Path(place) / graph, (release.adapter, variant)
                if known:
                    write_graph(folder, *KNOWN[graph](), 1, adapter=run[0], variant=run[1])
                else:
                    seed = int(graph)
                    write_job(folder, seed, adapter=run[0], variant=run[1], ops=asked.ops)
                folders.append(folder)
            for result in prove(python, release, folders):
                counts[result["outcome"]] += 1
                worked += result.get("cpu_seconds", 0.0)
                if result["outcome"] != "ok":
                    print(_line(f"{release.name}:{variant}", result), flush=True)
        seconds = (time.monotonic() - started) / len(names)
        rows.append((f"{release.name}:{variant}", counts, seconds, worked / len(names)))
    print("| release | graphs | " + " | ".join(OUTCOMES) + " | s a graph | of it CPU |")
    print("|---|" + "---|" * (len(OUTCOMES) + 3))
    for label, counts, seconds, worked in rows:
        cells = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        print(f"| {label} | {len(names)} | {cells} | {seconds:.1f} | {worked:.1f} |")
    return 0 if all(counts["ok"] == len(names) for _, counts, *_ in rows) else 1


def _line(label: str, result: dict[str, object]) -> str:
    seed = Path(str(result["folder"])).name
    failed = result.get("failed")
    first = failed[0] if isinstance(failed, list) and failed else {}
    what = result.get("reason") or json.dumps({k: first.get(k) for k in _SHOWN})
    return f"{label} graph {seed}: {result['outcome']}: {str(what)[:300]}"


_SHOWN = ("name", "node", "error", "tolerance", "detail")

if __name__ == "__main__":
    sys.exit(main())
