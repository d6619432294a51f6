"""The panel of a running campaign, told what happens."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dlbench.campaigns.folder import Campaign
from dlbench.cli.panel import CampaignPanel, Estimate, sparkline
from dlbench.formats import Event
from dlbench.monitor.samples import GpuSample, Sample
from tests.orchestrator.analysis.campaigns import Cell, write


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    cells = [Cell("a@1", [1.0, 1.0]), Cell("b@1", [3.0, 3.0])]
    return Campaign(write(tmp_path / "c", cells))


def shown(panel: CampaignPanel) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(panel.draw())
    return console.export_text()


def test_it_shows_progress_curves_and_use(campaign: Campaign) -> None:
    panel, (first, second, *_) = CampaignPanel(), campaign.trials()
    panel.planned(campaign.trials(), 0)
    panel.ended(first, campaign.results()[0])
    panel.started(second)
    panel.event(Event(1.0, "progress", {"epoch": 2, "step": 7, "steps": 20}))
    panel.event(Event(1.5, "epoch", {"loss": 0.25, "metrics": {"accuracy": 0.5}}))
    panel.sample(Sample(1.0, 1.0, 10**8))
    panel.sample(Sample(2.0, 2.5, 2 * 10**8, gpus=(GpuSample("0", 93.0, power_w=70.0),)))
    text = shown(panel)
    assert "1 of 4 trials, about" in text
    assert "b@1 on digits-cnn" in text
    assert "epoch 2, step 7 of 20" in text
    for words in ("0.2500", "0.5000", "150 % of one core", "200 MB", "93 %", "70 W"):
        assert words in text


def test_failures_are_counted(campaign: Campaign) -> None:
    from dlbench.campaigns.outcomes import Outcome

    panel, trials = CampaignPanel(), campaign.trials()
    panel.planned(trials, 0)
    panel.ended(trials[0], replace(campaign.results()[0], outcome=Outcome.CRASHED))
    assert "1 of 4 trials, 1 failed" in shown(panel)


def test_the_rest_is_estimated_by_trials_of_the_same_kind(campaign: Campaign) -> None:
    estimate, trials = Estimate(), campaign.trials()
    estimate.plan(trials)
    assert estimate.left_s() is None
    estimate.ended(trials[0], 10.0)
    assert estimate.left_s() == 30.0
    estimate.ended(trials[1], 40.0)
    assert estimate.left_s() == 10.0 + 40.0


def test_sparklines_fit_and_rise_with_their_values() -> None:
    assert sparkline([]) == ""
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert len(sparkline(list(range(1000)))) == 40
    assert sparkline([5.0, 5.0]) == "▁▁"
