"""Markdown and LaTeX: the same order and the same care as everywhere else."""

from __future__ import annotations

from pathlib import Path

from dlbench import report
from dlbench.campaigns.outcomes import Outcome
from dlbench.report.material import load
from tests.orchestrator.analysis.campaigns import Cell, around, write


def test_the_sure_stands_before_the_survivor_and_ranges_are_no_intervals(tmp_path: Path) -> None:
    half = [Outcome.OK, Outcome.TIMEOUT] * 5
    cells = [Cell("fast@1", around(9.0), outcomes=half), Cell("sure@1", around(10.0))]
    material = load(write(tmp_path / "c", cells))
    for text in (report.markdown(material), report.latex(material)):
        start = text.index("contender ")
        table = text[start:]
        assert table.index("sure@1") < table.index("fast@1")
        assert "5 ok, 5 timeout" in table
        assert "fast@1: 5 of 10 runs failed" in text[:start], "in the headline"
        row = next(line for line in table.splitlines() if "fast@1" in line)
        # Five runs finished: too few for an interval.
        assert " to " in row and "[" not in row


def test_one_contender_on_several_workloads_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    cells = [Cell("alone@1", around(9.0), workload=name) for name in ("digits-cnn", "mnist-cnn")]
    text = report.markdown(load(write(tmp_path / "c", cells)))
    assert text.startswith("# There is nothing to compare in any of the 2 workloads below.")
    assert "## mnist-cnn" in text


def test_the_sentences_of_many_cases_do_not_push_the_summary_away(tmp_path: Path) -> None:
    def page(count: int) -> str:
        cells = [
            Cell(name, around(9.0, 2), workload=f"w{number}")
            for number in range(count)
            for name in ("a@1", "b@1")
        ]
        return report.html(load(write(tmp_path / str(count), cells)))

    folded = "What the tests say, in 13 comparisons"
    assert folded in page(13) and "What the tests say, in" not in page(12)
