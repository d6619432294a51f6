"""English and Spanish sentences of Tatoeba, as manythings.org packs them: the first 100,000 pairs.

Many English sentences have several translations: all pairs of one English sentence are in the same
split, so that no test sentence has been trained on. Words are numbered by frequency in the training
split: 0 pads, 1 starts and 2 ends a sentence, 3 stands for all other words. `target_in` begins with
the start, `target_out` is the same one word further and ends with the end; `mask` is 1 up to there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging, _synthetic, downloads
from dlbench.datasets._reading import as_text, read_file, read_members, wrong

Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""The words of an English sentence and of its translation."""
_ARCHIVE, _TEXT = "spa-eng.zip", "spa.txt"
_TRAIN, _TEST = 80_000, 20_000
_SEED = 42
_LENGTHS = (18, 22)
_VOCABULARIES = (10_000, 20_000)
_START, _END, _OTHER, _FIRST_WORD = 1, 2, 3, 4
_MOST_BYTES = 100_000_000
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")


def _from_archive(files: Mapping[str, Path]) -> Arrays:
    return _arrays(read_members(files[_ARCHIVE], {_TEXT: _MOST_BYTES})[_TEXT])


def _from_text(files: Mapping[str, Path]) -> Arrays:
    return _arrays(read_file(files[f"spa-eng/{_TEXT}"], _MOST_BYTES))


def _arrays(content: bytes) -> Arrays:
    train, test = split_by_sentence(_pairs(content), _TRAIN, _TEST)
    numbers = tuple(
        _numbers((pair[side] for pair in train), _VOCABULARIES[side]) for side in (0, 1)
    )
    return {split: _encoded(pairs, *numbers) for split, pairs in (("train", train), ("test", test))}


def _pairs(content: bytes) -> list[Pair]:
    """The first pairs of the file; newer files have a third column, which says who wrote them."""
    pairs: list[Pair] = []
    for number, line in enumerate(as_text(content, _TEXT).splitlines(), 1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise wrong(_TEXT, f"has no sentence with its translation in line {number}")
        pairs.append((words_of(columns[0]), words_of(columns[1])))
        if len(pairs) == _TRAIN + _TEST:
            return pairs
    raise wrong(_TEXT, f"has {len(pairs):,} pairs where {_TRAIN + _TEST:,} or more were expected")


def words_of(sentence: str) -> tuple[str, ...]:
    """Words and signs in lower case; accents are part of a letter, however they are written."""
    return tuple(_WORD.findall(unicodedata.normalize("NFC", sentence).lower()))


def split_by_sentence(
    pairs: Iterable[Pair], train: int, test: int
) -> tuple[list[Pair], list[Pair]]:
    """`train` and `test` pairs such that no English sentence is in both."""
    groups: dict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair[0]].append(pair)
    sentences = list(groups)
    tested: list[Pair] = []
    trained: list[Pair] = []
    for k in np.random.RandomState(_SEED).permutation(len(sentences)):
        group = groups[sentences[k]]
        fits = len(tested) + len(group) <= test
        (tested if fits else trained).extend(group)
    return trained[:train], tested


def _numbers(sentences: Iterable[tuple[str, ...]], vocabulary: int) -> dict[str, int]:
    counts = Counter(word for words in sentences for word in words)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: vocabulary - _FIRST_WORD]
    return {word: number for number, word in enumerate(frequent, _FIRST_WORD)}


def _encoded(
    pairs: list[Pair], source_numbers: Mapping[str, int], target_numbers: Mapping[str, int]
) -> dict[str, np.ndarray]:
    rows, (source_length, target_length) = len(pairs), _LENGTHS
    source = np.zeros((rows, source_length), np.int32)
    lengths = np.zeros(rows, np.int32)
    target = np.zeros((rows, target_length + 1), np.int32)
    mask = np.zeros((rows, target_length), np.float32)
    for row, (english, spanish) in enumerate(pairs):
        own = [source_numbers.get(word, _OTHER) for word in english[:source_length]] or [_OTHER]
        source[row, : len(own)] = own
        lengths[row] = len(own)
        own = [target_numbers.get(word, _OTHER) for word in spanish[: target_length - 1]]
        target[row, : len(own) + 2] = [_START, *own, _END]
        mask[row, : len(own) + 1] = 1
    return {
        "source": source,
        "source_length": lengths,
        "target_in": np.where(target[:, :-1] == _END, 0, target[:, :-1]),
        "target_out": target[:, 1:].copy(),
        "mask": mask,
    }


def _twin(lengths: tuple[int, int], vocabularies: tuple[int, int]) -> Callable[[int, int], Arrays]:
    return partial(
        _synthetic.translations, lengths=lengths, vocabularies=vocabularies, first=_FIRST_WORD
    )


DATASET = Dataset(
    name="manythings",
    title="Tab-delimited sentence pairs, English and Spanish (manythings.org, tatoeba.org)",
    licence="CC BY 2.0 FR",
    rows=(_TRAIN, _TEST),
    convert=_from_archive,
    synthetic=_twin(_LENGTHS, _VOCABULARIES),
    downloads=downloads(
        {_ARCHIVE: (0, "")},
        "http://storage.googleapis.com/download.tensorflow.org/data/",
        "https://www.manythings.org/anki/",
    ),
    packagings=(Packaging("unpacked", (Download(f"spa-eng/{_TEXT}", packed=True),), _from_text),),
    notes="the first 100,000 pairs; of 2018: 118,964 pairs. No checksum is published, and the file"
    " grows: the digest says which one was used. elshawi2021 split at random, which puts the same"
    " sentence into both splits",
    proof=_twin((9, 8), (40, 50)),
)
