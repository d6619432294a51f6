"""IMDB film reviews, from the raw texts, or from Keras' `imdb.npz`, whose pickle is not executed.

People also have the texts unpacked, or keep the same ranks as plain arrays, all reviews one after
the other (`_from_folder`).

The vocabulary is the training split's: 0 pads, 1 starts a review, 2 stands for a word that is not
among the most frequent, which follow from 3 on. A review longer than 500 keeps its end. `imdb.npz`
has other ideas of what a word is: the same reviews become other numbers, and another digest.
"""

from __future__ import annotations

import io
import itertools
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Packaging, _synthetic, downloads
from dlbench.datasets._folders import Inside, children, folders_in
from dlbench.datasets._reading import (
    as_text,
    has_array,
    opened,
    read_file,
    read_members,
    read_npz,
    read_pickled,
    wrong,
)

_NAME, _NPZ = "aclImdb_v1.tar.gz", "imdb.npz"
_TEXTS = {
    _NAME: (84_125_825, "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe")
}
_ARRAYS = {
    _NPZ: (17_464_789, "sha256:69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f")
}
_LENGTH, _VOCABULARY = 500, 5000
_FIRST_WORD = 3
_SPLITS = ("train", "test")
_PLACE = re.compile(r"aclImdb/(train|test)/(pos|neg)/\d+_\d+\.txt")
_MOST_TEXT = 1_000_000
_WORD = re.compile(r"[a-z0-9']+")
_MOST_BYTES = 200_000_000


Review = tuple[str, int, str]
"""Split, label and text."""


def _in_archive(path: Path) -> Iterator[Review]:
    with opened(path, unpack=False) as file, tarfile.open(fileobj=file) as archive:
        for member in archive:
            match = _PLACE.fullmatch(member.name)
            text = archive.extractfile(member) if match else None
            if match and text:
                yield match[1], int(match[2] == "pos"), _text(text.read(_MOST_TEXT + 1), match[0])


def _in_folder(folder: Path) -> Iterator[Review]:
    for split, kind in product(_SPLITS, ("pos", "neg")):
        for path in children(folder / split / kind):
            if _PLACE.fullmatch(f"aclImdb/{split}/{kind}/{path.name}"):
                text = read_file(path, _MOST_TEXT, 0)
                yield split, int(kind == "pos"), _text(text, f"{split}/{kind}/{path.name}")


def _text(content: bytes, name: str) -> str:
    if len(content) > _MOST_TEXT:
        raise wrong(name, f"has more than {_MOST_TEXT:,} bytes")
    return as_text(content, name).replace("<br />", " ").lower()


def _texts(reviews: Iterable[Review]) -> dict[str, list[tuple[int, list[str]]]]:
    """{split: [(label, words)]}, in an order that does not depend on where they lay."""
    found: dict[str, list[tuple[int, str]]] = {split: [] for split in _SPLITS}
    for split, label, text in reviews:
        found[split].append((label, text))
    return {
        split: [(label, _WORD.findall(text)) for label, text in sorted(own, reverse=True)]
        for split, own in found.items()
    }


def _encoded(numbers: Sequence[Sequence[int]], labels: Sequence[int]) -> dict[str, np.ndarray]:
    """Token rows, post-padded, with their true lengths; each review gets its start in front."""
    tokens = np.zeros((len(numbers), _LENGTH), np.int32)
    lengths = np.zeros(len(numbers), np.int32)
    for row, words in enumerate(numbers):
        ids = [1, *words][-_LENGTH:]
        tokens[row, : len(ids)] = ids
        lengths[row] = len(ids)
    return {"tokens": tokens, "length": lengths, "label": np.array(labels, np.uint8)}


def _convert(files: Mapping[str, Path]) -> Arrays:
    return _from_texts(_in_archive(files[_NAME]))


def _from_texts(reviews: Iterable[Review]) -> Arrays:
    texts = _texts(reviews)
    counts = Counter(word for _, words in texts["train"] for word in words)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: _VOCABULARY - _FIRST_WORD]
    ranks = {word: rank for rank, word in enumerate(frequent, _FIRST_WORD)}
    return {
        split: _encoded(
            [[ranks.get(word, 2) for word in words] for _, words in rows],
            [label for label, _ in rows],
        )
        for split, rows in texts.items()
    }


