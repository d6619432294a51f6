"""Petrol consumption of 48 states of the USA: four features, one number to predict.

Features and target are standardised by the training rows' mean and standard deviation. Copies with
altered rows exist, so what the file holds is compared with the digest of the original's numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging
from dlbench.datasets._reading import read_file, wrong

_TABLE = "x16.txt"
_CSV = "petrol_consumption.csv"
_ROWS, _TRAIN = 48, 38
_SEED = 0
_MOST_BYTES = 100_000
_DIGEST = "5c521b9148d22f179b807843d531861892c7c3e23392844641d01984919f3b48"


def _convert(files: Mapping[str, Path]) -> Arrays:
    (path,) = files.values()
    text = read_file(path, _MOST_BYTES).decode("utf-8", "replace")
    return _arrays(read_table(text, path.name))


def read_table(text: str, name: str) -> np.ndarray:
    """The rows of five numbers, in thousandths; other lines are headings and comments."""
    rows = []
    for line in text.splitlines():
        fields = re.split(r"[,;\s]+", line.strip())
        try:
            numbers = [float(field) for field in fields]
        except ValueError:
            continue
        if len(numbers) in (5, 6):  # the original table counts its rows in front
            rows.append(numbers[-5:])
    if len(rows) != _ROWS:
        raise wrong(name, f"has {len(rows)} rows of five numbers where {_ROWS} were expected")
    table: np.ndarray = np.rint(np.array(rows) * 1000).astype("<i8")
    if hashlib.sha256(table.tobytes()).hexdigest() != _DIGEST:
        raise wrong(name, "is not the original table: some of its numbers differ")
    return table


def _arrays(table: np.ndarray) -> Arrays:
    order = np.random.RandomState(_SEED).permutation(_ROWS)
    rows = table[order].astype(np.float64) / 1000
    mean, deviation = rows[:_TRAIN].mean(axis=0), rows[:_TRAIN].std(axis=0)
    rows = ((rows - mean) / deviation).astype(np.float32)
    return {
        split: {"features": part[:, :4].copy(), "value": part[:, 4:].copy()}
        for split, part in (("train", rows[:_TRAIN]), ("test", rows[_TRAIN:]))
    }


def _synthetic(train: int, test: int) -> Arrays:
    random = np.random.RandomState(20180918)

    def draw(rows: int) -> dict[str, np.ndarray]:
        features = random.normal(0, 1, (rows, 4)).astype(np.float32)
        value = features @ np.array([-0.4, -0.3, -0.1, 0.6]) + random.normal(0, 0.5, rows)
        return {"features": features, "value": value[:, None].astype(np.float32)}

    return {"train": draw(train), "test": draw(test)}


DATASET = Dataset(
    name="petrol",
    title="Petrol consumption of 48 states (S. Weisberg, 1980; H. Späth, 1991, table x16)",
    licence="none stated",
    rows=(_TRAIN, _ROWS - _TRAIN),
    convert=_convert,
    synthetic=_synthetic,
    downloads=(
        Download(
            _TABLE,
            (
                f"https://people.sc.fsu.edu/~jburkardt/datasets/regression/{_TABLE}",
                "https://raw.githubusercontent.com/nanthago11/random_forest_regression/"
                f"7e92a576e1ea00500af0487cd11d1912a5636a16/{_CSV}",
            ),
        ),
    ),
    packagings=(Packaging("CSV", (Download(_CSV, packed=True),), _convert),),
    digest="b2a49a756f9a27cf7ec3227b19eb3e390f433c6566c1a567a31501c02cf15057",
    notes="48 rows of 5 columns; sohail2022 states 768 records of 9 attributes",
)
