"""Sizes of saved models: of the same thing, or of what the study's code saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.analysis.results import open_results
from dlbench.studies import reading
from dlbench.studies.quantities import QUANTITIES
from dlbench.studies.runs import As, study_runs, with_saved_size
from tests.orchestrator.analysis.campaigns import Cell, write

GUPTA = reading.find("gupta2023")
WORKLOAD = "jarvis-fcn-10"
SIZE = QUANTITIES["model_size"]
BYTES = 4.0 * 2_166_529
"""Of the weights: the parameters of Table V."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    made = [
        Cell(
            one.release, [20.0, 21.0], workload=WORKLOAD, epochs=3000,
            metrics={"model_bytes": BYTES, "model_with_optimizer_bytes": 3 * BYTES},
            variant=one.variant or "plain",
        )
        for one in GUPTA.frameworks.values()
    ]  # fmt: skip
    return write(tmp_path / "campaign", made, name="gupta2023")


def test_as_intended_all_save_the_same(campaign: Path) -> None:
    runs = study_runs(GUPTA, open_results(campaign))[As.INTENDED]
    assert runs is not None
    for name in GUPTA.frameworks:
        group = runs.group(WORKLOAD, "cpu", name)
        assert group is not None
        assert {round(SIZE.factor * row[SIZE.column], 1) for row in group.rows} == {8.3}


def test_as_published_the_factor_of_three_is_the_optimisers_state(campaign: Path) -> None:
    trials = with_saved_size(GUPTA, open_results(campaign).trials(), published=True)
    sizes = {
        name: {
            round(SIZE.factor * value, 1)
            for release, value in trials.select("release", SIZE.column).iter_rows()
            if release == one.release
        }
        for name, one in GUPTA.frameworks.items()
    }
    assert sizes == {"TF-1": {24.8}, "TF-2": {8.3}, "PyTorch": {24.8}}


def test_table_v_is_what_weights_and_state_take() -> None:
    published = {
        (figure.workload, figure.framework): figure.value
        for figure in GUPTA.figures
        if figure.quantity == "model_size"
    }
    assert published
    state = {name for name, one in GUPTA.frameworks.items() if one.saves_state}
    for (workload, name), value in published.items():
        alone = next(v for (w, n), v in published.items() if w == workload and n not in state)
        assert value / alone == pytest.approx(3.0 if name in state else 1.0, rel=0.01)
