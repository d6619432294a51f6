"""`dlbench show`: the answer first, conditions beside the numbers, the next command below."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import dlbench
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.cli.results_table import told_apart
from tests.orchestrator.analysis.campaigns import Cell, write
from tests.orchestrator.command import Command


def shown(command: Command, folder: Path, *options: str) -> str:
    done = command("show", folder, *options)
    assert done.code == 0, done.err
    return done.out


def test_three_runs_show_sizes_and_prove_nothing(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0, 1.1, 1.2]), Cell("b@1", [2.0, 2.1, 2.2])])
    text = shown(command, folder)
    first = text.strip().splitlines()[0]
    assert first.startswith("a@1 was the quickest on digits-cnn so far")
    assert "too few runs to tell" in first
    assert "prove nothing" in text
    assert f"dlbench run --resume {folder} --repeats 5" in text
    assert f"dlbench report {folder} --open" in text
    assert "p =" not in text and "least p" not in text
    assert "least p" in shown(command, folder, "--verbose")


def test_looks_that_found_no_leader_are_said(tmp_path: Path, command: Command) -> None:
    times = [1.0, 1.3, 1.1, 1.2, 1.05, 1.15]
    folder = write(tmp_path / "c", [Cell("a@1", times), Cell("b@1", times[::-1])])
    assert f"dlbench run --resume {folder} --until decided --at-most 12" in shown(command, folder)
    campaign = Campaign(folder)
    campaign.write_about(replace(campaign.about(), looks=(5, 6), looked=(False, False)))
    text = shown(command, folder)
    assert "No leader was found in 2 looks" in text
    assert "--resume" not in text, "its error rate is used up"
    assert dlbench.open(folder).compare().alpha == 0.025


def test_a_folder_with_a_space_can_be_copied(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "my runs", [Cell("a@1", [1.0]), Cell("b@1", [2.0])])
    assert f"--resume '{folder}' --repeats" in shown(command, folder)


def test_failures_and_units_stand_beside_the_numbers(tmp_path: Path, command: Command) -> None:
    metrics = {"accuracy": 0.91234, "peak_memory_bytes": 164675584.0}
    bad = Cell("b@1", [2.0] * 2, outcome=Outcome.TIMEOUT, reason="It reached its time limit.")
    folder = write(tmp_path / "c", [Cell("a@1", [1.0] * 5, metrics=metrics), bad])
    text = shown(command, folder)
    assert "164675584" not in text
    assert "10 epochs" in text, "the scale"
    assert "whole trial" in text and "20.0 s" in text
    assert "0 of 2" in text and "timeout" in text
    assert "It reached its time limit." in text


def test_a_long_start_is_not_hidden(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0] * 5), Cell("b@1", [2.0] * 5)])
    assert "Whole trials" not in shown(command, folder)
    for path in folder.glob("trials/*/trial.json"):
        content = json.loads(path.read_text())
        if content["release"] == "a@1":
            content["metrics"]["inference_s_per_thousand"] = 0.5
            path.write_text(json.dumps({**content, "wall_s": 70.0}))
    text = " ".join(shown(command, folder).split())
    assert "with import, compilation, evaluation and the timing of predictions, were" in text
    assert "were quickest in b@1: 20.0 s, against 70.0 s in a@1. This was not tested." in text


def test_what_a_recipe_or_a_user_asked_for_is_shown(tmp_path: Path, command: Command) -> None:
    metrics = {
        "accuracy": 0.5, "perplexity": 61.25, "greedy_accuracy": 0.125, "train_accuracy": 0.75,
        "inference_s_per_thousand": 0.0625, "latency_ms_median": 1.5, "latency_ms_p99": 2.5,
        "first_epoch_s": 0.4, "first_epoch_excess_s": -0.05, "peak_epoch": 7.0, "evaluate_s": 0.875,
    }  # fmt: skip
    folder = write(tmp_path / "c", [Cell("a@1", [1.0], metrics=metrics), Cell("b@1", [2.0])])
    text = shown(command, folder)
    for words in ("also measured", "61.25", "12.50 %", "75.00 %", "0.0625 s", "1.5 ms", "2.5 ms"):
        assert words in text
    assert "-0.05 s" not in text
    everything = shown(command, folder, "--verbose")
    told = "-0.05 s", "0.4 s", "0.875 s", "epoch of the peak", "12.50 %", "first epoch's excess"
    for words in told:
        assert words in everything
    assert everything.count("CPU use") == 2 and "cpu use" not in everything
    plain = write(tmp_path / "d", [Cell("a@1", [1.0], metrics={"accuracy": 0.5})])
    assert "also measured" not in shown(command, plain)


def test_use_and_mean_memory_stand_in_the_table(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    assert "GPU use" not in shown(command, folder)
    for path in folder.glob("trials/*/trial.json"):
        content = json.loads(path.read_text())
        content["resources"] |= {"memory_mean_bytes": 9 * 10**7, "gpu_util_percent_mean": 62.0}
        path.write_text(json.dumps(content))
    text = shown(command, folder)
    for words in ("CPU use", "50 %", "GPU use", "62 %", "mean memory", "90 MB", "100 MB"):
        assert words in text


def test_accuracies_have_the_digits_that_tell_them_apart() -> None:
    assert told_apart([0.98333, 0.98334], 100.0, "%") == ["98.333 %", "98.334 %"]
    assert told_apart([0.5, 0.5, None]) == ["0.50", "0.50", "-"]
    assert told_apart([0.1 + 0.2, 0.3]) == ["0.30", "0.30"]
    assert told_apart([]) == []


def test_without_a_folder_the_newest(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("show", "report", "watch", "compare"):
        done = command(name)
        assert done.code == 2
        assert "There is no campaign in results/" in done.err
    write(tmp_path / "results" / "old", [Cell("a@1", [1.0])], name="old")
    write(tmp_path / "results" / "new", [Cell("b@1", [1.0])], name="new")
    (tmp_path / "results" / "new" / "trials").touch()
    assert "b@1" in command("show").out
    assert "results/new" in command("report").out
    assert "results/new" in command("watch").out
    assert "b@1" in command("compare").out
    (tmp_path / "results" / "old" / "plan.jsonl").touch()
    assert "a@1" in command("show").out


def test_only_some_trials(tmp_path: Path, command: Command) -> None:
    cells = [
        Cell("a@1", [1.0, 1.1]), Cell("a@2", [1.5, 1.6]), Cell("b@1", [2.0, 2.1]),
        Cell("a@1", [5.0, 5.1], workload="mnist-cnn"),
    ]  # fmt: skip
    folder = write(tmp_path / "c", cells)
    text = shown(command, folder, "--only", "release=a,workload=digits-cnn")
    assert "a@1" in text and "a@2" in text and "b@1" not in text and "mnist-cnn" not in text
    two = shown(command, folder, "--only", "release=a@2,release=b@1")
    assert "a@2" in two and "b@1" in two and "a@1 " not in two
    assert len(command("show", folder, "--only", "seed=1", "--json").json["trials"]) == 4
    for wrong, words in (
        ("release=z", "There are release: a@1, a@2, b@1"),
        ("relase=a", "Did you mean 'release'"),
        ("release", "does not say what to show"),
        ("release=", "does not say what to show"),
    ):
        done = command("show", folder, "--only", wrong)
        assert done.code == 2, wrong
        assert words in done.err
    compared = command("compare", folder, "--only", "workload=mnist-cnn", "--metric", "time")
    assert compared.code == 0 and "digits-cnn" not in compared.out


def test_eighty_columns(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {
        "accuracy": 0.91234, "step_ms_median": 12.345, "step_ms_p05": 11.0, "step_ms_p95": 19.0,
        "peak_memory_bytes": 164675584.0,
    }  # fmt: skip
    names = ("tensorflow@2.21.0:function", "keras@3.15.1-tensorflow")
    folder = write(tmp_path / "c", [Cell(name, [1.0, 2.0], metrics=metrics) for name in names])
    monkeypatch.setattr("dlbench.cli.console.width", lambda: 80)
    lines = shown(command, folder).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("release"))
    assert all(len(line) <= 80 for line in lines[start : start + 3])
    assert "1.50 s" in lines[start + 1]
    assert "…" not in "\n".join(lines)
    assert "Left out for lack of room: step (5-95 %)" in "\n".join(lines)


def test_equal_contenders_are_said_to_be_equal(tmp_path: Path, command: Command) -> None:
    times = [1.0, 1.3, 1.1, 1.2, 1.05, 1.15]
    two = [Cell("a@1", times), Cell("b@1", times)]
    few = [Cell("a@1", [1.0, 2.0]), Cell("b@1", [1.0, 2.0]), Cell("c@1", [2.0, 3.0])]
    expected = {
        "None is shown to be the fastest on digits-cnn: a@1 and b@1 are equal, with": two,
        "a@1, b@1 and c@1 are equal, with": [*two, Cell("c@1", times)],
        "a@1 and b@1 are equal, with 1.12 s each, and ahead of the others.": [
            *two, Cell("c@1", [2 * time for time in times])
        ],
        "a@1 and b@1 are equal on digits-cnn so far, with 1.50 s each, and ahead of the others,"
        " but there are too few runs to tell.": few,
        "b@1 leads with 1.00 s. a@1: 1 of 6 runs failed.": [
            Cell("a@1", [1.0] * 6, outcomes=[Outcome.TIMEOUT] + [Outcome.OK] * 5),
            Cell("b@1", [1.0] * 6),
        ],
        "On 2 of 2 workloads the best are equal, and there are too few runs to tell.": [
            Cell(name, [1.0, 2.0], workload=workload)
            for name in ("a@1", "b@1") for workload in ("digits-cnn", "mnist-cnn")
        ],
        "a@1 trained digits-cnn equally fast on gpu and on cpu so far": [
            Cell("a@1", [1.0, 2.0], device=device) for device in ("cpu", "gpu")
        ],
    }  # fmt: skip
    for number, (sentence, cells) in enumerate(expected.items()):
        folder = write(tmp_path / str(number), cells)
        text = " ".join(shown(command, folder).split())
        assert sentence in text
        assert ("leads" in text) == ("failed" in sentence)
        assert "1.00 times as fast" not in text
    for kind in ("md", "html"):
        target = tmp_path / f"report.{kind}"
        done = command("report", tmp_path / "0", "--out", target)
        assert done.code == 0, done.err
        assert "are equal, with" in target.read_text().replace("\\", "")


def test_equal_accuracies_are_said_to_be_equal(tmp_path: Path, command: Command) -> None:
    metrics = {"accuracy": 0.9}
    cells = [Cell("a@1", [1.0] * 6, metrics=metrics), Cell("b@1", [2.0] * 6, metrics=metrics)]
    folder = write(tmp_path / "c", cells)
    told = "a@1 is not shown to differ from b@1 (equal: difference 0.00 percentage points"
    assert told in " ".join(shown(command, folder).split())
    assert told in command("compare", folder, "--metric", "accuracy", "--json").out
