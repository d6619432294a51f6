"""Penn Treebank and the sentence pairs: windows, shifted targets, masks, no sentence in both."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import find, manythings, ptb
from dlbench.errors import UserError


def test_windows_and_what_follows() -> None:
    cut = ptb.windows(list(range(20)), length=6, step=5)
    assert cut["tokens"].tolist() == [list(range(k, k + 6)) for k in (0, 5, 10)]
    assert np.array_equal(cut["next"], cut["tokens"] + 1)


def test_rows_of_the_penn_treebank() -> None:
    for rows, tokens in zip(find("ptb").rows, (929_589, 82_430), strict=True):
        assert rows == len(ptb.windows([0] * tokens)["tokens"])
    assert "1,088,220" in find("ptb").notes


def test_ends_of_lines_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptb, "_VOCABULARY", 4)
    text = b" the cat \n the dog \n" * 20
    arrays = ptb._arrays({"ptb.train.txt": text, "ptb.test.txt": text[: len(text) // 2]})
    # by frequency, then by name: <eos> 40, the 40, cat 20, dog 20
    assert arrays["train"]["tokens"][0, :6].tolist() == [1, 2, 0, 1, 3, 0]
    with pytest.raises(UserError, match=r"words that ptb\.train\.txt lacks, such as 'bird'"):
        ptb._arrays({"ptb.train.txt": text, "ptb.test.txt": b"the bird\n"})
    with pytest.raises(UserError, match="has 3 different words, not 4"):
        ptb._arrays({"ptb.train.txt": b"the cat\n" * 30, "ptb.test.txt": text})
    with pytest.raises(UserError, match="not a text in UTF-8"):
        ptb._arrays({"ptb.train.txt": b"\xff\n", "ptb.test.txt": text})


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve pairs, of eight different sentences; newer files have a third column."""
    monkeypatch.setattr(manythings, "_TRAIN", 8)
    monkeypatch.setattr(manythings, "_TEST", 4)
    lines = [f"Go {k % 8}!\tVe {k}, ya.\tCC-BY" for k in range(12)]
    lines += ["Not read\tNo"]
    path = tmp_path / "spa-eng.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("spa-eng/_about.txt", "x")
        archive.writestr("spa-eng/spa.txt", "\n".join(lines))
    return path


def test_targets_are_shifted_by_one_and_masked(pairs: Path) -> None:
    arrays = find("manythings").convert({pairs.name: pairs})
    assert [len(arrays[split]["source"]) for split in ("train", "test")] == [8, 4]
    train = arrays["train"]
    words = train["mask"].sum(axis=1).astype(int)
    assert set(words) == {6}, "ve, a number, a comma, ya, a full stop, the end"
    for row in range(8):
        given, wanted = train["target_in"][row], train["target_out"][row]
        assert given[0] == 1
        assert given[1:6].tolist() == wanted[:5].tolist()
        assert wanted[5] == 2
        assert not wanted[6:].any()
        assert not given[6:].any()
    assert train["source_length"].tolist() == [3] * 8
    assert train["source"].dtype == np.int32


def test_no_sentence_is_in_both_splits(pairs: Path) -> None:
    content = [((f"s{k % 70}",), (f"t{k}",)) for k in range(100)]
    train, test = manythings.split_by_sentence(content, 80, 20)
    assert (len(train), len(test)) == (80, 20)
    assert not {pair[0] for pair in train} & {pair[0] for pair in test}


def test_words() -> None:
    assert manythings.words_of("¿Cómo ESTÁS, O'Brien?") == (
        "¿",
        "cómo",
        "estás",
        ",",
        "o'brien",
        "?",
    )
    assert manythings.words_of("cómo") == ("cómo",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Go.\tVe.\nbroken\n", "has no sentence with its translation in line 2"),
        (b"Go.\tVe.\n", "has 1 pairs where 100,000 or more were expected"),
        (b"\xff\xfe", "is not a text in UTF-8"),
    ],
)
def test_wrong_pairs_are_named(content: bytes, words: str) -> None:
    with pytest.raises(UserError, match=words):
        manythings._arrays(content)
