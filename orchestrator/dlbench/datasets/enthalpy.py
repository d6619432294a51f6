"""Formation enthalpies of materials by composition.

The study's tables lie behind log-ins and moving addresses, so there is no download: the synthetic
twin has the shape of the JARVIS set.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset
from dlbench.errors import UserError

if TYPE_CHECKING:
    from dlbench.datasets import Arrays


def _convert(_files: Mapping[str, Path]) -> Arrays:
    raise UserError(
        "Data set enthalpy has no official file to download.", "Use `--data synthetic`."
    )


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.compositions(train, test)


DATASET = Dataset(
    name="enthalpy",
    title="Formation enthalpy from element fractions",
    licence="CC0 1.0 (the synthetic twin)",
    rows=(17_994, 2_000),
    convert=_convert,
    synthetic=_synthetic,
)
