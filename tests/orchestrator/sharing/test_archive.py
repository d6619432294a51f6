"""An archive holds what was measured, and nothing that must not leave."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import dlbench
from dlbench.errors import UserError
from dlbench.sharing.archive import write_archive
from tests.orchestrator.analysis.campaigns import TWO, write
from tests.orchestrator.command import Command


def test_an_archive_holds_the_campaign(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", TWO)
    trial = next((folder / "trials").iterdir())
    np.savez(trial / "out" / "weights.npz", kernel=np.ones(3))
    (trial / "out" / "link.npz").symlink_to("/etc/passwd")
    said = command("export", folder, "--format", "archive", "-o", tmp_path / "c.dlbench")
    assert said.code == 0
    packed, own = dlbench.open(tmp_path / "c.dlbench"), dlbench.open(folder)
    assert packed.trials().equals(own.trials())
    assert packed.steps().equals(own.steps())
    assert packed.trial(trial.name).weights()["kernel"].tolist() == [1.0, 1.0, 1.0]
    assert "a@1" in command("show", tmp_path / "c.dlbench").out
    assert "faster than b@1" in command("compare", tmp_path / "c.dlbench", "--metric", "time").out
    with zipfile.ZipFile(tmp_path / "c.dlbench") as archive:
        assert not any("link" in name for name in archive.namelist())


def test_equal_campaigns_give_equal_archives(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", TWO)
    write_archive(folder, tmp_path / "one.dlbench")
    write_archive(folder, tmp_path / "two.dlbench")
    assert (tmp_path / "one.dlbench").read_bytes() == (tmp_path / "two.dlbench").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        write_archive(folder, tmp_path / "one.dlbench")


def test_an_archive_is_shown_under_its_own_name(tmp_path: Path, command: Command) -> None:
    write_archive(write(tmp_path / "c", TWO), tmp_path / "c.dlbench")
    assert f"Results: {tmp_path / 'c.dlbench'}" in command("show", tmp_path / "c.dlbench").out
    found = command("show", tmp_path / "c.dlbench", "--json").json
    assert found["folder"] == str(tmp_path / "c.dlbench")
