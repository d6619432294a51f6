"""A contender with a confound: marked wherever it is shown, and never ranked, however fast."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import dlbench
from dlbench import report
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

MARK = "c@1 +no-dropout"
CELLS = [
    Cell("a@1", around(1.0), metrics={"accuracy": 0.9}),
    Cell("b@1", around(1.5), metrics={"accuracy": 0.8}),
    # a file may say what it likes of its certificate
    Cell("c@1", around(0.1), metrics={"accuracy": 0.99}, confounds=("no-dropout",)),
    Cell("c@1", around(1.2), metrics={"accuracy": 0.85}),
]
"""The altered one is the fastest and the best."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write(tmp_path / "c", CELLS)


def test_show_ranks_the_others_and_marks_it(campaign: Path, command: Command) -> None:
    said = command("show", campaign)
    assert "a@1 is the fastest on digits-cnn" in said.out
    assert f"{MARK} is altered on purpose: shown apart, never ranked." in said.out
    assert "Every other model was proven equal" in said.out
    (row,) = (line for line in said.out.splitlines() if line.startswith(MARK + "  "))
    assert row.rstrip().endswith("altered on purpose") and " - " in row
    assert "not certified" not in said.out and "uncertified" not in said.out
    for word in ("is the fastest", "is fastest", "is best", "leads", "was the quickest"):
        assert f"{MARK} {word}" not in said.out


def test_compare_sets_it_apart_on_every_metric(campaign: Path, command: Command) -> None:
    for metric in ("time", "accuracy"):
        said = command("compare", campaign, "--metric", metric)
        assert f"{MARK} is not ranked: altered on purpose." in said.out
        assert f"{MARK} is fastest" not in said.out and f"{MARK} is best" not in said.out
    pairs = dlbench.open(campaign).compare("time").pairs()
    with_it = pairs.filter((pairs["first"] == MARK) | (pairs["second"] == MARK))
    assert set(with_it["verdict"]) == {"not comparable"} and len(with_it) == 3
    whole = command("compare", campaign, "--json").json
    text = json.dumps(whole)
    assert MARK in text and "altered on purpose" in text


def test_alone_nobody_is_ranked(tmp_path: Path, command: Command) -> None:
    only = write(tmp_path / "c", [Cell("a@1", around(1.0), confounds=("no-dropout",)),
                                  Cell("b@1", around(2.0), confounds=("no-dropout",))])  # fmt: skip
    said = command("show", only)
    assert "Every contender on digits-cnn is altered on purpose, so none is ranked." in said.out
    assert "proven equal" not in said.out


def test_the_report_in_every_form(campaign: Path) -> None:
    material = report.load(campaign)
    page, text, paper = report.html(material), report.markdown(material), report.latex(material)
    for form in (page, text, paper):
        assert "altered on purpose" in form
        assert "a@1 is the fastest" in form and "+no-dropout is the fastest" not in form
    (row,) = (line for line in text.splitlines() if line.startswith("| c@1 +no-dropout"))
    assert row.endswith("| ok, altered on purpose |")
    assert "no: altered on purpose" in page
    assert "--confound no-dropout" in page, "the command that runs it again"


def test_tables_archives_and_merged_campaigns_keep_the_mark(
    campaign: Path, tmp_path: Path, command: Command
) -> None:
    trials = dlbench.open(campaign).trials()
    marked = trials.filter(trials["confounds"] == "no-dropout")
    assert len(marked) == 10 and not marked["certified"].any()
    other = write(tmp_path / "two", CELLS[:2], machine="ccccccccdddddddd", name="two")
    command("export", campaign, "--format", "archive", "-o", tmp_path / "a")
    command("merge", tmp_path / "a.dlbench", other, "-o", tmp_path / "both")
    merged = dlbench.open(tmp_path / "both")
    assert merged.trials()["confounds"].to_list().count("no-dropout") == 10
    groups = merged.compare("time").groups()
    (apart,) = groups.filter(groups["group"].str.starts_with(MARK))["set_apart"]
    assert apart == "altered on purpose"
    command("export", campaign, "--format", "csv", "-o", tmp_path / "csv")
    with (tmp_path / "csv" / "trials.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["confounds"]]
    assert len(rows) == 10 and {row["certified"] for row in rows} == {"false"}
    assert all("altered on purpose (no-dropout)" in row["notes"] for row in rows)
    command("export", campaign, "--format", "mlflow", "-o", tmp_path / "mlflow")
    tags = [path.read_text() for path in (tmp_path / "mlflow").rglob("tags/*confounds")]
    assert tags.count("no-dropout") == 10


def test_a_result_that_hides_what_was_planned_is_marked_all_the_same(campaign: Path) -> None:
    for path in campaign.glob("trials/*/trial.json"):
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "confounds": [], "certified": True}))
    trials = dlbench.open(campaign).trials()
    assert trials["confounds"].to_list().count("no-dropout") == 10
    assert not trials.filter(trials["confounds"] != "")["certified"].any()


def test_only_the_altered_ones_or_only_the_others(campaign: Path, command: Command) -> None:
    altered = command("show", campaign, "--only", "confounds=no-dropout", "--json").json
    assert {tuple(trial["confounds"]) for trial in altered["trials"]} == {("no-dropout",)}
    others = command("show", campaign, "--only", "confounds=none", "--json").json
    assert len(others["trials"]) == 30
    assert {tuple(trial["confounds"]) for trial in others["trials"]} == {()}


def test_a_gate_does_not_see_it(campaign: Path, tmp_path: Path, command: Command) -> None:
    """It is neither a regression of its release nor a reason to call the gate broken."""
    slow = ["--fail-if", "train_s > 1.05"]
    again = write(tmp_path / "again", CELLS, name="again")
    same = command("compare", again, "--baseline", campaign, *slow)
    assert same.code == 0 and MARK not in same.out
    inside = command("compare", campaign, "--against", "c@1", *slow, "--json")
    assert "+no-dropout" not in inside.out
    only = write(tmp_path / "only", CELLS[2:3], name="only")
    refused = command("compare", only, "--baseline", campaign, *slow)
    assert refused.code == 2 and "nothing in common" in refused.err


def test_a_baseline_may_not_be_altered(campaign: Path, command: Command) -> None:
    said = command("compare", campaign, "--against", MARK, "--fail-if", "train_s > 1.05")
    assert said.code not in (0, 1)
