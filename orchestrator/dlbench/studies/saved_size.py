"""The size of a saved model as a study measured it: of the weights, or with the optimiser's state.

As intended, all contenders save the same: the weights. As published, each saved what the study's
code made it save.
"""

from __future__ import annotations

import polars as pl

from dlbench.studies.claims import Study

COLUMN = "saved_bytes"


def with_saved_size(study: Study, trials: pl.DataFrame, *, published: bool) -> pl.DataFrame:
    """The table with the column `saved_bytes`; null where nothing was saved."""
    with_state = [one.release for one in study.frameworks.values() if one.saves_state]
    size = pl.col("model_bytes")
    if published and with_state:
        of_both = pl.col("release").is_in(with_state)
        size = pl.when(of_both).then(pl.col("model_with_optimizer_bytes")).otherwise(size)
    return trials.with_columns(size.alias(COLUMN))
