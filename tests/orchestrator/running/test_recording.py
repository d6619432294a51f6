"""What is recorded of a trial can be read again, whatever the trial wrote."""

from __future__ import annotations

from pathlib import Path

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.campaigns.trial_result import TrialResult
from dlbench.running.recording import record


def test_a_result_that_can_not_be_read_again_spoils_nothing(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    result = TrialResult(
        id="0" * 16, index=0, round=0, release="numpy@2.4.6", workload="digits-cnn", device="cpu",
        engine="process", setting="matched", variant="numpy", seed=1, repeat=0,
        outcome=Outcome.OK, reason="", started="", wall_s=1.0, metrics={"accuracy": 0.5},
        stack={"x": 10**5000},
    )  # fmt: skip
    recorded = record(campaign, result)
    assert campaign.result(result.id) == recorded
    assert recorded.outcome is Outcome.INVALID
    assert "can't be recorded" in recorded.reason
    assert str(tmp_path) not in recorded.reason
    assert (recorded.stack, recorded.metrics) == ({}, {})
