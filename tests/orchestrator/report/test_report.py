"""What the report says, in whichever format, and the command that makes it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dlbench import report
from dlbench.analysis.metrics import TRAINING
from dlbench.campaigns.folder import Campaign
from dlbench.cli import main
from dlbench.errors import UserError
from dlbench.report.answer import answer
from dlbench.report.matrix import matrices
from dlbench.report.records import failures
from dlbench.report.tables import Table, inert
from dlbench.sharing.archive import write_archive
from dlbench.sharing.merge import merge
from tests.orchestrator.report.attack import HOSTILE, SHOWN


@pytest.fixture(scope="session")
def material(campaign: Path) -> report.Material:
    return report.load(campaign)


def _dlbench(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["dlbench", *map(str, words)])
    return main()


def test_three_repeats_are_never_called_a_proof(material: report.Material) -> None:
    said = answer(material)
    assert "too few runs" in said.headline
    assert any("of 300 trials complete" in text for text in said.summary)


def test_an_uncertified_contender_is_shown_apart_and_never_ranked(
    material: report.Material,
) -> None:
    refused = [group for group in material.groups if group.proof == "no"]
    assert refused, "the generator makes one"
    times = next(m for m in matrices(material) if m.title == TRAINING.title)
    for group in refused:
        row = next(row for row in times.rows if row.contender == group.name)
        cell = row.cells[times.columns.index(group.case)]
        assert cell.main == "not certified" and cell.shade is None
        assert material.against_best(group, TRAINING) is None


def test_each_case_has_one_best_and_the_others_are_multiples_of_it(
    material: report.Material,
) -> None:
    times = next(m for m in matrices(material) if m.title == TRAINING.title)
    for column, case in enumerate(times.columns):
        cells = {row.contender: row.cells[column] for row in times.rows}
        best = [name for name, cell in cells.items() if cell.under == "best"]
        assert len(best) == 1
        medians = {
            group.name: time.middle
            for group in material.groups
            if group.case == case
            and (time := material.estimate(group, TRAINING)) is not None
            and group.certified
        }
        assert min(medians, key=lambda name: medians[name]) == best[0]
        for name, cell in cells.items():
            if cell.main.startswith("×"):
                ratio = medians[name] / medians[best[0]]
                assert float(cell.main[1:]) == pytest.approx(ratio, abs=0.25)


def test_a_failed_trial_is_told_with_reason_log_and_the_command_that_repeats_it(
    hostile: Path,
) -> None:
    material = report.load(hostile)
    failed = [row for group in material.groups for row in group.rows if row["outcome"] != "ok"]
    assert len(failed) >= 6
    told, more = failures(material)
    assert sum(failure.count for failure in told) == len(failed) and not more
    for failure in told:
        assert failure.reason == SHOWN and "onerror" in "".join(failure.log)
        trial = material.planned[failure.trial].trial
        words = shlex.split(failure.command)
        assert words[words.index("--framework") + 1] == f"{trial.release}:{trial.variant}"
        assert words[words.index("--seed") + 1] == str(trial.seed)


def test_the_html_names_no_other_host_and_needs_no_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*", markup)
    assert "default-src 'none'" in text
    assert "unsafe" not in text.split("</head>")[0]


def test_data_inside_scripts_can_not_end_them(hostile: Path) -> None:
    text = report.html(report.load(hostile))
    assert "<img src=x" not in text
    assert text.count("</script>") == text.count("<script")
    assert json.loads(inert(HOSTILE)) == HOSTILE
    assert not set("<>&\u2028\u2029") & set(inert(HOSTILE))


def test_numbers_that_are_none_become_null() -> None:
    table = Table({"x": [1.0, float("nan"), float("inf"), None], "y": ["a", None, "a", "b"]})
    assert table.packed() == {
        "x": [1, None, None, None],
        "y": {"words": ["a", "b"], "rows": [0, None, 0, 1]},
    }


@pytest.mark.parametrize(("format", "suffix"), [("markdown", ".md"), ("latex", ".tex")])
def test_text_formats_hold_answer_and_tables(
    campaign: Path, material: report.Material, tmp_path: Path, format: str, suffix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    target = tmp_path / f"answer{suffix}"
    assert _dlbench(monkeypatch, "report", campaign, "--format", format, "-o", target) == 0
    text = target.read_text(encoding="utf-8")
    assert answer(material).headline.split()[0] in text
    for contender in material.contenders:
        assert contender in text


def test_markdown_and_latex_keep_hostile_texts_as_texts(hostile: Path) -> None:
    material = report.load(hostile)
    markdown, _, _ = report.markdown(material).partition("## Command")  # what follows is code
    assert "img" in markdown and re.search(r"(?<!\\)<", markdown) is None
    latex = report.latex(material)
    assert "\\textless{}img" in latex and "<img" not in latex
    assert "\\$\\{1\\}" in latex and "${1}" not in latex


def test_the_command_says_where_it_put_the_report(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _dlbench(monkeypatch, "report", copy, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["file"]) == copy / "report.html"
    assert said["bytes"] == (copy / "report.html").stat().st_size
    assert said["trials"] == len(Campaign(copy).results())


def test_mistakes_are_two_sentences(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _dlbench(monkeypatch, "report", tmp_path / "nothing") == 2
    assert _dlbench(monkeypatch, "report", copy, "--format", "htlm") == 2
    assert "Did you mean 'html'?" in capsys.readouterr().err
    assert _dlbench(monkeypatch, "report", copy, "-o", tmp_path / "no" / "x.html") == 2
    for trial in Campaign(copy).trials():
        (copy / "trials" / trial.id / "trial.json").unlink()
    with pytest.raises(UserError, match="no trial that has ended"):
        report.load(copy)


def test_every_machine_of_a_merged_archive_is_described_and_kept_apart(
    campaign: Path, copy: Path, tmp_path: Path
) -> None:
    about = json.loads((copy / "campaign.json").read_text())
    about |= {"id": "another", "command": ["dlbench", "run", "--suite", "other"]}
    about["machine"] |= {"digest": "feedbeef01234567", "cpu_model": "Another Processor"}
    (copy / "campaign.json").write_text(json.dumps(about))
    for path in copy.glob("trials/*/trial.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"machine": "feedbeef01234567"}))
    merge([campaign, copy], tmp_path / "both")
    write_archive(tmp_path / "both", tmp_path / "both.dlbench")
    material = report.load(tmp_path / "both.dlbench")
    text = report.markdown(material)
    assert "Machine feedbe: 300 trials" in text and "Another Processor" in text
    assert "--suite other" in text
    assert "The machines" in report.html(material)
    assert len({group.conditions.machine for group in material.groups}) == 2
    for case in material.cases:
        compared = material.comparison(case.label, TRAINING)
        assert compared is not None
        machines = {group.name: group.conditions.machine for group in case.groups}
        assert all(machines[v.first] == machines[v.second] for v in compared.tested)


def test_a_report_of_an_archive_lies_beside_it(
    campaign: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_archive(campaign, tmp_path / "c.dlbench")
    assert _dlbench(monkeypatch, "report", tmp_path / "c.dlbench") == 0
    assert (tmp_path / "c.html").is_file()
    assert str(tmp_path / "c.html") in capsys.readouterr().out
