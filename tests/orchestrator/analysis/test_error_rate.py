"""What alpha is a rate of, as it is said and as it is used."""

from __future__ import annotations

import pytest

import dlbench
from dlbench.analysis.error_rate import ErrorRate, error_rate
from dlbench.errors import UserError
from dlbench.report import html, load, markdown
from tests.orchestrator.analysis.campaigns import Cell, around, write


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory):
    cells = [
        Cell(name, around(middle), workload=workload)
        for workload in ("mnist-cnn", "imdb-lstm")
        for name, middle in (("a@1", 1.0), ("b@1", 1.3))
    ]
    return write(tmp_path_factory.mktemp("rate") / "c", cells)


def test_words() -> None:
    each = ErrorRate(0.05)
    assert each.sentence(0) == ""
    assert "claimed in at most 5 % of cases" in each.sentence(1)
    assert "each of these 10 questions" in each.sentence(10)
    assert "any of them in up to 40.1 %" in each.sentence(10)
    assert ErrorRate(0.05, True).sentence(10).startswith("At most 5 % of such reports")


def test_a_report_shares_alpha_among_its_questions(campaign) -> None:
    results = dlbench.open(campaign)
    assert ErrorRate(0.05).of_each(results, ["train_s"]) == 0.05
    assert ErrorRate(0.05, True).of_each(results, ["train_s"]) == pytest.approx(0.05 / 3), (
        "two workloads and the ranking across them"
    )


@pytest.mark.parametrize(
    ("alpha", "over", "look", "words"),
    [(1.0, "report", None, "not possible"), (0.05, "day", None, "day"), (0.05, "report", 0, "0")],
)
def test_refused(campaign, alpha: float, over: str, look: int | None, words: str) -> None:
    with pytest.raises(UserError, match=words):
        error_rate(dlbench.open(campaign), alpha, over, look)


def test_pages_say_it_and_use_it(campaign) -> None:
    usual, whole = load(campaign), load(campaign, over="report")
    for page in (html, markdown):
        assert "questions (a metric on a workload" in page(usual)
        assert "At most 5 % of such reports" in page(whole)
    used = whole.compared("mnist-cnn", whole.tested[0])
    assert used is not None
    assert used.comparison.tested[0].size.alpha < 0.05 / 2
