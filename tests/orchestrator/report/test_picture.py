"""The picture over the months in which releases were published."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dlbench import report
from dlbench.environments.releases import load_releases
from dlbench.errors import UserError
from dlbench.report.picture import Box, _free_place, _shared, _ticks
from tests.orchestrator.analysis.campaigns import Cell, write

NAMES = [release.name for release in load_releases()]


def _campaign(folder: Path, names: list[str], **more: object) -> Path:
    """Each release three times; the later it comes in the list, the quicker it is."""
    cells = [
        Cell(name, [(2.0 + 0.01 * i) * 0.9**n for i in range(3)], "train_s", "digits-cnn")
        for n, name in enumerate(names)
    ]
    return write(folder / "c", cells, name="history")


def _texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_release_is_a_dot_with_its_version_and_the_numbers_behind_it(tmp_path: Path) -> None:
    picture = report.svg(report.load(_campaign(tmp_path, NAMES)))
    texts = _texts(picture)
    for name in NAMES:
        assert name.partition("@")[2] in texts
        assert f"<title>{name}: " in picture
    assert any("digits-cnn" in text and "log scale" in text for text in texts)
    assert any("median training time of 3 runs" in text for text in texts)
    assert any(text.startswith("Whiskers") or "Whiskers: " in text for text in texts)
    assert {"2019", "2022", "2026"} <= set(texts)
    assert "prefers-color-scheme: dark" in picture
    assert "<script" not in picture and "http" not in picture.replace("http://www.w3.org/", "")


def test_what_is_not_drawn_is_said(tmp_path: Path) -> None:
    folder = _campaign(tmp_path, ["pytorch@1.0.0", "pytorch@2.13.0", "nobody@1.0"])
    texts = " ".join(_texts(report.svg(report.load(folder))))
    assert "it is not known when they were published: nobody@1.0" in texts


def test_one_release_is_no_history(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to draw over time"):
        report.svg(report.load(_campaign(tmp_path, ["pytorch@1.0.0"])))


def test_labels_stand_beside_each_other_as_long_as_there_is_room() -> None:
    taken: list[Box] = []
    for k in range(6):
        _free_place(100 + 2 * k, 100, "1.13.1", taken, (0, 0, 800, 400))
    assert not any(_shared(a, b) for a, b in combinations(taken, 2))
    (x, _), anchor = _free_place(795, 200, "2.21.0", [], (0, 0, 800, 400))
    assert (x, anchor) == (787, "end"), "the edge is no place"


@pytest.mark.parametrize("ends", [(0.9, 1.1), (0.02, 300.0), (1e-9, 1e9), (1.1, 1.2)])
def test_the_axis_has_few_round_values(ends: tuple[float, float]) -> None:
    found = list(_ticks(*ends))
    assert all(ends[0] <= value <= ends[1] for value in found)
    assert len(found) <= 20
    assert found == sorted(found)
    for value in found:
        assert value / 10 ** math.floor(math.log10(value) + 1e-9) == pytest.approx(
            round(value / 10 ** math.floor(math.log10(value) + 1e-9))
        )
