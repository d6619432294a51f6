"""Sizes of saved models: of the same thing, or of what the study's code saved."""

from __future__ import annotations

import polars as pl
import pytest

from dlbench.studies import reading
from dlbench.studies.quantities import QUANTITIES
from dlbench.studies.saved_size import with_saved_size

GUPTA = reading.find("gupta2023")
PARAMETERS = 2_166_529
"""Of FCN-10, in Table V."""


@pytest.mark.parametrize(
    ("published", "wanted"),
    [(False, {"TF-1": 8.3, "TF-2": 8.3, "PyTorch": 8.3}),
     (True, {"TF-1": 24.8, "TF-2": 8.3, "PyTorch": 24.8})],
)  # fmt: skip
def test_the_factor_of_three_is_the_optimisers_state(
    published: bool, wanted: dict[str, float]
) -> None:
    weights = 4.0 * PARAMETERS
    trials = pl.DataFrame(
        {
            "release": [one.release for one in GUPTA.frameworks.values()],
            "model_bytes": weights,
            "model_with_optimizer_bytes": 3 * weights,
        }
    )
    size = QUANTITIES["model_size"]
    found = with_saved_size(GUPTA, trials, published=published)[size.column] * size.factor
    assert dict(zip(GUPTA.frameworks, found.round(1), strict=True)) == wanted


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
