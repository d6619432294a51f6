"""What stands beside numbers: here, the weights that trials started from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dlbench.analysis.circumstances import cautions_of, circumstances
from dlbench.analysis.groups import Group, cases_of
from dlbench.analysis.results import open_results
from tests.orchestrator.analysis.campaigns import Cell, write


def _groups(folder: Path, *cells: Cell) -> Sequence[Group]:
    (case,) = cases_of(open_results(write(folder / "c", cells)).trials(), "release")
    return case.groups


def test_trials_from_other_weights_are_other_groups(tmp_path: Path) -> None:
    plain, first = Cell("a@1", [1.0, 1.1]), Cell("a@1", [1.0, 1.1], weights="1" * 64)
    second = Cell("a@1", [1.0, 1.1], weights="2" * 64, model={"weights_drawn": 3})
    groups = _groups(tmp_path, plain, first, second)
    assert len(groups) == len({group.conditions for group in groups}) == 3
    words = [circumstances([group])[-1] for group in groups if group.rows[0]["weights"]]
    assert words == [
        "started from weights start.npz (11111111…)",
        "started from weights start.npz (22222222…), 3 parameters drawn",
    ]
    assert any("some started from weights" in word for word in circumstances(groups))
    said = list(cautions_of(groups[1:2]))
    assert said == [
        "Trials started from weights start.npz (11111111…): their repeats differ by batches and"
        " dropout, not by these weights."
    ]


def test_a_random_backbone_is_said(tmp_path: Path) -> None:
    detector = Cell("a@1", [1.0, 1.1], workload="voc2012-faster-rcnn",
                    model={"constants_drawn": 11})  # fmt: skip
    (said,) = cautions_of(_groups(tmp_path, detector))
    assert said.startswith("The backbone of voc2012-faster-rcnn was drawn from the seed: 11 of its")
    assert "`--weights` starts from one." in said
    started = Cell("a@1", [1.0, 1.1], weights="1" * 64, model={"constants_drawn": 0})
    assert not any("backbone" in one for one in cautions_of(_groups(tmp_path / "b", started)))


def test_what_is_so_of_some_trials_is_not_said_of_all(tmp_path: Path) -> None:
    whole, cut = Cell("a@1", [1.0, 1.1]), Cell("b@1", [1.0, 1.1], steps=1)
    few = Cell("c@1", [1.0, 1.1], rows=1_234_567)
    said = circumstances(_groups(tmp_path, whole, cut, few))
    assert said[1] == "10 epochs or 1 step"
    assert any(word.startswith("some 1,234,567 training and") for word in said)
    cautions = list(cautions_of(_groups(tmp_path / "b", whole, cut, few)))
    assert cautions[0].startswith("Some training was cut to 1 step:")
    assert cautions[1].startswith("In some trials only 1,234,567 training and")
    (alone,) = cautions_of(_groups(tmp_path / "d", cut))
    assert alone.startswith("Training was cut to 1 step:")
