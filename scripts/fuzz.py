"""Tries hostile input on dlbench: thousands of changed suites, jobs, campaign files, archives and
command lines, each read by a command as a user would run it.

    python scripts/fuzz.py [--kinds trial plan …] [--count 10000] [--seed 1] [--json]

Commands run inside a worker process: starting one for each input would take a hundred times as
long. The worker is watched from outside: an input that takes more than 10 s counts as a hang, the
worker is ended, and a new one goes on with the next input. Counted are tracebacks, hangs and other
faults (a wrong exit code, a character that acts on a terminal, a file left half written); exits
with 1 if there are any. Ctrl-C ends it with what was found so far. An input is made again from its
kind, seed and number:

    python scripts/fuzz.py --kinds trial --seed 1 --only 4711
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "orchestrator"), str(ROOT)]

from tests.orchestrator.hostile.commands import REFUSED  # noqa: E402
from tests.orchestrator.hostile.inputs import KINDS, Laboratory  # noqa: E402

HANG_S = 10.0
_STARTING_S = 120.0


@dataclass
class Found:
    """What came of the inputs of one kind."""

    kind: str
    inputs: int = 0
    refused: int = 0
    tracebacks: int = 0
    hangs: int = 0
    others: int = 0
    slowest_s: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def bad(self) -> int:
        return self.tracebacks + self.hangs + self.others


def work(kind: str, seed: int, numbers: range, pipe: Connection) -> None:
    """Try some inputs, and tell of each how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder))
        pipe.send(None)
        for number in numbers:
            began = time.monotonic()
            command, ended = laboratory.try_one(kind, random.Random(f"{kind}/{seed}/{number}"))
            took = time.monotonic() - began
            pipe.send((number, command, ended.code, ended.fault, ended.traceback, took))
    pipe.close()


def tried(kind: str, seed: int, numbers: range, talk: bool) -> Found:
    """All inputs of one kind."""
    found, began, start = Found(kind), time.monotonic(), numbers.start
    context = multiprocessing.get_context("spawn")
    while start < numbers.stop:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(kind, seed, range(start, numbers.stop), theirs))
        worker.start()
        theirs.close()
        ready = False
        try:
            while start < numbers.stop:
                if not ours.poll(HANG_S if ready else _STARTING_S):
                    found.hangs += 1
                    found.faults[f"hang: input {start}"] += 1
                    start += 1
                    break
                message = ours.recv()
                if message is None:
                    ready = True
                    continue
                start = 1 + _count(found, message, talk)
        except KeyboardInterrupt:
            found.interrupted = True
            start = numbers.stop
        except EOFError:  # it was killed, or ended by itself
            found.tracebacks += 1
            found.faults[f"the process ended: input {start}"] += 1
            start += 1
        worker.kill()
        worker.join()
    found.seconds = time.monotonic() - began
    return found


def _count(found: Found, message: tuple[int, str, int, str, str, float], talk: bool) -> int:
    number, command, code, fault, trace, took = message
    found.inputs += 1
    found.refused += code == REFUSED
    found.slowest_s = max(found.slowest_s, took)
    if took > HANG_S:
        found.hangs += 1
    if fault:
        found.tracebacks += "Traceback" in trace
        found.others += "Traceback" not in trace
        found.faults[f"{command}: {fault}"] += 1
    if talk or (fault and found.faults[f"{command}: {fault}"] == 1):
        print(f"{found.kind} {number} {command}: {code} {fault}\n{trace}", file=sys.stderr)
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--count", type=int, default=10_000, help="inputs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="just the input of this number")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    numbers = range(chosen.count)
    if chosen.only is not None:
        numbers = range(chosen.only, chosen.only + 1)
    every = []
    if not chosen.json:
        print(f"{'kind':12} {'inputs':>7} {'refused':>8} {'tracebacks':>10} {'hangs':>6}"
              f" {'others':>7} {'slowest':>8} {'seconds':>8}")  # fmt: skip
    for kind in chosen.kinds:
        one = tried(kind, chosen.seed, numbers, chosen.only is not None)
        every.append(one)
        if not chosen.json:
            print(f"{kind:12} {one.inputs:>7,} {one.refused:>8,} {one.tracebacks:>10}"
                  f" {one.hangs:>6} {one.others:>7} {one.slowest_s:>7.2f}s {one.seconds:>7.0f}s",
                  flush=True)  # fmt: skip
            for fault, often in one.faults.most_common(20):
                print(f"    {often} × {fault}")
        if one.interrupted:
            break
    if chosen.json:
        print(json.dumps([vars(one) for one in every], indent=1))
    return 1 if any(one.bad for one in every) else 0


if __name__ == "__main__":
    sys.exit(main())
