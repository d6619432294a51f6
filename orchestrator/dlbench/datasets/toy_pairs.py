"""Small made-up sentence pairs, for certificates only: the target is the source, reversed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset

if TYPE_CHECKING:
    from dlbench.datasets import Arrays


def _make(train: int, test: int) -> Arrays:
    import numpy as np

    random = np.random.RandomState(7)

    def draw(rows: int) -> dict[str, np.ndarray]:
        length = random.randint(1, 10, rows)
        source = random.randint(1, 30, (rows, 9)) * (np.arange(9) < length[:, None])
        target_length = random.randint(1, 8, rows)
        target = random.randint(1, 25, (rows, 8))
        return {
            "source": source.astype(np.int32),
            "source_length": length.astype(np.int32),
            "target_in": target[:, :-1].astype(np.int32),
            "target_out": target[:, 1:].astype(np.int32),
            "mask": (np.arange(7) < target_length[:, None]).astype(np.float32),
        }

    return {"train": draw(train), "test": draw(test)}


def _convert(_files: Mapping[str, Path]) -> Arrays:
    return _make(1024, 256)


DATASET = Dataset(
    name="toy-pairs",
    title="Made-up token pairs for certificates",
    licence="CC0 1.0",
    rows=(1024, 256),
    convert=_convert,
    synthetic=_make,
)
