"""Whatever a trial leaves behind, reading it is safe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlbench.engines.boundedlog import BoundedLog
from dlbench.engines.outfolder import ENDLESS, clear, open_regular, size


def test_size_counts_what_is_there_and_follows_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "deep/er").mkdir(parents=True)
    (out / "deep/er/file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "outside").write_bytes(b"x" * 5_000_000)
    (out / "link").symlink_to(tmp_path / "outside")
    (out / "loop").symlink_to(out, target_is_directory=True)
    os.mkfifo(out / "pipe")
    assert 1_000_000 <= size(out) < 1_200_000
    assert size(out / "loop") == 0
    assert size(out / "nowhere") == 0


def test_a_sparse_file_fills_no_disk(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert size(tmp_path) < 1 << 20


def test_too_many_files_or_levels_are_endless(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    assert size(tmp_path, entries=29) == ENDLESS
    assert size(tmp_path, entries=30) < ENDLESS
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    assert size(tmp_path) == ENDLESS


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"hello")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with open_regular(tmp_path / "file") as file:
        assert file.read() == b"hello"
    for name in ("link", "pipe", "folder", "nowhere"):
        with pytest.raises(OSError):
            open_regular(tmp_path / name)


def test_a_bounded_log_keeps_both_ends(tmp_path: Path) -> None:
    with BoundedLog(tmp_path / "log", head=10, tail=5) as log:
        for number in range(100):
            log.write(b"%02d" % number)
    text = (tmp_path / "log").read_bytes()
    assert text.startswith(b"0001020304\n[dlbench:")
    assert text.endswith(b"]\n79899")
    assert b" 185 bytes are left out" in text
    with BoundedLog(tmp_path / "short", head=10, tail=5) as log:
        log.write(b"exactly fifteen")
    assert (tmp_path / "short").read_bytes() == b"exactly fifteen"


def test_a_full_disk_does_not_stop_the_trial() -> None:
    with BoundedLog(Path("/dev/full")) as log:
        log.write(b"x" * 100_000)
        log.write(b"x" * 100_000)


def test_a_log_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched")
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        BoundedLog(tmp_path / "log")
    assert (tmp_path / "victim").read_text() == "untouched"


def test_clear_deletes_everything_and_follows_nothing(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    (out / "deep/er").mkdir(parents=True)
    (out / "deep/er/file").write_text("x")
    other.mkdir()
    (other / "kept").write_text("x")
    (out / "link").symlink_to(other)
    (out / "deep/link").symlink_to(other / "kept")
    os.mkfifo(out / "pipe")
    for _ in range(3000):  # deeper than Python can descend, and a longer path than there can be
        (out / "x").mkdir()
        (out / "x/file").write_text("x")
        if (out / "deepest").exists():
            (out / "deepest").rename(out / "x/y")
        (out / "x").rename(out / "deepest")
    (out / "deep").chmod(0)
    clear(out)
    assert list(out.iterdir()) == []
    assert (other / "kept").exists()
    (tmp_path / "to-other").symlink_to(other)
    clear(tmp_path / "to-other")
    clear(tmp_path / "none")
    assert (other / "kept").exists()
