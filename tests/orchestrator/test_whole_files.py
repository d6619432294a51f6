"""What is written is there whole, or what was there stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.errors import UserError
from dlbench.whole_files import whole_file, whole_folder, write_whole


def test_a_file_that_could_not_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.jsonl"
    write_whole(path, "old")
    with pytest.raises(RuntimeError), whole_file(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "path"
    other.write_text("other")
    path.symlink_to(other)
    write_whole(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "other")


def test_a_folder_appears_whole_and_never_over_another(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(RuntimeError), whole_folder(out) as making:
        (making / "a").touch()
        raise RuntimeError
    assert not list(tmp_path.iterdir())
    with whole_folder(out) as making:
        (making / "a").touch()
    assert (out / "a").is_file()
    with pytest.raises(UserError, match="is not empty"), whole_folder(out):
        pass
