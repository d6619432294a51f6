"""What is said of a seed that was run again: bit for bit, or by how much not."""

from __future__ import annotations

from pathlib import Path

from dlbench import report
from dlbench.analysis.metrics import ACCURACY, TRAINING
from dlbench.analysis.reproducibility import repeats_of, sentences
from dlbench.report.charts.seeds import seeds
from dlbench.report.material import Material, load
from tests.orchestrator.analysis.campaigns import Cell, write
from tests.orchestrator.command import Command

FIXED = [7, 7, 7, 1, 2]


def cell(name: str, accuracies: list[float], ends: list[str], **more: object) -> Cell:
    return Cell(
        name, accuracies, metric="accuracy", seeds=FIXED, ends=ends,
        metrics={"train_s": 2.0, "loss": 0.5}, **more,  # type: ignore[arg-type]
    )  # fmt: skip


EQUAL = cell("same@1", [0.9, 0.9, 0.9, 0.8, 0.7], list("aaabc"))
APART = cell("loose@1", [0.9, 0.91, 0.92, 0.8, 0.7], list("abcde"))


def material(folder: Path, *cells: Cell) -> Material:
    return load(write(folder / "c", cells))


def said(found: Material) -> str:
    return " ".join(sentences(found.groups))


def test_equal_digests_are_equal_to_the_last_bit_and_others_are_not(tmp_path: Path) -> None:
    text = said(material(tmp_path, EQUAL, APART))
    assert (
        "Without --deterministic, a seed that was run again gave the same weights, predictions and"
        " losses to the last bit: same@1 (3 runs of seed 7)."
    ) in text
    assert (
        "loose@1 (3 runs of seed 7) did not repeat itself to the last bit: weights, predictions"
        " and losses differ, the last loss by less than 0.000001; accuracy 91 ± 1 %."
    ) in text
    assert "same@1: accuracy 90 ± 0 % at the fixed seed 7; accuracy 80 ± 10 % over 3" in text


def test_deterministic_trials_stand_apart_in_a_case_of_their_own(tmp_path: Path) -> None:
    asked = cell(
        "loose@1", [0.9, 0.9, 0.9, 0.8, 0.7], list("aaabc"), deterministic=True,
        stack={"deterministic": {"switches": {"x": True}, "covers": ["gpu"]}},
    )  # fmt: skip
    found = material(tmp_path, APART, asked)
    assert [case.label for case in found.cases] == ["digits-cnn", "digits-cnn (deterministic)"]
    assert all(len(case.groups) == 1 for case in found.cases)
    assert "With --deterministic, a seed that was run again gave the same" in said(found)
    assert "Without --deterministic, loose@1" in said(found)


def test_switches_for_another_device_are_not_hidden(tmp_path: Path) -> None:
    asked = cell(
        "loose@1", [0.9, 0.91, 0.92, 0.8, 0.7], list("abcde"), deterministic=True,
        stack={"deterministic": {"switches": {"x": True}, "covers": ["gpu"]}},
    )  # fmt: skip
    text = said(material(tmp_path, asked))
    assert "With --deterministic, loose@1" in text
    assert "Its switches for deterministic kernels do not cover a CPU." in text


def test_trials_that_recorded_no_digests_are_not_called_bit_for_bit(tmp_path: Path) -> None:
    text = said(material(tmp_path, cell("old@1", [0.9, 0.9, 0.9, 0.8, 0.7], [])))
    assert "last bit" not in text
    assert "the same quality and loss again, to the digits that were recorded" in text


def test_nothing_is_said_of_what_ran_once(tmp_path: Path) -> None:
    once = Cell("a@1", [1.0, 1.1, 1.2], seeds=[1, 2, 3], metrics={"accuracy": 0.5})
    found = material(tmp_path, once)
    assert said(found) == ""
    assert repeats_of(found.groups[0]) is None
    _, words = seeds(found)
    assert "was not tested. `dlbench run --seeds same` tests it." in words[0]


def test_a_seed_run_again_is_no_second_result_but_a_second_time(tmp_path: Path) -> None:
    (group,) = material(tmp_path, EQUAL).groups
    assert group.values(ACCURACY) == (0.9, 0.8, 0.7)
    assert len(group.values(TRAINING)) == 5
    assert len(group.measurements(ACCURACY).values) == 3


def test_every_output_says_it(tmp_path: Path, command: Command) -> None:
    found = material(tmp_path, EQUAL, APART)
    words = "loose@1 (3 runs of seed 7) did not repeat itself to the last bit"
    assert words in report.markdown(found)
    assert words in report.latex(found)
    assert any(words in sentence for sentence in seeds(found)[1])
    assert words in " ".join(command("show", str(tmp_path / "c")).out.split())
