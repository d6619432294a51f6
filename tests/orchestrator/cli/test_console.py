"""Numbers and sentences as people read them."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from dlbench.cli import console
from dlbench.cli.console import folded, megabytes, seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0123, "12 ms"),
        (0.949, "949 ms"),
        (0.96, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1:00 min"),
        (61, "1:01 min"),
        (3599.6, "1:00:00 h"),
        (90061, "25:01:01 h"),
    ],
)
def test_durations(value: float | None, text: str) -> None:
    assert seconds(value) == text


def test_sizes() -> None:
    assert (megabytes(None), megabytes(1.5e9)) == ("-", "1,500 MB")


def test_a_sentence_is_folded_between_words_and_whole_in_a_pipe() -> None:
    text = "dlbench: No GPU is seen here (libnvidia-ml.so.1 was not found)."
    assert folded(text, 9, None) == text
    assert folded(text, 9, 40).split("\n") == [
        "dlbench: No GPU is seen here",
        "         (libnvidia-ml.so.1 was not",
        "         found).",
    ]
    assert folded("       " + text, 7, 200) == "       " + text
    assert folded("one\n\ntwo", 2, 40) == "one\n\ntwo"
    assert folded("a/path/that/is/longer/than/the/terminal", 5, 10).count("\n") == 0


def _listing(stdout: int | None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    every = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    return subprocess.run(
        [sys.executable, "-m", "dlbench", "claims", "tian2020"],
        stdout=stdout, stderr=subprocess.PIPE, env=every, timeout=120, check=False,
    )  # fmt: skip


def test_a_reader_that_has_gone_is_no_failed_trial() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = _listing(writing)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_locale_without_the_letters_of_a_text() -> None:
    ended = _listing(subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"\\xa7" in ended.stdout


def test_a_table_s_title_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    narrow = Console(file=shown, width=30, force_terminal=True, color_system=None)
    monkeypatch.setattr(console, "stdout", lambda: narrow)
    console.print_table(["release"], [["mxnet"]], "cifar10-cnn (sample data, 1 epoch, scale smoke)")
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    assert lines[:2] == ["cifar10-cnn (sample data, 1", "epoch, scale smoke)"]


def test_ctrl_c_while_it_starts_is_no_traceback() -> None:
    program = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "dlbench.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
runpy.run_module("dlbench", run_name="__main__")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
