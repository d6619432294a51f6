"""GPU against CPU: which times are held against which, and what stands beside the bars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dlbench.monitor.gpu import digest_of
from dlbench.report.answer import answer
from dlbench.report.beside_numbers import cautions_of, of_case
from dlbench.report.charts.speed_ups import speed_ups
from dlbench.report.material import Material, load
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command


def material(folder: Path, cells: Sequence[Cell], gpus: Sequence[dict[str, Any]] = ()) -> Material:
    written = write(folder / "c", cells)
    about = json.loads((written / "campaign.json").read_text())
    about["machine"]["gpus"] = list(gpus)
    (written / "campaign.json").write_text(json.dumps(about))
    return load(written)


def bars(made: Material) -> list[tuple[object, ...]]:
    chart, _ = speed_ups(made)
    if chart is None:
        return []
    columns = chart.columns
    return list(
        zip(columns["case"], columns["contender"], columns["median"], columns["n"], strict=True)
    )


def test_the_same_release_on_either_device(tmp_path: Path) -> None:
    cells = [Cell("a@1", [8.0] * 5), Cell("a@1", [2.0] * 5, device="gpu"), Cell("b@1", [1.0] * 5)]
    assert bars(material(tmp_path, cells)) == [
        ("digits-cnn", "a@1", 4.0, 5),
        ("digits-cnn (gpu)", "a@1", 4.0, 5),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"rows": 100},
        {"epochs": 20},
        {"steps": 7},
        {"certified": False},
        {"changes": ["optimizer.lr=0.1"]},
    ],
)
def test_unequal_conditions_make_no_speed_up(other: dict[str, Any], tmp_path: Path) -> None:
    cells = [Cell("a@1", [8.0] * 5), Cell("a@1", [2.0] * 5, device="gpu", **other)]
    assert bars(material(tmp_path, cells)) == []


def test_each_gpu_has_its_own(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", [8.0] * 5),
        Cell("a@1", [2.0] * 5, device="gpu:0"),
        Cell("a@1", [4.0] * 5, device="gpu:1"),
    ]
    assert bars(material(tmp_path, cells)) == [
        ("digits-cnn (gpu:0)", "a@1", 4.0, 5),
        ("digits-cnn (gpu:1)", "a@1", 2.0, 5),
    ]


def test_few_runs_and_the_gpu_are_said(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", [8.0, 8.1]),
        Cell("a@1", [2.0, 2.1], device="gpu"),
        Cell("b@1", around(8.0)),
        Cell("b@1", around(2.0), device="gpu"),
    ]
    chart, sentences = speed_ups(material(tmp_path, cells, [{"name": "Tesla T4"}]))
    assert chart is not None and chart.note.endswith("above 1 the GPU is faster. GPU: Tesla T4.")
    (sentence,) = sentences
    assert sentence.startswith("1 of 2 come from fewer than 5 runs on a device")
    _, sentences = speed_ups(material(tmp_path / "second", cells[2:]))
    assert sentences == []


@pytest.mark.parametrize(
    ("cpu", "gpu", "words"),
    [
        (around(8.0), around(2.0), "a@1 trained digits-cnn 4.00 times as fast on gpu as on cpu."),
        (around(2.0), around(8.0), "a@1 trained digits-cnn 4.00 times as fast on cpu as on gpu."),
        ([8.0, 8.1], [2.0, 2.1], "as fast on gpu as on cpu so far, but there are too few runs"),
    ],
)
def test_one_contender_on_two_devices_has_an_answer(
    cpu: list[float], gpu: list[float], words: str, tmp_path: Path
) -> None:
    made = material(tmp_path, [Cell("a@1", cpu), Cell("a@1", gpu, device="gpu")])
    assert words in answer(made).headline


def test_several_workloads_are_counted(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", around(time), device=device, workload=workload)
        for workload in ("digits-cnn", "mnist-cnn")
        for device, time in (("cpu", 8.0), ("gpu", 2.0))
    ]
    headline = answer(material(tmp_path, cells)).headline
    assert headline == "Of 2 comparisons of devices, gpu is shown to be faster in 2."


def test_a_gpu_in_use_is_said_beside_its_own_numbers_only(tmp_path: Path) -> None:
    cells = [
        Cell("a@1", around(8.0)),
        Cell("a@1", around(2.0), device="gpu:0"),
        Cell("a@1", around(2.0), device="gpu:1"),
    ]
    gpus = [{"name": "A", "processes": 2}, {"name": "B", "processes": 0}]
    made = material(tmp_path, cells, gpus)
    said = {case.label: of_case(made, case) for case in made.cases}
    assert "busy GPU" in said["digits-cnn (gpu:0)"]
    assert "busy GPU" not in said["digits-cnn (gpu:1)"] + said["digits-cnn"]
    (sentence,) = cautions_of(made)
    assert "GPU 0 (A) was in use by 2 other programs when the campaign began" in sentence
    assert cautions_of(material(tmp_path / "cpu", cells[:1], gpus)) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [(["0"], True), (["1"], False), (["all"], True), (["nvidia.com/gpu=1"], False),
     (["GPU-1234"], True), ([], True)],
)  # fmt: skip
def test_the_plan_tells_which_gpu_was_used(given: list[str], said: bool, tmp_path: Path) -> None:
    gpus = [{"name": "A", "processes": 2}, {"name": "B", "processes": 0}]
    material(tmp_path, [Cell("a@1", around(2.0), device="gpu")], gpus)
    plan = tmp_path / "c" / "plan.jsonl"
    lines = [{**json.loads(line), "gpus": given} for line in plan.read_text().splitlines()]
    plan.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert bool(cautions_of(load(tmp_path / "c"))) is said


@pytest.mark.parametrize(("busy", "said"), [("GPU-1234", True), ("GPU-5678", False)])
def test_a_uuid_tells_which_gpu_was_used(busy: str, said: bool, tmp_path: Path) -> None:
    other = "GPU-5678" if busy == "GPU-1234" else "GPU-1234"
    gpus = [{"name": "A", "processes": 2, "digest": digest_of(busy)},
            {"name": "B", "processes": 0, "digest": digest_of(other)}]  # fmt: skip
    material(tmp_path, [Cell("a@1", around(2.0), device="gpu")], gpus)
    plan = tmp_path / "c" / "plan.jsonl"
    lines = [{**json.loads(line), "gpus": ["GPU-1234"]} for line in plan.read_text().splitlines()]
    plan.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert bool(cautions_of(load(tmp_path / "c"))) is said


def test_the_terminal_says_so_too(tmp_path: Path, command: Command) -> None:
    cells = [  # on a busy machine, which must not hide the busy GPU
        Cell("a@1", around(2.0), others_percent=40.0),
        Cell("a@1", around(8.0), device="gpu", others_percent=40.0),
    ]
    material(tmp_path, cells, [{"name": "A", "processes": 1}])
    shown = command("show", str(tmp_path / "c"))
    assert "GPU 0 (A) was in use by another program" in shown.out
    assert f"dlbench compare {tmp_path / 'c'} --by device" in shown.out
    shown = command("compare", str(tmp_path / "c"), "--by", "device", "--metric", "time")
    speed_up = shown.out.partition("speed-ups (below 1: slower)")[2]
    # The GPU takes four times as long: that is no factor of 4.
    assert " 0.2" in speed_up and "worse" in speed_up
