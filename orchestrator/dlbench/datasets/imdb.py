"""IMDB film reviews, from the raw texts: the ready-made arrays elsewhere are pickles.

The vocabulary is the training split's: 0 pads, 1 starts a review, 2 stands for a word that is not
among the most frequent, which follow from 3 on. A review longer than 500 keeps its end.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset, Download

if TYPE_CHECKING:
    import numpy as np

    from dlbench.datasets import Arrays

_NAME = "aclImdb_v1.tar.gz"
_LENGTH, _VOCABULARY = 500, 5000
_FIRST_WORD = 3
_WORD = re.compile(r"[a-z0-9']+")


def _texts(path: Path) -> dict[str, list[tuple[int, list[str]]]]:
    """{split: [(label, words)]} in the archive's order."""
    found: dict[str, list[tuple[int, list[str]]]] = {"train": [], "test": []}
    with tarfile.open(path) as archive:
        for member in archive:
            match = re.fullmatch(r"aclImdb/(train|test)/(pos|neg)/\d+_\d+\.txt", member.name)
            file = archive.extractfile(member) if match else None
            if match and file:
                text = file.read().decode("utf-8").replace("<br />", " ").lower()
                found[match[1]].append((int(match[2] == "pos"), _WORD.findall(text)))
    return found


def encode(texts: list[tuple[int, list[str]]], ranks: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Token rows, post-padded, with their true lengths."""
    import numpy as np

    tokens = np.zeros((len(texts), _LENGTH), np.int32)
    lengths = np.zeros(len(texts), np.int32)
    for row, (_, words) in enumerate(texts):
        ids = [1, *(ranks.get(word, 2) for word in words)][-_LENGTH:]
        tokens[row, : len(ids)] = ids
        lengths[row] = len(ids)
    label = np.array([label for label, _ in texts], np.uint8)
    return {"tokens": tokens, "length": lengths, "label": label}


def _convert(files: Mapping[str, Path]) -> Arrays:
    texts = _texts(files[_NAME])
    counts = Counter(word for _, words in texts["train"] for word in words)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: _VOCABULARY - _FIRST_WORD]
    ranks = {word: rank for rank, word in enumerate(frequent, _FIRST_WORD)}
    return {split: encode(rows, ranks) for split, rows in texts.items()}


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.sequences(train, test, _LENGTH, _VOCABULARY)


def _proof(train: int, test: int) -> Arrays:
    from dlbench.datasets import _synthetic

    return _synthetic.sequences(train, test, 24, 60)


DATASET = Dataset(
    name="imdb",
    title="Large Movie Review Dataset (A. Maas et al., 2011)",
    licence="none stated; for research",
    rows=(25_000, 25_000),
    convert=_convert,
    synthetic=_synthetic,
    downloads=(
        Download(
            _NAME,
            (f"http://ai.stanford.edu/~amaas/data/sentiment/{_NAME}",),
            84_125_825,
            "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        ),
    ),
    proof=_proof,
)
