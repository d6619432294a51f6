"""What a campaign prints while it runs, where the output is no terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from dlbench.campaigns.certificate_file import Certificate, Check
from dlbench.campaigns.folder import Campaign
from dlbench.cli.live import _Live, ended_line, fitting, view
from dlbench.environments.progress import Step
from dlbench.formats import Event
from tests.orchestrator.analysis.campaigns import Cell, write

FAULT = Check("loss", False, node="dense1", detail="1 against 2")
FAILED = Certificate("key", "a@1", "digits-cnn", "plain", "cpu", "process", False, (FAULT,))


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    cells = [Cell("a@1", [0.75, 0.5], metric="accuracy")]
    return Campaign(write(tmp_path / "c", cells))


def test_a_line_for_each_thing_that_happens(
    campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    trials, results = campaign.trials(), campaign.results()
    with view() as observer:
        observer.note("A note.")
        observer.preparing(Step("download", "numpy"))
        observer.preparing(Step("download", "numpy"))
        observer.planned(trials, 0)
        observer.certifying("a@1", "digits-cnn")
        observer.certified(FAILED)
        observer.certified(replace(FAILED, passed=True))
        for trial, result in zip(trials, results, strict=True):
            observer.started(trial)
            observer.ended(trial, result)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "A note.",
        "downloading numpy",
        "2 trials",
        "proving that a@1 computes digits-cnn as the reference does",
        "a@1 is NOT certified for digits-cnn: loss differs at node dense1: 1 against 2."
        " Its numbers will not be ranked.",
        "[1/2] a@1 on digits-cnn, seed 1: ok in 20.0 s, accuracy 75.0 %, about 20.0 s left",
        "[2/2] a@1 on digits-cnn, seed 2: ok in 20.0 s, accuracy 50.0 %",
    ]


def test_quiet_says_nothing(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    with view(quiet=True) as observer:
        observer.note("A note.")
        observer.planned(campaign.trials(), 0)
    assert capsys.readouterr() == ("", "")


def test_the_time_of_a_step_is_shown(campaign: Campaign) -> None:
    result = replace(campaign.results()[0], metrics={"step_ms_median": 2.5})
    assert "2.50 ms a step" in ended_line("a@1", result, 1, 1, None)


def test_parts_of_a_line_are_left_out_not_cut() -> None:
    parts = ["epoch 3", "loss 0.1234", "98 % of one core"]
    assert fitting(parts, 80) == "epoch 3  loss 0.1234  98 % of one core"
    assert fitting(parts, 30) == "epoch 3  loss 0.1234"
    assert fitting(parts, 3) == ""


def test_the_clock_is_that_of_the_trial(campaign: Campaign) -> None:
    """Of each trial, not of all that came before it; and the looks do not add bars."""
    now = [100.0]
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    progress = Progress(console=console, get_time=lambda: now[0], auto_refresh=False)
    live = _Live(progress)
    trials, results = campaign.trials(), campaign.results()
    live.planned(trials, 0)
    elapsed = []
    for trial, result in zip(trials, results, strict=True):
        live.started(trial)
        now[0] += 7
        elapsed.append(progress.tasks[-1].elapsed)
        live.ended(trial, result)
        live.planned(trials, 1)
    assert elapsed == [7.0, 7.0]
    assert len(progress.tasks) == 2


def test_a_loss_that_is_no_number_is_not_shown(campaign: Campaign) -> None:
    progress = Progress(console=Console(file=io.StringIO()), auto_refresh=False)
    live = _Live(progress)
    trial = campaign.trials()[0]
    live.started(trial)
    live.event(trial, Event(1.0, "epoch", {"epoch": 1, "loss": None, "metrics": {"accuracy": 0.5}}))
    assert live._metrics == ["epoch 1", "accuracy 0.5000"]
