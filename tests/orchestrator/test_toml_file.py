"""TOML of other people."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlbench.toml_file import Table, read_toml


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = ?", "line 1, column 5"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "4300"),
        (b"\xff", "utf-8"),
        (b"a = 1\n" * 1_000_000, "longer than"),
    ],
)
def test_what_can_not_be_read_is_said_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_toml(tmp_path / "x.toml")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(ValueError, match="not a file"):
        read_toml(tmp_path / "x.toml")


def test_a_sentence_of_another_error_gets_no_second_full_stop(tmp_path: Path) -> None:
    error = Table(tmp_path / "x.toml", "layers[1].", {}).error("op", "can't be built: too small.")
    assert error.problem.endswith("`layers[1].op` can't be built: too small.")
