"""Sweeps in results: compared within a point, never across; named everywhere; drawn as lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.analysis.circumstances import cautions_of, circumstances, group_notes
from dlbench.analysis.groups import cases_of
from dlbench.analysis.results import open_results
from dlbench.analysis.scaling import lines_of, sentences
from dlbench.analysis.selection import only
from dlbench.campaigns.outcomes import Outcome
from dlbench.errors import UserError
from dlbench.report.charts.scaling import scaling
from dlbench.report.material import load
from dlbench.sharing.merge import merge
from tests.orchestrator.analysis.campaigns import Cell, around, write


def swept(release: str, field: str, times: dict[float, float], **more: object) -> list[Cell]:
    """A contender at each value of a field: the training time, and the rows a second."""
    return [
        Cell(release, around(seconds), point=f"{field}={value:g}", changes=(f"{field}={value:g}",),
             metrics={"throughput": value / seconds}, **more)  # type: ignore[arg-type]
        for value, seconds in times.items()
    ]  # fmt: skip


BATCHES = [*swept("a@1", "batch", {8: 1.0, 128: 4.0}), *swept("b@1", "batch", {8: 2.0, 128: 2.0})]


def test_contenders_are_compared_within_each_point_and_never_across(tmp_path: Path) -> None:
    results = open_results(write(tmp_path / "c", BATCHES))
    comparison = results.compare("train_s")
    assert [case.case.label for case in comparison.cases] == [
        "digits-cnn (batch=8)", "digits-cnn (batch=128)",
    ]  # fmt: skip
    leaders = {c.case.label: c.comparison.ranking for c in comparison.cases}
    assert leaders["digits-cnn (batch=8)"] == ("a@1", "b@1")
    assert leaders["digits-cnn (batch=128)"] == ("b@1", "a@1")
    assert "digits-cnn (batch=8): a@1 is fastest" in comparison.sentence
    assert comparison.across == (), "points of one workload are not several workloads"
    assert set(results.trials()["point"]) == {"batch=8", "batch=128"}


def test_points_are_chosen_with_only(tmp_path: Path) -> None:
    grid = [Cell("a@1", [1.0], point=f"batch={b} threads={t}") for b in (8, 128) for t in (1, 2)]
    results = open_results(write(tmp_path / "c", grid))
    assert len(only(results, "point=batch=8").trials()) == 2
    assert set(only(results, "point=threads=2 batch=8").trials()["point"]) == {"batch=8 threads=2"}
    assert len(only(results, "point=batch=8,point=batch=128").trials()) == 4
    with pytest.raises(UserError, match=r"There are point: batch=128 threads=1, .*threads=2"):
        only(results, "point=batch=9")


def test_merged_campaigns_keep_their_points(tmp_path: Path) -> None:
    first = write(tmp_path / "a", BATCHES)
    second = write(tmp_path / "b", BATCHES, machine="cccccccc", name="two", day="2026-11-17")
    merge([first, second], tmp_path / "c")
    cases = cases_of(open_results(tmp_path / "c").trials(), "release")
    assert [case.label for case in cases] == ["digits-cnn (batch=8)", "digits-cnn (batch=128)"]
    assert all(len(case.groups) == 4 for case in cases), "two machines are not one"


def test_other_recipes_and_other_rows_are_not_compared(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", around(1.0)),
        Cell("b@1", around(2.0), changes=("optimizer.lr=0.5", "batch=32")),
        Cell("c@1", around(3.0), rows=600, scale="0.01"),
    ]
    results = open_results(write(tmp_path / "c", cells))
    (case,) = results.compare("train_s").cases
    assert not case.comparison.tested
    scales = {group.name: group.conditions.scale for group in case.case.groups}
    assert scales["b@1"].endswith("batch 32, optimizer.lr=0.5")
    assert scales["c@1"].endswith("batch 32, 600 rows")
    by_name = {group.name: group for group in case.case.groups}
    assert circumstances([by_name["c@1"]])[-1] == "600 training and 600 test rows, scale 0.01"
    assert "optimizer.lr=0.5" in circumstances([by_name["b@1"]])
    assert list(group_notes(by_name["c@1"])) == ["600 training and 600 test rows"]
    assert list(cautions_of([by_name["c@1"]])) == [
        "Only 600 training and 600 test rows were used: qualities are not those of a whole"
        " training."
    ]


def test_how_cost_grows_is_said_in_one_sentence(tmp_path: Path) -> None:
    cases = load(write(tmp_path / "c", BATCHES)).cases
    (said,) = sentences(lines_of(cases))
    assert said == (
        "digits-cnn: from batch 8 to 128 the time a row falls 4 times in a@1 and 16 times in b@1;"
        " the peak memory stays about the same in a@1 and b@1. (Medians; not tested.)"
    )


def test_what_is_not_the_batch_is_told_by_training_time(tmp_path: Path) -> None:
    cells = [*swept("a@1", "threads", {1: 4.0, 2: 2.5}), *swept("b@1", "threads", {1: 1, 2: 3})]
    (said,) = sentences(lines_of(load(write(tmp_path / "c", cells)).cases))
    assert "from threads 1 to 2 the training time falls 1.6 times in a@1, and grows 3 times" in said


def test_who_came_less_far_is_told_of_up_to_there(tmp_path: Path) -> None:
    failed = Cell("b@1", [1.0], point="batch=128", outcome=Outcome.OOM)
    cells = [
        *swept("a@1", "batch", {8: 1.0, 32: 2.0, 128: 4.0}),
        *swept("b@1", "batch", {8: 1.0, 32: 1.0}), failed,
    ]  # fmt: skip
    said = list(sentences(lines_of(load(write(tmp_path / "c", cells)).cases)))
    assert "from batch 8 to 128 the time a row falls 4 times in a@1;" in said[0]
    assert "from batch 8 to 32 the time a row falls 4 times in b@1;" in said[1]


def test_the_chart_has_a_line_for_every_contender_and_field(tmp_path: Path) -> None:
    grid = [
        Cell("a@1", around(b * t), point=f"batch={b} threads={t} optimizer.name=sgd")
        for b in (8, 128) for t in (1, 2)
    ]  # fmt: skip
    alone = [Cell("b@1", around(1.0), point="batch=8 threads=1 optimizer.name=sgd")]
    refused = swept("c@1", "batch", {8: 1.0, 128: 2.0}, certified=False)
    material = load(write(tmp_path / "c", [*grid, *alone, *refused]))
    lines = lines_of(material.cases)
    assert {(line.family, line.field, line.contender) for line in lines} == {
        ("digits-cnn (threads=1 optimizer.name=sgd)", "batch", "a@1"),
        ("digits-cnn (threads=2 optimizer.name=sgd)", "batch", "a@1"),
        ("digits-cnn (batch=8 optimizer.name=sgd)", "threads", "a@1"),
        ("digits-cnn (batch=128 optimizer.name=sgd)", "threads", "a@1"),
    }, "one value is no line, a word no place on an axis, an unproven model no contender"
    chart, said = scaling(material)
    assert chart is not None
    assert chart.drawing == "scaling"
    assert len(said) == 4
    assert set(chart.columns["metric"]) == {"Training time", "Peak memory"}
    rows = dict(zip(chart.columns["case"], chart.columns["value"], strict=True))
    assert len(rows) == 4


@pytest.mark.parametrize(
    "point", ["batch", "=", "batch=nan", "batch=inf", "batch=1e400", "x=1 y", "batch=8 batch=8"]
)
def test_a_strangers_point_breaks_nothing(tmp_path: Path, point: str) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0), point=point)])
    material = load(folder)
    assert scaling(material) == (None, [])
    assert material.cases[0].label == f"digits-cnn ({point})"


def test_without_a_sweep_there_is_nothing_to_draw(tmp_path: Path) -> None:
    assert scaling(load(write(tmp_path / "c", [Cell("a@1", around(1.0))]))) == (None, [])
