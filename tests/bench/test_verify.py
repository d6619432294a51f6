"""The certificate of an adapter without a fault. What it finds in others: tests/bench/proof."""

from __future__ import annotations

from tests.bench.proof.faulty import adapter, certificate, failed, job_of


def test_without_a_fault_everything_passes() -> None:
    for workload in ("digits-cnn", "enthalpy-fcrn-10", "proof-encoder-decoder", "proof-two-branch"):
        job, folder = job_of(workload)
        checks = certificate(job, folder, adapter())
        assert not failed(checks)
        assert all(check["error"] is None or check["error"] < 0.1 for check in checks)
