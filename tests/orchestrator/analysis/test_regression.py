"""The regression gate: what it says and how it exits, and that silence never passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.analysis.regression import check_regressions
from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.outcomes import Outcome
from dlbench.statistics.thresholds import ThresholdOutcome
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

CONDITION = ("--fail-if", "time > 1.05")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old", [Cell("a@1", around(1.0)), Cell("b@1", around(1.0))], name="old")


@pytest.mark.parametrize(
    ("cell", "code", "said"),
    [
        (Cell("b@1", around(1.0)), 0, "ok: b@1 on digits-cnn: time > 1.05 is not met"),
        (Cell("b@1", around(1.2)), 1, "REGRESSION: b@1 on digits-cnn: time > 1.05 is met"),
        (Cell("b@1", around(3.45, 3)), 3, "UNDECIDED: b@1 on digits-cnn: time > 1.05 cannot be"),
        (Cell("b@1", around(1.0), outcome=Outcome.CRASHED), 5, "the new runs: no run finished."),
        (Cell("b@1", around(1.0), certified=False), 5, "the new runs: uncertified."),
        (Cell("b@1", around(1.0), certified=None), 5, "the new runs: uncertified."),
        (Cell("b@2", around(1.0)), 0, "ok: b@2 (baseline b@1) on digits-cnn"),
        (None, 4, "MISSING: b@1 on digits-cnn: time > 1.05 cannot be checked: the new runs do"),
        (
            Cell("b@1", around(1.0), outcomes=[Outcome.OK] * 7 + [Outcome.OOM] * 3),
            3,
            "(failed: the new runs: 3 runs), which may be chance.",
        ),
    ],
)
def test_what_came_of_a_release(
    tmp_path: Path, command: Command, old: Path, cell: Cell | None, code: int, said: str
) -> None:
    cells = [Cell("a@1", around(1.0)), *([cell] if cell else [])]
    new = write(tmp_path / "new", cells, name="new", day="2026-11-18")
    printed = command("compare", new, "--baseline", old, *CONDITION)
    assert printed.code == code
    assert said in printed.out
    assert "ok: a@1 on digits-cnn" in printed.out
    again = command("compare", new, "--baseline", old, *CONDITION, "--json")
    assert again.json["exit_code"] == again.code == code


def test_a_further_condition_makes_nothing_pass(
    tmp_path: Path, command: Command, old: Path
) -> None:
    cells = [Cell("a@1", around(1.0)), Cell("b@1", around(1.2))]
    new = write(tmp_path / "new", cells, name="new")
    more = [x for i in range(8) for x in ("--fail-if", f"memory > 1.{i + 1}")]
    assert command("compare", new, "--baseline", old, *CONDITION).code == 1
    assert command("compare", new, "--baseline", old, *CONDITION, *more).code == 1


def test_the_day_is_said_and_what_to_do_about_it(
    tmp_path: Path, command: Command, old: Path
) -> None:
    cells = [Cell("a@1", around(1.2)), Cell("b@1", around(1.2))]
    new = write(tmp_path / "new", cells, name="new", day="2026-11-18")
    said = command("compare", new, "--baseline", old, *CONDITION)
    assert said.code == 1
    assert "Part of it may come from the day: not the same campaign." in said.out
    assert "`dlbench run --against RELEASE` puts it into the same rounds" in said.out


def test_two_releases_of_one_campaign(tmp_path: Path, command: Command) -> None:
    cells = [Cell("a@1", around(1.0)), Cell("a@2", around(1.2)), Cell("a@3", around(1.0))]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--against", "a@1", *CONDITION)
    assert said.code == 1
    assert "REGRESSION: a@2 (against a@1) on digits-cnn: time > 1.05 is met" in said.out
    assert "ok: a@3 (against a@1) on digits-cnn: time > 1.05 is not met" in said.out
    assert "Part of it may come from the day" not in said.out
    broken = [Cell("a@1", around(1.0)), Cell("a@2", around(1.0), outcome=Outcome.CRASHED)]
    folder = write(tmp_path / "broken", broken)
    assert command("compare", folder, "--against", "a@1", *CONDITION).code == 5
    unknown = command("compare", folder, "--against", "a@9", *CONDITION)
    assert unknown.code == 2 and "There is no contender 'a@9'." in unknown.err
    other = command("compare", folder, "--against", "a@1", "--fail-if", "mae > 0.1")
    assert other.code == 2 and "No trial has a mae." in other.err


def test_a_release_that_is_missing_on_one_workload(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell("a@1", around(1.0)),
        Cell("a@2", around(1.0)),
        Cell("a@2", around(1.0), workload="mnist-cnn"),
    ]
    said = command("compare", write(tmp_path / "c", cells), "--against", "a@1", *CONDITION)
    assert said.code == 4
    assert "a@2 (against a@1) on mnist-cnn: time > 1.05 cannot be checked: the baseline" in said.out


def test_options_that_do_not_fit_are_refused(tmp_path: Path, command: Command, old: Path) -> None:
    for options in (
        ("--against", "a@1"),
        CONDITION,
        ("--against", "a@1", "--baseline", str(old), *CONDITION),
        ("--against", "a@1", "--fail-if", "time > 105%"),
        ("--against", "a@1", "--fail-if", "time > 1e400"),
        ("--against", "a@1", "--fail-if", "accuracy < 0.9"),
        ("--against", "a@1", *CONDITION, "--alpha", "5"),
        ("--against", "a@1", *CONDITION, "--alpha", "nan"),
    ):
        assert command("compare", old, *options).code == 2


def test_a_metric_that_a_workload_does_not_have_is_not_missing(
    tmp_path: Path, command: Command
) -> None:
    def cells(level: float) -> list[Cell]:
        right = {"accuracy": level}
        return [Cell("a@1", around(1.0), metrics=right), Cell("a@1", around(1.0), workload="fc")]

    before = write(tmp_path / "before", cells(0.9), name="before")
    after = write(tmp_path / "after", cells(0.9), name="after", day="2026-11-18")
    said = command("compare", after, "--baseline", before, "--fail-if", "accuracy < -0.01")
    assert said.code == 0
    assert "on fc" not in said.out


def test_the_exit_codes_are_in_the_help(command: Command) -> None:
    said = " ".join(command("compare", "--help").out.replace("│", " ").split())
    for text in ("3, undecided", "4, missing", "5, broken", "2 is for mistakes"):
        assert text in said


def test_every_point_of_a_sweep_is_checked(tmp_path: Path) -> None:
    def swept(name: str, *middles: float) -> Results:
        cells = [
            Cell("a@1", around(middle, 6), point=f"batch={batch}", changes=[f"batch={batch}"])
            for batch, middle in zip((8, 32), middles, strict=False)
        ]
        return open_results(write(tmp_path / name, cells, name=name))

    old = swept("old", 1.0, 1.0)
    slower_at_one = check_regressions(swept("new", 1.0, 1.3), old, ["time > 1.05"])
    assert [r.outcome for r in slower_at_one] == [ThresholdOutcome.NOT_MET, ThresholdOutcome.MET]
    one_left_out = check_regressions(swept("less", 1.0), old, ["time > 1.05"])
    assert [r.outcome for r in one_left_out] == [
        ThresholdOutcome.NOT_MET,
        ThresholdOutcome.MISSING,
    ]


def test_every_condition_of_the_new_runs_is_checked(tmp_path: Path) -> None:
    def both(name: str, one: float, two: float) -> Results:
        cells = [
            Cell("a@1", around(one, 6), threads=1, seeds=range(1, 7)),
            Cell("a@1", around(two, 6), threads=2, seeds=range(11, 17)),
        ]
        return open_results(write(tmp_path / name, cells, name=name))

    checked = check_regressions(both("new", 2.0, 1.3), both("old", 2.0, 1.0), ["time > 1.05"])
    assert [result.outcome for result in checked] == [
        ThresholdOutcome.NOT_MET,
        ThresholdOutcome.MET,
    ]


def test_a_campaign_is_not_held_against_itself(command: Command, old: Path) -> None:
    said = command("compare", old, "--baseline", old, *CONDITION)
    assert said.code == 2 and "20 of 20 new runs are runs of the baseline, too." in said.err


def test_a_condition_that_no_regression_meets_is_told(
    tmp_path: Path, command: Command, old: Path
) -> None:
    cells = [Cell("a@1", around(1.0)), Cell("b@1", around(2.0))]
    new = write(tmp_path / "new", cells, name="new")
    told = "time < 0.95 is met by what gets better, never by a regression."
    assert told in command("compare", new, "--baseline", old, "--fail-if", "time < 0.95").out
    assert "never by" not in command("compare", new, "--baseline", old, *CONDITION).out
    asked = command("compare", new, "--baseline", old, "--fail-if", "time > 0.9")
    assert "never by" not in asked.out
