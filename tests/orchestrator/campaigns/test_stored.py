"""A campaign that dlbench 0.1.0 wrote keeps opening, whatever later versions write.

The folder was made once by `dlbench run --framework numpy --workload digits-cnn --repeats 2
--epochs 1 --engine process` and is never made again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import dlbench
from dlbench.campaigns.folder import Campaign
from tests.orchestrator.command import Command

STORED = Path(__file__).parent / "stored-0.1.0"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED, tmp_path / "stored"))


def test_its_folder_is_read(stored: Path) -> None:
    campaign = Campaign.open(stored)
    assert [trial.seed for trial in campaign.trials()] == [1, 2]
    assert [result.complete for result in campaign.results()] == [True, True]
    assert campaign.unfinished() == []


def test_it_opens_in_python(stored: Path) -> None:
    results = dlbench.open(stored)
    assert results.trials()["release"].to_list() == ["numpy@2.4.6"] * 2
    assert results.trials()["certified"].to_list() == [True, True]
    assert results.samples().height == 4
    assert results.steps().height == 2 * 45


def test_every_command_reads_it(stored: Path, tmp_path: Path, command: Command) -> None:
    shown = command("show", stored, "--json")
    assert shown.code == 0
    assert [trial["outcome"] for trial in shown.json["trials"]] == ["ok", "ok"]
    assert "numpy@2.4.6" in command("show", stored).out
    assert "numpy@2.4.6" in command("watch", stored, "--json").out
    compared = command("compare", stored, stored)
    assert (compared.code, compared.err) == (0, "")
    page = tmp_path / "report.html"
    assert command("report", stored, "-o", page).code == 0
    assert "numpy@2.4.6" in page.read_text()


@pytest.mark.parametrize("form", ["csv", "parquet", "archive"])
def test_it_is_exported(stored: Path, tmp_path: Path, command: Command, form: str) -> None:
    out = tmp_path / ("exported.dlbench" if form == "archive" else "exported")
    assert command("export", stored, "--format", form, "-o", out).code == 0
    assert out.exists()
