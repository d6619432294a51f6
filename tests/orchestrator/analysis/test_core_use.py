"""Who ran on fewer cores is told where it is ranked, and in the same words everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench import report
from dlbench.analysis.circumstances import others_load
from dlbench.analysis.core_use import core_note
from dlbench.campaigns.trial_result import TrialCores
from dlbench.report.answer import answer
from dlbench.report.beside_numbers import marks
from dlbench.report.material import Material, load
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

TWO = TrialCores(allotted=2.0, pinned=[0, 1], machine=2)


def material(folder: Path, *cells: Cell) -> Material:
    return load(write(folder / "c", cells))


def warnings(found: Material) -> str:
    return " ".join(answer(found).cases[0].warnings)


def cell(name: str, threads: int, **more: object) -> Cell:
    stack = {"threads": threads, **({"one_core": more.pop("one_core")} if more else {})}
    return Cell(name, around(1.0 + len(name) / 10), stack=stack, cores=TWO)


def test_one_of_two_cores_is_said_beside_the_ranking(tmp_path: Path, command: Command) -> None:
    found = material(tmp_path, cell("mxnet@1", 1), cell("pytorch@1", 2), cell("jax@1", 2))
    words = "Unequal cores: mxnet@1 ran on 1 core, jax@1 and pytorch@1 on 2."
    assert words in warnings(found)
    assert "`--threads N` gives all of them equally many" in warnings(found)
    slow = next(group for group in found.groups if group.name == "mxnet@1")
    assert core_note(slow) == "1 of 2 cores"
    assert "1 of 2 cores" in marks(found, slow)
    assert words in report.markdown(found)
    assert words in report.latex(found)
    shown = " ".join(command("show", str(tmp_path / "c")).out.split())
    assert words in shown


def test_what_runs_on_one_core_by_its_nature_is_said(tmp_path: Path) -> None:
    alone = cell("numpy@2", 2, one_core="all but matrix products")
    found = material(tmp_path, alone, cell("pytorch@1", 2))
    said = "numpy@2 computes all but matrix products on one core; the cores given were 2."
    assert said in warnings(found)
    assert "Unequal cores" not in warnings(found)
    assert core_note(found.groups[0]) == "all but matrix products on one core"


@pytest.mark.parametrize("threads", [1, 2])
def test_equal_cores_are_not_worth_a_word(threads: int, tmp_path: Path) -> None:
    found = material(tmp_path, cell("a@1", threads), cell("b@1", threads))
    assert "core" not in warnings(found)


def test_more_threads_than_cores_are_no_more_cores(tmp_path: Path) -> None:
    found = material(tmp_path, cell("a@1", 8), cell("b@1", 2))
    assert "Unequal cores" not in warnings(found)


def test_old_campaigns_say_nothing_of_cores(tmp_path: Path) -> None:
    old = [Cell("a@1", around(1.0), stack={"threads": 1}), Cell("b@1", around(2.0))]
    found = material(tmp_path, *old)
    assert "Unequal cores" not in warnings(found)
    assert core_note(found.groups[0]) == ""


def test_a_trial_pinned_to_one_of_four_cores_is_not_taken_for_a_busy_machine(
    tmp_path: Path,
) -> None:
    """The trial had 50 % of its one core, the machine 50 %: the rest were others."""
    one = TrialCores(allotted=1.0, pinned=[0], machine=4)
    busy = Cell("a@1", around(1.0), cores=one)
    quiet = Cell("b@1", around(1.0), cores=TrialCores(allotted=4.0, machine=4))
    found = {group.name: group for group in material(tmp_path, busy, quiet).groups}
    assert others_load(found["a@1"]) == pytest.approx(50.0 - 12.5)
    assert others_load(found["b@1"]) == 0.0
