"""Every kind of fault once on a small random graph: the certificate finds it and names it.

`scripts/prove_faults.py` does the same with many graphs; docs/proof-of-the-proof.md has its result.
"""

from __future__ import annotations

import pytest

from bench.ops import OPS
from bench.reference.model import Reference
from tests.bench.faults.every import FAULTS
from tests.bench.faults.fault import Fault
from tests.bench.faults.proving import case_of, cases_for, failures, judged

SEED = 42
OPS_EACH = 5
"""Nodes of a graph, at most: small ones are quick."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_named(fault: Fault) -> None:
    case = next(cases_for(fault, SEED, OPS_EACH))
    finding = judged(fault, case)
    assert finding.check, f"missed in graph {case.seed}"
    assert finding.named_right, (case.seed, finding.check)


@pytest.mark.parametrize("seed", range(SEED, SEED + 12))
def test_without_a_fault_nothing_alarms(seed: int) -> None:
    assert list(failures(case_of(seed), Reference)) == []


def test_there_are_many_kinds_of_faults() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 45
    # the detector's two ops stand in no random graph: tests/bench/proof/test_detector.py
    assert {op for fault in FAULTS for op in fault.ops} == set(OPS) - {"proposals", "roialign"}
