"""Small made-up sentence pairs, for certificates only: the target is the source, reversed."""

from __future__ import annotations

import numpy as np

from dlbench.datasets import Arrays, Dataset


def _make(train: int, test: int) -> Arrays:
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


DATASET = Dataset(
    name="toy-pairs",
    title="Made-up token pairs for certificates",
    licence="CC0 1.0",
    rows=(1024, 256),
    convert=lambda _files: _make(1024, 256),
    synthetic=_make,
)