def _from_npz(files: Mapping[str, Path]) -> Arrays:
    """Keras' arrays: ranks by frequency from 1 on, without a start."""
    names = [f"{kind}_{split}.npy" for split in ("train", "test") for kind in "xy"]
    content = read_members(files[_NPZ], dict.fromkeys(names, _MOST_BYTES))
    return {
        split: _encoded(
            _ranks(content[f"x_{split}.npy"], f"x_{split} in {_NPZ}"),
            _labels(content[f"y_{split}.npy"], f"y_{split} in {_NPZ}"),
        )
        for split in ("train", "test")
    }


def _ranks(content: bytes, name: str) -> list[list[int]]:
    """Lists of numbers in a pickled array, as tokens."""
    state = getattr(read_pickled(content[_head(content, name)[1] :], name), "state", None)
    rows = state[4] if isinstance(state, tuple) and len(state) == 5 else None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise wrong(name, "does not hold lists of numbers")
    if not all(type(rank) is int and rank > 0 for row in rows for rank in row):
        raise wrong(name, "holds something that is not a rank from 1 on")
    most = _VOCABULARY - _FIRST_WORD  # Keras adds 3, so that 3 itself is never used
    return [[rank + _FIRST_WORD if rank < most else 2 for rank in row] for row in rows]


def _from_folder(folder: Path) -> Arrays | None:
    """From the unpacked texts, or a file `imdb*.npz` of plain arrays: `train_tokens` are the ranks
    of all reviews one after the other, review k from `train_offsets[k]` to `train_offsets[k + 1]`;
    `train_labels`."""
    for place in folders_in(folder, lambda one: not (one / "train").is_dir()):
        if all((place / split / kind).is_dir() for split in _SPLITS for kind in ("pos", "neg")):
            return _from_texts(_in_folder(place))
    files = [path for path in Inside(folder).like("imdb*.npz") if has_array(path, "train_offsets")]
    if not files:
        return None
    kinds = ("tokens", "offsets", "labels")
    names = [f"{split}_{kind}" for split in ("train", "test") for kind in kinds]
    arrays = read_npz(files[0], names, _MOST_BYTES)
    return {
        split: _flat(
            {kind: arrays[f"{split}_{kind}"] for kind in kinds}, f"{split} in {files[0].name}"
        )
        for split in ("train", "test")
    }


def _flat(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    tokens, offsets, labels = arrays["tokens"], arrays["offsets"], arrays["labels"]
    if any(a.ndim != 1 or a.dtype.kind not in "iu" for a in (tokens, offsets, labels)):
        raise wrong(name, "does not hold rows of whole numbers")
    if not len(labels) or len(offsets) != len(labels) + 1:
        raise wrong(name, f"has {len(offsets):,} offsets for {len(labels):,} labels")
    if offsets[0] != 0 or offsets[-1] != len(tokens) or (offsets[1:] < offsets[:-1]).any():
        raise wrong(name, "has offsets that do not lead through its tokens")
    if (tokens < 1).any():
        raise wrong(name, "holds something that is not a rank from 1 on")
    if not np.isin(labels, (0, 1)).all():
        raise wrong(name, "holds labels other than 0 and 1")
    known = tokens < _VOCABULARY - _FIRST_WORD
    words = np.where(known, np.where(known, tokens, 0).astype(np.int32) + _FIRST_WORD, 2)
    rows = [words[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    return _encoded(rows, [int(label) for label in labels])


def _labels(content: bytes, name: str) -> list[int]:
    dtype, start = _head(content, name)
    if dtype.kind not in "iu" or (len(content) - start) % dtype.itemsize:
        raise wrong(name, "does not hold labels")
    labels = np.frombuffer(content, dtype, offset=start)
    if not np.isin(labels, (0, 1)).all():
        raise wrong(name, "holds labels other than 0 and 1")
    return [int(label) for label in labels]


def _head(content: bytes, name: str) -> tuple[np.dtype, int]:
    """(type, position of the content) of an array file."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        return read(file)[2], file.tell()
    except (ValueError, KeyError) as error:
        raise wrong(name, f"is not an array file ({error})") from error


DATASET = Dataset(
    name="imdb",
    title="Large Movie Review Dataset (A. Maas et al., 2011)",
    licence="none stated; for research",
    rows=(25_000, 25_000),
    convert=_convert,
    synthetic=partial(_synthetic.sequences, length=_LENGTH, vocabulary=_VOCABULARY),
    downloads=downloads(_TEXTS, "http://ai.stanford.edu/~amaas/data/sentiment/"),
    packagings=(
        Packaging(
            "Keras' arrays",
            downloads(_ARRAYS, "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"),
            _from_npz,
        ),
    ),
    from_folder=_from_folder,
    proof=partial(_synthetic.sequences, length=24, vocabulary=60),
)
