"""Tables for other programs: what arrives is what was measured, less what must not leave."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

import dlbench
from tests.orchestrator.analysis.campaigns import TWO, Cell, around, write
from tests.orchestrator.command import Command


def test_nothing_secret_leaves(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("UPLOAD_TOKEN", "tok-1234567890")
    bad = "File /home/somebody/x.py: tok-1234567890 password=hunter22"
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0), reason=bad, log=bad)])
    assert command("export", folder, "--format", "archive", "-o", tmp_path / "a").code == 0
    for form in ("csv", "json", "parquet", "mlflow"):
        assert command("export", folder, "--format", form, "-o", tmp_path / form).code == 0
    with zipfile.ZipFile(tmp_path / "a.dlbench") as archive:
        leaving = [archive.read(name) for name in archive.namelist()]
    leaving += [p.read_bytes() for form in ("csv", "json", "mlflow")
                for p in (tmp_path / form).rglob("*") if p.is_file()]  # fmt: skip
    leaving.append(
        str(pl.read_parquet(tmp_path / "parquet" / "trials.parquet")["reason"][0]).encode()
    )
    assert any(b"[removed]" in content for content in leaving)
    for content in leaving:
        for secret in (b"somebody", b"tok-1234567890", b"hunter22"):
            assert secret not in content


def test_tables_come_back_as_they_were(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", TWO)
    results = dlbench.open(folder)
    said = command("export", folder, "--format", "parquet", "-o", tmp_path / "p", "--json")
    assert said.json["rows"]["trials"] == 20
    for name in ("trials", "curves", "steps", "samples", "phases"):
        exported = pl.read_parquet(tmp_path / "p" / f"{name}.parquet")
        if name == "trials":
            assert exported["notes"].null_count() == exported.height, "nothing weakens these"
            exported = exported.drop("notes")
        assert exported.equals(getattr(results, name)())
    command("export", folder, "--format", "csv", "-o", tmp_path / "csv")
    rows = list(csv.DictReader((tmp_path / "csv" / "trials.csv").open()))
    assert [row["id"] for row in rows] == results.trials()["id"].to_list()
    command("export", folder, "--format", "json", "-o", tmp_path / "json")
    assert len(json.loads((tmp_path / "json" / "steps.json").read_text())) == results.steps().height
    meanings = json.loads((tmp_path / "csv" / "columns.json").read_text())
    assert {*results.trials().columns, "notes"} <= set(meanings["trials"])


def test_a_cell_is_no_formula(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0], reason='=HYPERLINK("x")')])
    command("export", folder, "--format", "csv", "-o", tmp_path / "csv")
    row = next(csv.DictReader((tmp_path / "csv" / "trials.csv").open()))
    assert row["reason"] == '\'=HYPERLINK("x")'


def test_nothing_is_written_over(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", TWO)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    for arguments in (
        ("export", folder, "--format", "csv", "-o", tmp_path / "full"),
        ("merge", folder, folder, "-o", tmp_path / "full"),
    ):
        said = command(*arguments)
        assert said.code == 2
        assert "is not empty" in said.err
    assert (tmp_path / "full" / "mine").read_text() == "x"
