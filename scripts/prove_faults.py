"""Plants every fault of tests/bench/faults into random graphs and counts what is found.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=orchestrator:. python scripts/prove_faults.py --graphs 10

For each fault graphs are drawn in which it changes something; the certificate runs on the faulty
model. `found`: a check fails. `named right`: the first check that fails, and the node that it
names, are the fault's. The right model is certified on some of the same graphs: each alarm counts.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "orchestrator")]

from bench.reference.model import Reference  # noqa: E402
from tests.bench.faults import deep  # noqa: E402
from tests.bench.faults.every import FAULTS  # noqa: E402
from tests.bench.faults.fault import Json  # noqa: E402
from tests.bench.faults.proving import Finding, cases_for, failures, judged  # noqa: E402

Outcome = tuple[str, list[Finding], int, list[str]]


def prove_deep(architecture: Callable[[], Json]) -> Outcome:
    """Faults in one node of a deep graph, and the right model."""
    case = deep.case_for(architecture)
    names = dict(deep.PLANTED)[architecture]
    alarms = [
        f"right model, {case.graph['name']}: {check['name']} {check['node']} {check['detail']}"
        for check in itertools.islice(failures(case, Reference), 1)
    ]
    findings = []
    for name in names:
        finding = judged(deep.in_one_node(deep.BY_NAME[name], case.graph), case)
        findings.append(finding)
        check = finding.check or {"name": "missed", "node": None}
        print(f"    {case.graph['name']}: {name}: {check['name']} {check['node']}", flush=True)
    return f"{case.graph['name']}: {len(names)} faults", findings, 1, alarms


def prove(task: tuple[int, int, int, int]) -> Outcome:
    """One fault on its graphs: (its name, what was found, right models certified, alarms)."""
    index, seed, graphs, without = task
    fault = FAULTS[index]
    cases = list(itertools.islice(cases_for(fault, seed + 100_000 * index), graphs))
    alarms = [
        f"right model, graph {case.seed}: {check['name']} {check['node']} {check['detail']}"
        for case in cases[:without]
        for check in itertools.islice(failures(case, Reference), 1)
    ]
    return fault.name, [judged(fault, case) for case in cases], len(cases[:without]), alarms


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=10, help="for each fault (default 10)")
    parser.add_argument("--right", type=int, default=3,
                        help="of these, certified without the fault, too (default 3)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--deep", action="store_true",
                        help="instead: faults in one node of ResNet-50, DenseNet-121 and an LSTM "
                        "of 200 steps, in small")  # fmt: skip
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.deep:
        return _counted(map(prove_deep, [architecture for architecture, _ in deep.PLANTED]))
    tasks = [
        (index, given.seed, given.graphs, given.right)
        for index, fault in enumerate(FAULTS)
        if given.only in fault.name
    ]
    with multiprocessing.Pool(given.processes) as pool:
        return _counted(pool.imap(prove, tasks))


def _counted(outcomes: Iterable[Outcome]) -> int:
    """The table, line by line, and the totals; 1 if too much is missed or alarms."""
    totals, rights, alarms, missed = [0, 0, 0], 0, [], []
    print(f"{'fault':<62} graphs  found  named right")
    for name, findings, certified, alarmed in outcomes:
        counts = [
            len(findings),
            sum(f.check is not None for f in findings),
            sum(f.named_right for f in findings),
        ]
        print(f"{name:<62} {counts[0]:>6} {counts[1]:>6} {counts[2]:>12}", flush=True)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        rights, alarms = rights + certified, alarms + alarmed
        missed += [_told(name, finding) for finding in findings if not finding.named_right]
    graphs, found, named = totals
    print(f"\n{graphs} faulty models: {found} found ({found / graphs:.1%}), "
          f"{named} named right ({named / graphs:.1%})")  # fmt: skip
    print(f"{rights} right models: {len(alarms)} alarms")
    for line in [*missed, *alarms]:
        print(line)
    return 1 if alarms or found < 0.99 * graphs or named < 0.95 * graphs else 0


def _told(name: str, finding: Finding) -> str:
    check = finding.check
    what = f"named {check['name']} {check['node']}: {check.get('detail')}" if check else "missed"
    return f"{name}, graph {finding.case.seed}: {what}"


if __name__ == "__main__":
    sys.exit(main())
