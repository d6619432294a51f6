"""`dlbench compare` on campaigns with known differences: exact words, and only fair rankings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dlbench
from dlbench.campaigns.outcomes import Outcome
from dlbench.errors import UserError
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command


def test_a_real_difference_is_said_with_factor_and_interval(
    tmp_path: Path, command: Command
) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0)), Cell("b@1", around(1.5))])
    said = command("compare", folder, "--metric", "time")
    assert said.code == 0
    assert "a@1 is fastest: faster than b@1 by a factor of 1.5" in said.out
    assert "10 runs of each can show a difference. Runs of the same round and seed" in said.out
    assert "p = " not in said.out
    verbose = command("compare", folder, "--metric", "time", "--verbose")
    assert "a@1, b@1: signed ranks, 10 runs of each: p = 0.002" in verbose.out
    assert "The least p that 10 runs of each can reach is 0.00195; needed: 0.05." in verbose.out
    pair = dlbench.open(folder).compare("time").pairs().row(0, named=True)
    assert pair["verdict"] == "better"
    assert pair["estimate"] == pytest.approx(1 / 1.5)
    assert pair["p"] == pytest.approx(2 / 2**10)


def test_too_few_runs_is_not_no_difference(tmp_path: Path, command: Command) -> None:
    few = write(tmp_path / "few", [Cell("a@1", around(1.0, 4)), Cell("b@1", around(1.5, 4))])
    said = command("compare", few, "--metric", "time")
    assert "4 runs of each cannot show any difference: 5 of each are needed." in said.out
    assert "range of 4 runs" in said.out and "95 % interval" not in said.out
    alike = [Cell("a@1", around(1.0)), Cell("b@1", around(1.0)[::-1])]
    said = command("compare", write(tmp_path / "alike", alike), "--metric", "time")
    assert "a@1 is not shown to differ from b@1" in said.out
    said = command("compare", tmp_path / "alike", "--metric", "time", "--margin", "1.05", "--json")
    assert said.json["comparisons"][0]["cases"][0]["pairs"][0]["verdict"] == "equivalent"


def test_holm_covers_the_family(tmp_path: Path) -> None:
    cells = [Cell(f"a@{i}", around(1.0 + 0.2 * i)) for i in range(6)]
    pairs = dlbench.open(write(tmp_path / "c", cells)).compare("time").pairs()
    assert pairs.height == 15
    assert pairs["p"].max() == pytest.approx(2 / 2**10)
    # The smallest of fifteen is multiplied by fifteen, and none may fall below it.
    assert pairs["p_holm"].to_list() == pytest.approx([15 * 2 / 2**10] * 15)


def test_uncertified_and_truncated_groups_are_set_apart_with_the_reason(
    tmp_path: Path, command: Command
) -> None:
    cells = [
        Cell("a@1", around(1.0)),
        Cell("b@1", around(1.5)),
        Cell("c@1", around(0.1), certified=False),
        Cell("d@1", around(0.1), certified=None),
        Cell("e@1", around(0.1), outcome=Outcome.TIMEOUT),
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time")
    assert "a@1 is fastest: faster than b@1" in said.out
    assert "c@1 and d@1 are not ranked: uncertified." in said.out
    assert "e@1 is not ranked: no run finished." in said.out
    assert "e@1: 10 of 10 trials did not complete (10 timeout)." in said.out
    comparison = dlbench.open(folder).compare("time").cases[0].comparison
    assert comparison.ranking == ("a@1", "b@1")


def test_other_machines_and_other_scales_are_kept_apart(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "one", [Cell("a@1", around(1.0)), Cell("b@1", around(1.5))])
    two = write(
        tmp_path / "two",
        [Cell("a@1", around(3.0)), Cell("b@1", around(2.0))],
        machine="ccccccccdddddddd",
        name="two",
    )
    said = command("compare", one, two, "--metric", "time")
    assert "a@1 (machine aaaaaa) is fastest: faster than b@1 (machine aaaaaa)" in said.out
    assert "b@1 (machine cccccc) is fastest: faster than a@1 (machine cccccc)" in said.out
    assert "These are not compared with each other: different machine." in said.out
    longer = write(tmp_path / "longer", [Cell("c@1", around(9.0), epochs=20)], name="longer")
    verdicts = dlbench.open(one, longer).compare("time").pairs()
    assert verdicts["verdict"].to_list().count("not comparable") == 2
    assert "different scale" in verdicts["sentence"].str.join(" ")[0]


def test_by_device_says_the_speed_up(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell(f"{name}@1", around(middle), device=device)
        for name in ("a", "b", "c")
        for device, middle in (("cpu", 8.0), ("gpu", 1.0))
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--by", "device", "--metric", "time")
    assert "gpu is faster than cpu by a factor of 8" in said.out
    pairs = dlbench.open(folder).compare("time", by="device").pairs()
    assert pairs["release"].to_list() == ["a@1", "b@1", "c@1"]
    # Three releases were asked about together: one family of tests.
    assert pairs["p_holm"].to_list() == pytest.approx([3 * 2 / 2**10] * 3)
    with pytest.raises(UserError, match="more than one engine"):
        dlbench.open(folder).compare("time", by="engine")


def test_variants_of_a_release_are_contenders(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", around(1.0), variant="eager"),
        Cell("a@1", around(2.0), variant="compiled"),
    ]
    results = dlbench.open(write(tmp_path / "c", cells))
    assert set(results.compare("time").groups()["group"]) == {"a@1:eager", "a@1:compiled"}
    assert set(results.compare("time", by="variant").groups()["group"]) == {"eager", "compiled"}


def test_accuracy_is_compared_by_difference_and_memory_by_ratio(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", around(0.9), metric="accuracy"),
        Cell("b@1", around(0.8), metric="accuracy"),
    ]
    results = dlbench.open(write(tmp_path / "c", cells))
    row = results.compare("accuracy").pairs().row(0, named=True)
    assert row["estimate"] == pytest.approx(0.1, abs=1e-3)
    assert "a@1 is better than b@1 by 9.99 percentage points [" in row["sentence"]
    assert results.compare("memory").metric.column == "peak_memory_bytes"
    with pytest.raises(UserError, match="describes a trial"):
        results.compare("seed")
    with pytest.raises(UserError, match="Did you mean 'accuracy'"):
        results.compare("acuracy")
    with pytest.raises(UserError, match="No trial has a mae"):
        results.compare("mae")


def test_what_weakens_a_number_stands_next_to_it(tmp_path: Path, command: Command) -> None:
    rng = np.random.default_rng(3)
    steady = np.round(10 * np.exp(rng.normal(0, 0.01, 400)), 4)
    throttled = steady.copy()
    throttled[200:] *= 1.4
    wild = around(1.5)
    wild[3] = 9.0
    cells = [
        Cell("a@1", around(1.0), metric="step_ms_median", steps_ms=throttled.tolist()),
        Cell("b@1", wild, metric="step_ms_median", steps_ms=steady.tolist()),
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "step_ms")
    assert "! a@1: throttling in 10 of 10 trials" in said.out
    assert re.search(r"From about step (19\d|20\d) of 400 on, steps take (38|39|40)", said.out)
    assert "! b@1: seed 4 (9) sticks out from the median" in said.out
    assert "b@1: throttling" not in said.out


def test_an_order_effect_is_found(tmp_path: Path) -> None:
    drifting = [[1.0 + 0.01 * turn + 0.001 * place for turn in range(20)] for place in range(3)]
    cells = [Cell(f"{name}@1", values) for name, values in zip("abc", drifting, strict=True)]
    case = dlbench.open(write(tmp_path / "c", cells)).compare("time").cases[0]
    assert any("from the first round to the last" in text for text in case.warnings)


def test_friedman_across_workloads(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell(f"{name}@1", around(middle * scale, 6), workload=f"w{scale}")
        for scale in (1, 2, 3, 4, 5, 6)
        for name, middle in (("a", 1.0), ("b", 1.5), ("c", 2.0))
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time", "--json").json["comparisons"][0]
    across = said["across"][0]
    assert across["mean_ranks"] == {"a@1": 1.0, "b@1": 2.0, "c@1": 3.0}
    assert across["workloads"] == 6
    # Demšar's table: q = 2.343 for three groups; 2.343 * sqrt(3 * 4 / (6 * 6)).
    assert across["critical_difference"] == pytest.approx(2.343 * np.sqrt(12 / 36), abs=2e-3)
    assert across["cliques"] == [["a@1", "b@1"], ["b@1", "c@1"]]
    assert "The groups differ across 6 workloads" in across["sentence"]


def test_a_change_along_the_releases_is_named(tmp_path: Path, command: Command) -> None:
    middles = {"a@1.9": 1.0, "a@1.10": 1.0, "a@2.0": 1.3, "a@2.1": 1.3}
    cells = [Cell(name, around(middle, 12)) for name, middle in middles.items()]
    said = command("compare", write(tmp_path / "c", cells), "--metric", "time")
    assert "history: a, a@1.9 to a@2.1: Since a@2.0 it is slower than a@1.9 to a@1.10" in said.out


def test_planned_power(tmp_path: Path, command: Command) -> None:
    rng = np.random.default_rng(5)
    values = [np.exp(rng.normal(0, 0.05, 10)).tolist() for _ in range(2)]
    cells = [Cell("a@1", values[0]), Cell("b@1", values[1])]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time", "--plan-power", "1.05")
    assert "plan: To see a difference of a factor of 1.05 with a chance of 80 %" in said.out
    assert command("compare", folder, "--plan-power", "1").code == 2


def test_a_regression_exits_with_1_and_says_why(tmp_path: Path, command: Command) -> None:
    old = write(tmp_path / "old", [Cell("a@1", around(1.0), metric="step_ms_median")])
    slow = write(tmp_path / "slow", [Cell("a@1", around(1.2), metric="step_ms_median")], name="n")
    same = write(tmp_path / "same", [Cell("a@1", around(1.01), metric="step_ms_median")], name="m")
    failed = command("compare", slow, "--baseline", old, "--fail-if", "step_ms > 1.05")
    assert failed.code == 1
    assert "REGRESSION: a@1 on digits-cnn: step_ms > 1.05 is met" in failed.out
    assert "the ratio to the baseline is 1.20" in failed.out
    passed = command("compare", same, "--baseline", old, "--fail-if", "step_ms > +5%")
    assert passed.code == 0
    assert "ok: a@1 on digits-cnn: step_ms > 1.05 is not met" in passed.out


def test_too_few_runs_are_undecided(tmp_path: Path, command: Command) -> None:
    old = write(tmp_path / "old", [Cell("a@1", around(1.0, 3))])
    new = write(tmp_path / "new", [Cell("a@1", around(1.5, 3))], name="n")
    said = command("compare", new, "--baseline", old, "--fail-if", "time > 1.05", "--json")
    assert said.code == said.json["exit_code"] == 3
    assert said.json["regressions"][0]["result"] == "too few runs"


def test_a_new_version_is_held_against_the_old_one(tmp_path: Path, command: Command) -> None:
    old = write(tmp_path / "old", [Cell("a@1.0", around(1.0))])
    new = write(tmp_path / "new", [Cell("a@1.1.dev7", around(1.3))], name="n")
    said = command("compare", new, "--baseline", old, "--fail-if", "time > 1.05")
    assert said.code == 1
    assert "a@1.1.dev7 (baseline a@1.0) on digits-cnn" in said.out


def test_a_baseline_that_proves_nothing_never_passes(tmp_path: Path, command: Command) -> None:
    new = write(tmp_path / "new", [Cell("a@1", around(1.0))])
    elsewhere = write(tmp_path / "else", [Cell("a@1", around(1.0))], machine="b" * 16, name="e")
    other = write(tmp_path / "other", [Cell("b@1", around(1.0))], name="o")
    for baseline, code, why in (
        (elsewhere, 3, "UNDECIDED: a@1 on digits-cnn: time > 1.05 cannot be checked: not comp"),
        (other, 4, "MISSING: a@1 on digits-cnn: time > 1.05 cannot be checked: the baseline does"),
    ):
        said = command("compare", new, "--baseline", baseline, "--fail-if", "time > 1.05")
        assert said.code == code
        assert why in said.out
    unlike = write(tmp_path / "u", [Cell("a@1", around(1.0), workload="mnist-cnn")], name="u")
    said = command("compare", new, "--baseline", unlike, "--fail-if", "time > 1.05")
    assert said.code == 2 and "nothing in common" in said.err
    assert command("compare", new, "--fail-if", "time > 1.05").code == 2
    assert command("compare", new, "--baseline", new, "--fail-if", "time >> 1").code == 2


def test_hostile_names_are_printed_as_they_are(tmp_path: Path, command: Command) -> None:
    cells = [Cell("[/bold]a@1", around(1.0)), Cell("[red]b@1", around(1.5))]
    said = command("compare", write(tmp_path / "c", cells), "--metric", "time")
    assert said.code == 0
    assert "[red]b@1" in said.out


@pytest.mark.parametrize("option", [("--alpha", "0"), ("--margin", "0.9"), ("--by", "colour")])
def test_impossible_options_are_refused(
    tmp_path: Path, command: Command, option: tuple[str, str]
) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0)), Cell("b@1", around(1.5))])
    said = command("compare", folder, "--metric", "time", *option)
    assert said.code == 2
    assert said.err.startswith("dlbench: ")


def test_show_ranks_what_compare_ranks(tmp_path: Path, command: Command) -> None:
    folder = write(
        tmp_path / "c",
        [
            Cell("a@1", around(1.0)),
            Cell("b@1", around(1.5)),
            Cell("c@1", around(0.5), certified=None),
            Cell("d@1", around(0.6), certified=False),
            Cell("a@1", around(0.1), device="gpu"),
            Cell("b@1", around(0.2), device="gpu"),
        ],
    )
    shown, compared = command("show", folder).out, command("compare", folder).out
    for sentence in (
        "a@1 is fastest: faster than b@1 by a factor of 1.50",
        "a@1 is fastest: faster than b@1 by a factor of 2.00",
        "c@1 and d@1 are not ranked: uncertified.",
    ):
        assert sentence in shown and sentence in compared
    rows = [line.split() for line in shown.splitlines() if line[1:].startswith("@1  ")]
    assert [row[0] for row in rows] == ["a@1", "b@1", "c@1", "d@1", "a@1", "b@1"]
    assert "ok, proof not made" in " ".join(rows[2]) and "ok, not certified" in " ".join(rows[3])
    assert "digits-cnn (gpu)" in shown


def test_what_a_terminal_would_obey_is_not_printed(tmp_path: Path, command: Command) -> None:
    folder = write(
        tmp_path / "c", [Cell("a@1", [1.0], outcome=Outcome.CRASHED, reason="\x1b[31mred [bold]")]
    )
    said = command("show", folder).out
    assert "[31mred [bold]" in said and "\x1b" not in said


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--margin", "nan"], "A margin of nan is not possible."),
        (["--plan-power", "inf"], "inf is not a difference to look for."),
        (["--metric", "qqqq"], "There is no metric 'qqqq'."),
        (["--alpha", "2"], "An alpha of 2 is not possible."),
    ],
)
def test_odd_options_get_a_sentence_and_a_remedy(
    tmp_path: Path, command: Command, options: list[str], problem: str
) -> None:
    said = command("compare", write(tmp_path / "c", [Cell("a@1", around(1.0))]), *options)
    first, second = said.err.splitlines()
    assert (said.code, first) == (2, f"dlbench: {problem}")
    assert second.strip()
