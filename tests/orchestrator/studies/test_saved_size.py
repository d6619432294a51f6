"""Sizes of saved models: of the same thing, or of what the study's code saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.analysis.results import open_results
from dlbench.studies import reading
from dlbench.studies.quantities import QUANTITIES
from dlbench.studies.runs import As, study_runs
from tests.orchestrator.analysis.campaigns import Cell, write

GUPTA = reading.find("gupta2023")
WORKLOAD = "jarvis-fcn-10"
PARAMETERS = 2_166_529
"""Of Table V."""


@pytest.mark.parametrize(
    ("how", "wanted"),
    [(As.INTENDED, {"TF-1": 8.3, "TF-2": 8.3, "PyTorch": 8.3}),
     (As.PUBLISHED, {"TF-1": 24.8, "TF-2": 8.3, "PyTorch": 24.8})],
)  # fmt: skip
def test_the_factor_of_three_is_the_optimisers_state(
    how: As, wanted: dict[str, float], tmp_path: Path
) -> None:
    weights = 4.0 * PARAMETERS
    made = [
        Cell(
            one.release, [20.0, 21.0], workload=WORKLOAD, epochs=3000, confounds=confounds,
            metrics={"model_bytes": weights, "model_with_optimizer_bytes": 3 * weights},
            variant=one.variant or "plain",
        )
        for one in GUPTA.frameworks.values()
        for confounds in ((), ("saved-with-state",))
    ]  # fmt: skip
    runs = study_runs(GUPTA, open_results(write(tmp_path / "c", made, name="gupta2023")))[how]
    assert runs is not None
    size = QUANTITIES["model_size"]
    for name, published in wanted.items():
        group = runs.group(WORKLOAD, "cpu", name)
        assert group is not None
        found = {size.factor * row[size.column] for row in group.rows}
        assert [round(value, 1) for value in found] == [published]


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
