"""`dlbench list suites` and `dlbench show suite NAME`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.orchestrator.analysis.campaigns import write
from tests.orchestrator.analysis.test_scaling import BATCHES
from tests.orchestrator.command import Command


def test_a_suite_is_shown_with_its_study_scales_and_notes(command: Command) -> None:
    shown = command("show", "suite", "sohail2022").out
    assert "study: Sohail" in shown
    assert "mnist-mlp: epochs swept over 1, 2, 3" in shown
    for scale in ("smoke", "short", "full"):
        assert scale in shown
    assert "- Keras on TensorFlow, of no named version" in shown
    assert "dlbench run --suite sohail2022 --scale smoke" in shown
    points = command("show", "suite", "zvyagin2021").out
    assert "all workloads: recipe with shuffle=false" in points
    assert "cifar10-vgg16: 6 points, the first optimizer.lr=0.09901" in points
    content = json.loads(command("show", "suite", "history", "--json").out)
    assert content["releases"] == ["all"]
    assert content["scales"]["smoke"]["repeats"] == 1


def test_suites_are_listed_with_their_scales(command: Command) -> None:
    listed = command("list", "suites").out
    assert "smoke, short, full" in listed
    assert "newest" in listed


def test_a_suite_that_is_not_there(command: Command) -> None:
    printed = command("show", "suite", "sohail2023")
    assert printed.code == 2
    assert "Did you mean 'sohail2022'" in printed.err


def test_show_names_the_points_and_says_how_cost_grows(command: Command, tmp_path: Path) -> None:
    folder = write(tmp_path / "c", BATCHES)
    shown = " ".join(command("show", str(folder)).out.split())
    assert "digits-cnn (batch=8) (real data" in shown
    assert "from batch 8 to 128 the time a row falls 4 times in a@1" in shown
    compared = command("compare", str(folder)).out
    assert "digits-cnn (batch=128)" in compared
    one = command("show", str(folder), "--only", "point=batch=8").out
    assert "batch=128" not in one


def test_the_plan_names_the_points(command: Command) -> None:
    printed = command("plan", "numpy", "--sweep", "batch=1,8", "--repeats", "1", "--scale", "0.1")
    assert printed.code == 0
    assert "batch=1" in printed.out
    assert "batch=8" in printed.out
    refused = command("plan", "numpy", "--sweep", "batch=1,0")
    assert refused.code == 2
    assert "`batch` must be at least 1" in refused.err
