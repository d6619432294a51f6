"""Campaigns that once got a misleading answer, and what is said of them now."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dlbench
from dlbench.analysis.campaign_comparison import describe_case
from dlbench.campaigns.outcomes import Outcome
from dlbench.errors import UserError
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

OK, TIMEOUT = Outcome.OK, Outcome.TIMEOUT


def noisy(middle: float, n: int, seed: int, spread: float = 0.02) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, spread, n)
    return np.round(middle * np.exp(noise), 5).tolist()


def test_who_fails_in_half_of_the_runs_is_not_the_fastest(tmp_path: Path, command: Command) -> None:
    half = [OK, TIMEOUT] * 10
    cells = [Cell("fast@1", around(9.0, 20), outcomes=half), Cell("sure@1", around(10.0, 20))]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time")
    assert "fast@1: 10 of 20 runs failed (counted as worse than any that finished)." in said.out
    assert "fast@1 is fastest" not in said.out
    case = dlbench.open(folder).compare("time").cases[0]
    assert case.comparison.ranking == ("sure@1", "fast@1")
    groups = dlbench.open(folder).compare("time").groups()
    assert dict(zip(groups["group"], groups["failed"], strict=True)) == {"fast@1": 10, "sure@1": 0}


def test_who_nearly_always_fails_is_worse_across_workloads_too(tmp_path: Path) -> None:
    mostly = [OK] + [TIMEOUT] * 5
    cells = [
        Cell(name, around(middle, 6), workload=f"w{number}", outcomes=mostly if bad else ())
        for number in range(6)
        for name, middle, bad in (("fast@1", 0.5, True), ("sure@1", 1.0, False))
    ]
    across = dlbench.open(write(tmp_path / "c", cells)).compare("time").across[0].friedman
    assert across.groups == ("sure@1", "fast@1")
    assert across.left_out == ()


def test_interrupted_runs_are_not_held_against_a_release(tmp_path: Path, command: Command) -> None:
    stopped = [OK] * 10 + [Outcome.INTERRUPTED] * 10
    cells = [Cell("a@1", around(1.0, 20), outcomes=stopped), Cell("b@1", around(1.5, 20))]
    said = command("compare", write(tmp_path / "c", cells), "--metric", "time")
    assert "a@1 is fastest" in said.out and "runs failed" not in said.out
    assert "10 interrupted" in said.out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--metric", "accuracy", "--margin", "1.05"], "below 0.5 is asked for, such as 0.01."),
        (["--metric", "accuracy", "--margin", "0.5"], "below 0.5 is asked for, such as 0.01."),
        (["--margin", "accuracy=0.5"], "A margin of 0.5 is not possible for accuracy:"),
        (["--margin", "0.7"], "A margin of 0.7 is not possible for train_s:"),
        (["--margin", "5"], "a factor between 1 and 2 is asked for"),
        (["--margin", "time=0.01"], "A margin of 0.01 is not possible for train_s:"),
        (["--margin", "1.05", "--margin", "1.1"], "There are two margins for train_s."),
        (["--margin", "memory=1.05"], "is for a metric that is not compared."),
        (["--margin", "a lot"], "The margin 'a lot' is not a number."),
        (["--margin", "1e999"], "A margin of inf is not possible."),
    ],
)
def test_margins_that_mean_nothing_are_refused(
    tmp_path: Path, command: Command, options: list[str], problem: str
) -> None:
    cells = [
        Cell(n, around(1.0), metrics={"accuracy": a}) for n, a in (("a@1", 0.97), ("b@1", 0.5))
    ]
    said = command("compare", write(tmp_path / "c", cells), *options)
    assert said.code == 2
    assert problem in said.err


def test_a_margin_is_for_one_kind_of_metric(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell("a@1", around(1.0), metrics={"accuracy": 0.97}),
        Cell("b@1", around(1.01), metrics={"accuracy": 0.52}),
    ]
    folder = write(tmp_path / "c", cells)

    def verdicts(*options: str) -> list[str]:
        found = command("compare", folder, *options, "--json").json["comparisons"]
        return [one["cases"][0]["pairs"][0]["verdict"] for one in found]

    assert verdicts("--margin", "1.05") == ["equivalent", "better"]
    assert verdicts("--margin", "1.05", "--margin", "0.1") == ["equivalent", "better"]
    assert verdicts("--margin", "accuracy=0.49") == ["better", "equivalent"]
    assert verdicts("--margin", "accuracy=0.49", "--margin", "0.1") == ["better", "equivalent"]
    with pytest.raises(UserError, match=r"accuracy: a difference below 0\.5"):
        dlbench.open(folder).compare("accuracy", margin=1.05)


def test_days_are_not_taken_for_pairs(tmp_path: Path, command: Command) -> None:
    one = write(tmp_path / "1", [Cell("a@1", around(1.06)), Cell("c@1", around(2.12))], name="1")
    two = write(tmp_path / "2", [Cell("b@1", around(1.0)), Cell("c@1", around(2.0))], name="2",
                day="2026-11-18")  # fmt: skip
    said = command("compare", one, two, "--metric", "time").out
    assert "a@1 on 2026-11-16 in campaign" in said and "b@1 on 2026-11-18 in campaign" in said
    assert "Between sessions c@1 alone differs by a factor of 1.06." in said
    assert "`dlbench run --against " in said and "puts it into the same rounds." in said
    verdict = dlbench.open(one, two).compare("time").cases[0].comparison.between("a@1", "b@1")
    assert verdict is not None and verdict.apart
    assert verdict.effect is not None and not verdict.effect.paired
    # The days differ by as much, so nothing is shown between them.
    assert not verdict.different


def test_a_difference_between_days_says_that_it_may_be_the_day(tmp_path: Path) -> None:
    one = write(tmp_path / "1", [Cell("a@1", around(1.06))], name="1")
    two = write(tmp_path / "2", [Cell("b@1", around(1.0))], name="2", day="2026-11-18")
    case = dlbench.open(one, two).compare("time").cases[0]
    assert "part of a difference may come from the day" in case.comparison.answer
    assert any("No contender was measured in two sessions" in text for text in case.warnings)


def test_a_campaign_that_was_extended_later_has_two_sessions(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0)), Cell("b@1", around(1.5))])
    for path in folder.glob("trials/*/trial.json"):
        content = json.loads(path.read_text())
        if content["release"] == "b@1":
            content["started"] = content["started"].replace("2026-11-16", "2026-11-20")
            path.write_text(json.dumps(content))
    verdict = dlbench.open(folder).compare("time").cases[0].comparison.verdicts[0]
    assert verdict.apart, "the rounds have the same numbers and not the same day"


def test_ten_releases_with_ten_repeats_are_told_apart(tmp_path: Path, command: Command) -> None:
    cells = [Cell(f"r@{i}", noisy(1.3**i, 10, i)) for i in range(10)]
    folder = write(tmp_path / "c", cells)
    pairs = dlbench.open(folder).compare("time").pairs()
    assert set(pairs["verdict"]) == {"better"}
    said = command("compare", folder, "--metric", "time").out
    assert "Mann and Whitney): 10 pairs could not show a difference in 45 comparisons" in said


def test_pairs_and_history_say_the_same(tmp_path: Path, command: Command) -> None:
    middles = [1.0, 1.0, 1.0, 1.2, 1.2, 1.2]
    cells = [Cell(f"a@1.{i}", noisy(middle, 3, i)) for i, middle in enumerate(middles)]
    said = command("compare", write(tmp_path / "few", cells), "--metric", "time").out
    assert "Since a@1.3 it is slower than a@1.0 to a@1.2" in said
    assert "no two of these releases are shown to differ by themselves." in said
    near = [Cell(f"a@1.{i}", around(1.0 if i < 3 else 1.015, 12)) for i in range(6)]
    folder = write(tmp_path / "near", near)
    bare = command("compare", folder, "--metric", "time").out
    assert "Since a@1.3 it is slower" in bare
    with_margin = command("compare", folder, "--metric", "time", "--margin", "1.05").out
    assert "is equivalent to" in with_margin and "Since" not in with_margin
    assert "no change of level beyond the margin (within a factor of 1.05)" in with_margin


def test_ranks_across_workloads_say_what_the_mean_ranks_say(tmp_path: Path) -> None:
    cells = [
        Cell(f"r{i}@1", around(1.2**i, 3), workload=f"w{number}")
        for number in range(6)
        for i in range(10)
    ]
    test = dlbench.open(write(tmp_path / "c", cells)).compare("time").across[0].friedman
    assert test.mean_ranks == tuple(range(1, 11))
    assert not test.by_signed_ranks, "six workloads cannot show it for 45 pairs"
    far = {x.worse for x in test.pairs if x.better == "r0@1" and x.rank_gap >= 8}
    shown = {x.worse for x in test.pairs if x.better == "r0@1" and x.shown}
    assert far and far <= shown
    assert "not shown to be better than any one" not in test.sentence
    for clique in test.cliques:
        inside = [x for x in test.pairs if x.better in clique and x.worse in clique]
        assert not any(x.shown for x in inside)


def test_trials_without_the_metric_are_counted(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0)), Cell("b@1", around(1.5))])
    for path in sorted(folder.glob("trials/*/trial.json"))[:3]:
        content = json.loads(path.read_text())
        del content["metrics"]["train_s"]
        path.write_text(json.dumps(content))
    said = command("compare", folder, "--metric", "time").out
    counted = [line for line in said.splitlines() if "no train_s: left out." in line]
    assert sum(int(line.split(": ")[1].split()[0]) for line in counted) == 3


def test_numbers_that_are_none_do_not_change_the_plan(tmp_path: Path, command: Command) -> None:
    cells = [Cell("a@1", noisy(1.0, 40, 1, 0.2)), Cell("b@1", noisy(1.0, 40, 2, 0.2))]
    whole = write(tmp_path / "whole", cells)
    shutil.copytree(whole, tmp_path / "gap")
    path = min((tmp_path / "gap").glob("trials/*/trial.json"))
    content = json.loads(path.read_text())
    content["metrics"]["train_s"] = float("nan")
    path.write_text(json.dumps(content))

    def repeats(folder: Path) -> int:
        said = command("compare", folder, "--metric", "time", "--plan-power", "1.1").out
        plan = next(line for line in said.splitlines() if "plan:" in line)
        return int(plan.split(", ")[1].split()[0])

    assert repeats(tmp_path / "gap") == pytest.approx(repeats(whole), rel=0.1)
    said = command("compare", tmp_path / "gap", "--metric", "time").out
    assert "1 of 40 trials did not complete (1 invalid)." in said


def test_a_copied_run_counts_once(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", around(1.0, 4)), Cell("b@1", around(1.5, 4))])
    plan = (folder / "plan.jsonl").read_text().splitlines()
    copies = []
    for line in plan:
        planned = json.loads(line)
        name = "f" * 8 + planned["id"][8:]
        shutil.copytree(folder / "trials" / planned["id"], folder / "trials" / name)
        path = folder / "trials" / name / "trial.json"
        copy = json.loads(path.read_text()) | {"id": name, "seed": 90 + planned["index"],
                                               "round": 50 + planned["index"]}  # fmt: skip
        path.write_text(json.dumps(copy))
        copies.append(json.dumps(planned | {"id": name}))
    (folder / "plan.jsonl").write_text("\n".join([*plan, *copies]) + "\n")
    said = command("compare", folder, "--metric", "time").out
    assert "8 trials are copies of others, with the same start and the same numbers" in said
    assert "4 runs of each cannot show any difference" in said


def test_alpha_says_what_it_is_a_rate_of(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell(name, noisy(1.0, 8, seed), workload=f"w{seed // 2}", metrics={"accuracy": 0.9})
        for seed, name in enumerate(["a@1", "b@1"] * 5)
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder).out
    assert "each of these 12 questions" in said and "any of them in up to 46 %" in said
    whole = command("compare", folder, "--alpha-over", "report")
    assert "of such reports say anywhere that there is a difference where there is none" in (
        whole.out
    )
    found = command("compare", folder, "--alpha-over", "report", "--json").json
    assert found["comparisons"][0]["alpha"] == pytest.approx(0.05 / 12)
    assert command("compare", folder, "--alpha-over", "moon").code == 2
    second = command("compare", folder, "--look", "2", "--json").json
    assert second["alpha"] == pytest.approx(0.05 / 6)
    assert command("compare", folder, "--look", "0").code == 2


def test_circumstances_stand_beside_the_number(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell("a@1", around(1.0), steps=50, source="synthetic", others_percent=40.0),
        Cell("b@1", [*around(1.5)[:9], 9.0], steps=50, source="synthetic"),
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time").out
    assert "digits-cnn (synthetic data, 50 steps, batch 32)" in said
    assert "! The data are synthetic: accuracies and errors mean nothing." in said
    assert "! Training was cut to 50 steps: qualities are not those of a whole training." in said
    assert "! The machine was busy: other programs took 40 % of it beside a@1." in said
    unequal = "other programs' share of the machine (%) is 0 for b@1, 40 for a@1."
    assert f"! Unequal conditions: {unequal}" in said
    rows = {line.split()[0]: line for line in said.splitlines() if line[1:].startswith("@1 ")}
    assert "synthetic data, 50 steps, busy machine" in rows["a@1"]
    assert "outliers" in rows["b@1"] and "busy" not in rows["b@1"]
    headline = " ".join(command("show", folder).out.split("2 contenders")[0].split())
    assert headline.endswith("Other programs kept the machine busy.")
    quiet = write(tmp_path / "quiet", [replace(cell, others_percent=0.0) for cell in cells])
    assert "kept the machine busy" not in command("show", quiet).out
    command("export", folder, "--format", "json", "-o", tmp_path / "out")
    exported = json.loads((tmp_path / "out" / "trials.json").read_text())
    notes = {row["release"]: row["notes"] for row in exported if row["train_s"] != 9.0}
    assert notes == {
        "a@1": "synthetic data; 50 steps; busy machine",
        "b@1": "synthetic data; 50 steps",
    }
    odd = next(row for row in exported if row["train_s"] == 9.0)
    assert odd["notes"].endswith("training time sticks out")


def test_what_a_trial_had_when_it_was_ended_is_no_measurement(
    tmp_path: Path, command: Command
) -> None:
    cells = [
        Cell("ended@1", around(0.1, 5), outcome=TIMEOUT),
        Cell("sure@1", around(1.0, 5), workload="mnist-cnn"),
    ]
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", "time").out
    assert "ended@1 is not ranked: no run finished." in said
    groups = dlbench.open(folder).compare("time").groups()
    assert dict(zip(groups["group"], groups["n"], strict=True)) == {"ended@1": 0, "sure@1": 5}
    alone = command("compare", write(tmp_path / "d", cells[:1]), "--metric", "time")
    assert alone.code == 2 and "why all have failed" in alone.err


def test_a_run_that_failed_does_not_hide_who_is_best(tmp_path: Path) -> None:
    cells = [
        Cell("first@1", around(9.0, 2), outcomes=[TIMEOUT, OK]),
        Cell("slow@1", around(10.0, 2)),
        Cell("quick@1", around(3.0, 2)),
    ]
    case = dlbench.open(write(tmp_path / "c", cells)).compare("time").cases[0]
    described = describe_case(case.case, case.metric)
    assert all("quick@1" in (verdict.first, verdict.second) for verdict in described.verdicts)


def test_qualities_on_synthetic_data_are_not_ranked(tmp_path: Path, command: Command) -> None:
    def cell(release: str, time: float, accuracy: float) -> Cell:
        return Cell(release, around(time, 6), source="synthetic", metrics={"accuracy": accuracy})

    folder = write(tmp_path / "c", [cell("a@1", 1.0, 0.9), cell("b@1", 1.5, 0.1)])
    said = command("show", folder).out
    assert "a@1 is the fastest" in said
    assert "Accuracy: a@1 and b@1 are not ranked: synthetic data." in said
    assert "percentage points" not in said
    gate = command("compare", folder, "--against", "a@1", "--fail-if", "accuracy < -0.01")
    assert gate.code == 3 and "cannot be checked: the new runs: synthetic data." in gate.out


def test_defaults_of_frameworks_are_not_said_to_be_equal(tmp_path: Path, command: Command) -> None:
    def said(*settings: str) -> str:
        cells = [Cell(f"{name}@1", [1.0], setting=s) for name in "ab" for s in settings]
        folder = write(tmp_path / "-".join(settings), cells)
        return " ".join(command("show", folder).out.split())

    proven = "Every model was proven equal to the reference before it was timed."
    matched = said("matched")
    assert proven in matched and "they are not equal" not in matched
    for settings in (("native",), ("matched", "native")):
        assert f"{proven} That was the setting matched. In the setting native" in said(*settings)
