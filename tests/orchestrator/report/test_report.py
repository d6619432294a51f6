"""What the report says, in whichever format, and the command that makes it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlbench import report
from dlbench.analysis.metrics import PEAK_MEMORY, TRAINING, Metric
from dlbench.campaigns.folder import Campaign
from dlbench.cli import main
from dlbench.errors import UserError
from dlbench.report.answer import answer
from dlbench.report.beside_numbers import cautions_of, of_case
from dlbench.report.charts.convergence import convergence
from dlbench.report.matrix import Cell, matrices, parts, said
from dlbench.report.pairs import comparisons
from dlbench.report.presets import presets
from dlbench.report.records import failures, group_records, trial_table
from dlbench.report.tables import inert, packed
from dlbench.sharing.archive import write_archive
from dlbench.sharing.merge import merge
from tests.orchestrator.report.attack import HOSTILE, SHOWN


@pytest.fixture(scope="session")
def material(campaign: Path) -> report.Material:
    return report.load(campaign)


@pytest.fixture(scope="session")
def decided(many_repeats: Path) -> report.Material:
    return report.load(many_repeats)


def _dlbench(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["dlbench", *map(str, words)])
    return main()


def test_three_repeats_are_never_called_a_proof(material: report.Material) -> None:
    said = answer(material)
    assert "too few runs" in said.headline
    assert any("of 300 trials complete" in text for text in said.summary)


def _cells(material: report.Material, metric: Metric) -> dict[tuple[str, str], Cell]:
    table = next(m for m in matrices(material) if m.title == metric.title)
    return {
        (row.contender, column.title): cell
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    }


def test_an_uncertified_contender_is_shown_apart_and_never_ranked(
    material: report.Material,
) -> None:
    refused = [group for group in material.groups if group.proof == "no"]
    assert refused, "the generator makes one"
    for group in refused:
        cell = _cells(material, TRAINING)[group.name, group.case]
        assert cell.main == "not certified" and cell.state == "apart"
        assert material.best(group, TRAINING) is None


def test_each_case_has_one_best_and_the_others_are_multiples_of_it(
    material: report.Material,
) -> None:
    cells = _cells(material, TRAINING)
    for case in material.cases:
        medians = {
            group.name: time.middle
            for group in case.groups
            if group.certified and (time := material.estimate(group, TRAINING)) is not None
        }
        best = min(medians, key=lambda name: medians[name])
        own = {name: cells[name, case.label] for name in medians}
        first = {name: cell for name, cell in own.items() if cell.state in ("best", "ahead")}
        assert list(first) == [best]
        assert "best so far" in first[best].details, "three runs show nothing"
        for name, cell in own.items():
            if name != best:
                size = float(cell.details[0].partition("×")[0])
                assert size == pytest.approx(medians[name] / medians[best], abs=0.006)


def test_best_is_only_what_is_shown_to_be_better(decided: report.Material) -> None:
    cells = _cells(decided, TRAINING)
    seen = set()
    for case in decided.cases:
        comparison = decided.comparison(case.label, TRAINING)
        assert comparison is not None
        best = comparison.ranking[0]
        cell, rivals = (
            cells[best, case.label],
            [v for v in comparison.tested if best in (v.first, v.second)],
        )
        shown = any(v.different and v.won_by(best) for v in rivals)
        words = ("best", "best") if shown else ("ahead", "best so far")
        assert (cell.state, cell.details[-1]) == (words if rivals else ("alone", "no rival"))
        seen.add(cell.state)
    assert "best" in seen


def test_an_interval_stands_beside_what_it_is_of(decided: report.Material) -> None:
    """Seconds never stand beside the interval of a ratio."""
    for metric in decided.metrics:
        for cell in _cells(decided, metric).values():
            for text in (cell.main, *cell.details):
                if metric.unit and text.endswith(metric.unit):
                    assert "[" not in text
            if cell.state == "best" and cell.details[0]:  # a single run has no interval
                value, around = float(cell.main.split()[0].replace(",", "")), cell.details[0]
                low, high = (float(x.replace(",", "")) for x in around[1:-1].split(", "))
                assert low <= value <= high
            elif cell.main.endswith((metric.kind.better, metric.kind.worse)):
                size = float(re.split("[× ]", cell.main)[0])
                low, high = (float(x) for x in cell.details[0][1:-1].split(", "))
                assert low <= size <= high


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
    columns = {"x": [1.0, float("nan"), float("inf"), None], "y": ["a", None, "a", "b"]}
    assert packed(columns) == {
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


def _changed(campaign: Path, change: Callable[[dict[str, Any]], None]) -> report.Material:
    for path in campaign.glob("trials/*/trial.json"):
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
    return report.load(campaign)


def test_what_the_page_holds_of_a_pair_is_what_compare_says(decided: report.Material) -> None:
    names = list(decided.contenders)
    metrics = {metric["id"]: metric for metric in comparisons(decided).metrics}
    for metric in (TRAINING, PEAK_MEMORY):
        pairs = metrics[metric.column]["pairs"]
        words = pairs["decision"]["words"]
        held = {
            (decided.cases[case].label, names[first], names[second]): (words[code], estimate)
            for case, first, second, code, estimate in zip(
                pairs["case"], pairs["first"], pairs["second"], pairs["decision"]["rows"],
                pairs["estimate"], strict=True,
            )
        }  # fmt: skip
        said = decided.results.compare(metric.column, stability=False)
        for case in said.cases:
            for verdict in case.comparison.tested:
                decision, estimate = held.pop((case.case.label, verdict.first, verdict.second))
                assert decision == verdict.decision.value
                assert verdict.effect is not None
                assert estimate == pytest.approx(verdict.effect.estimate, rel=1e-5)
        assert not held


def test_where_pairs_are_too_many_the_page_says_who_can_be_the_baseline(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlbench.report.material._MOST_PAIRS", 100)
    material = report.load(campaign)
    held = comparisons(material)
    names = [list(material.contenders)[i] for i in held.baselines]
    assert 0 < len(names) < len(material.contenders)
    assert all(name in held.note for name in names)
    for metric in held.metrics:
        pairs = metric["pairs"]
        if metric["tested"]:
            for first, second in zip(pairs["first"], pairs["second"], strict=True):
                assert first in held.baselines or second in held.baselines
    assert {metric["id"] for metric in held.metrics if metric["tested"]} == {"train_s", "accuracy"}
    assert held.note.split(":")[0] in report.html(material)


def test_presets_are_those_that_choose_something(material: report.Material) -> None:
    names = list(material.contenders)
    found = {preset["name"]: preset for preset in presets(material)}
    assert next(iter(found)) == "Everything"
    newest = {names[i] for i in found["Newest of each"]["contenders"]}
    assert newest == {"jax@0.12.0.1", "mxnet@1.9.1", "pytorch@2.13.0", "tensorflow@2.21.0"}
    assert [names[i] for i in found["Releases of pytorch"]["contenders"]] == [
        "pytorch@1.13.1", "pytorch@2.0.1", "pytorch@2.4.0", "pytorch@2.13.0",
    ]  # fmt: skip
    assert "Releases of jax" not in found, "there is one"
    on_gpu = [material.cases[i].label for i in found["GPU only"]["cases"]]
    assert on_gpu and all(label.endswith("(gpu)") for label in on_gpu)


def test_tables_are_no_wider_than_a_page(material: report.Material) -> None:
    for matrix in matrices(material):
        found = parts(matrix)
        assert max(len(part.columns) for part in found) <= 5
        assert [c for part in found for c in part.columns] == list(matrix.columns)
        for part in found:
            assert all(len(row.cells) == len(part.columns) for row in part.rows)


def test_the_circumstances_stand_beside_the_numbers(copy: Path) -> None:
    about = json.loads((copy / "campaign.json").read_text())
    about["machine"]["load_average"] = 15.0
    (copy / "campaign.json").write_text(json.dumps(about))

    def cut(content: dict[str, Any]) -> None:
        content["scale"] |= {"steps": 40, "threads": 3, "cpus": 2.0}

    material = _changed(copy, cut)
    said = of_case(material, material.cases[0])
    assert said == "synthetic data, 40 steps, batch 64, 3 threads, 2 cores allowed, busy machine"
    before = " ".join(cautions_of(material))
    assert "synthetic" in before and "cut to 40 steps" in before and "was busy" in before
    for text in (report.html(material), report.markdown(material), report.latex(material)):
        assert said in text
        assert all(sentence.split(":")[0] in text for sentence in cautions_of(material))


def test_failures_are_counted_beside_every_number_and_above_all(copy: Path) -> None:
    whom = {"release": "pytorch@2.0.1", "workload": "mnist-cnn", "device": "cpu"}
    seen = []

    def fail(content: dict[str, Any]) -> None:
        if all(content[key] == value for key, value in whom.items()):
            seen.append(content["id"])
            if len(seen) == 1:
                content |= {"outcome": "timeout", "reason": "It did not end.", "metrics": {}}

    material = _changed(copy, fail)
    lost = "1 of 3 failed"
    for metric in material.metrics:
        cell = _cells(material, metric)["pytorch@2.0.1", "mnist-cnn"]
        assert cell.lost == lost or cell.state == "empty"
    told = " ".join(answer(material).summary)
    assert f"pytorch@2.0.1 on mnist-cnn ({lost})" in told


def test_a_contender_that_lost_by_its_failures_is_not_called_slower_by_a_ratio_below_one(
    many_repeats: Path, tmp_path: Path
) -> None:
    """15 of 20 fail, the others are the quickest: slower all the same, by no factor."""
    campaign = Path(shutil.copytree(many_repeats, tmp_path / "campaign"))

    def fail(content: dict[str, Any]) -> None:
        whom = (content["release"], content["workload"])
        if whom == ("jax@0.12.0.1", "mnist-cnn") and content["seed"] > 5:
            content |= {"outcome": "oom", "reason": "No memory.", "metrics": {}}

    material = _changed(campaign, fail)
    group = next(g for g in material.groups if (g.name, g.case) == ("jax@0.12.0.1", "mnist-cnn"))
    relation = material.relation(group, "pytorch@2.0.1", TRAINING)
    assert relation is not None and relation.by_failures
    assert relation.estimate is not None and relation.estimate < 1
    main, detail = said(relation, TRAINING, tested=True)
    assert main == "slower"
    assert detail.startswith("0.8") and detail.endswith("of those that finished")
    assert _cells(material, TRAINING)[group.name, group.case].lost == "15 of 20 failed"
    assert "runs failed" in answer(material).headline


def test_one_epoch_is_no_curve(copy: Path) -> None:
    def shorten(content: dict[str, Any]) -> None:
        content["curve"] = content["curve"][:1]
        content["scale"]["epochs"] = 1

    chart, said = convergence(_changed(copy, shorten))
    assert chart is None
    assert said == ["No curves: every trial ran for one epoch. Its values are under Quality."]


def test_of_cases_with_one_epoch_only_the_curves_are_left_out(copy: Path) -> None:
    def shorten(content: dict[str, Any]) -> None:
        if content["workload"] == "mnist-cnn":
            content["curve"] = content["curve"][:1]

    chart, said = convergence(_changed(copy, shorten))
    assert chart is not None
    assert "mnist-cnn" not in chart.columns["case"]
    assert said[0].startswith("No curves on mnist-cnn and mnist-cnn (gpu): ")


def test_every_cell_leads_to_its_trials_certificate_lock_and_command(
    material: report.Material,
) -> None:
    kept = group_records(material)
    table = trial_table(material)
    assert sorted(table["trial"]) == sorted(material.results.trials()["id"])
    for cells in (_cells(material, metric).values() for metric in material.metrics):
        for cell in cells:
            assert cell.group is not None
            record, group = kept[cell.group], material.groups[cell.group]
            assert (record.contender, record.case) == (group.name, group.case)
            assert record.lock.startswith(group.rows[0]["lock"])
            assert record.key == group.rows[0]["certificate"]
            words = shlex.split(record.command)
            assert words[words.index("--workload") + 1] == group.rows[0]["workload"]
            assert words[words.index("--repeats") + 1] == "3"
