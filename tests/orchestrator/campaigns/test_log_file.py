"""What a trial printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlbench.campaigns.log_file import log_tail, read_log
from dlbench.errors import UserError


def test_the_tail_of_a_log_names_no_home_folder(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("".join(f"{number} {Path.home()}/x\n" for number in range(5000)))
    lines = log_tail(log)
    assert lines[-1] == "4999 ~/x"
    assert len(lines) == 20
    assert log_tail(tmp_path / "none") == []


def test_the_tail_acts_on_no_terminal_and_waits_on_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"\x1b]0;title\x07a\tb\xff\n")
    assert log_tail(tmp_path / "log.txt") == ["\\x1b]0;title\\x07a\tb\ufffd"]
    os.mkfifo(tmp_path / "pipe")
    assert log_tail(tmp_path / "pipe") == []
    with pytest.raises(UserError, match="pipe is a pipe"):
        read_log(tmp_path / "pipe")
