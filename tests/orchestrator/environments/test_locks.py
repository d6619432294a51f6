"""A lock is read strictly: whatever is wrong with it is named, with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlbench.environments import locks
from dlbench.environments.targets import Target
from dlbench.errors import UserError

A, B, C = "a" * 64, "b" * 64, "c" * 64
WHOLE = f"""# A heading.
# pure-1.0-py3-none-any.whl 100
pure==1.0 \\
    --hash=sha256:{A}
# fast_one-2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl 300
# fast_one-2.0-cp36-cp36m-manylinux1_x86_64.whl
Fast_One==2.0 \\
    --hash=sha256:{B} \\
    --hash=sha256:{C}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cpu.lock"
    path.write_text(text)
    return path


def test_a_lock_tells_which_file_serves_which_python(tmp_path: Path) -> None:
    lock = locks.read(written(tmp_path, WHOLE))
    assert [entry.pin for entry in lock.entries] == ["pure==1.0", "fast-one==2.0"]
    chosen = {p: [f.sha256 for _, f in lock.files_for(Target(p))] for p in ("3.11", "3.6")}
    assert chosen == {"3.11": [A, B], "3.6": [A, C]}
    assert [file.size for _, file in lock.files_for(Target("3.6"))] == [100, None]


def test_a_python_or_machine_without_a_file_is_refused_by_name(tmp_path: Path) -> None:
    lock = locks.read(written(tmp_path, WHOLE))
    with pytest.raises(UserError, match=r"no file of fast-one==2.0 for Python 3.12 on x86_64"):
        lock.files_for(Target("3.12"))
    with pytest.raises(UserError, match=r"on aarch64"):
        lock.files_for(Target("3.11", "aarch64"))


def test_written_locks_read_back_the_same(tmp_path: Path) -> None:
    lock = locks.read(written(tmp_path, WHOLE))
    again = tmp_path / "again.lock"
    locks.write(again, lock.entries, "Another heading.")
    assert set(locks.read(again).entries) == set(lock.entries)


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        (f"    --hash=sha256:{A}", "    --hash=sha256:abc", 3, "64 hex digits"),
        (f" \\\n    --hash=sha256:{A}", "", 3, "pure==1.0 has no hash"),
        ("pure==1.0", "pure>=1.0", 3, "not of the form name==version"),
        ("# pure-1.0-py3-none-any.whl 100\n", "", 2, "1 hashes but 0 files"),
        (f" \\\n    --hash=sha256:{C}\n", " \\\n", 7, "breaks off"),
        ("pure==1.0", "<<<<<<< HEAD\npure==1.0", 3, "not of the form name==version"),
        ("fast_one-2.0-cp36-cp36m-manylinux1_x86_64.whl", "fast_one-2.0.tar.gz", 1, "setuptools"),
        (WHOLE, "", 1, "names no package"),
        (WHOLE, WHOLE * 2, 1, "twice"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, old: str, new: str, line: int, word: str) -> None:
    assert old in WHOLE
    path = written(tmp_path, WHOLE.replace(old, new))
    with pytest.raises(UserError) as caught:
        locks.read(path)
    assert f"{path}, line {line}, is broken" in caught.value.problem
    assert word in caught.value.problem
    assert caught.value.remedy


def test_binary_rubbish_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "cpu.lock"
    path.write_bytes(b"\xff\xfe\x00garbage")
    with pytest.raises(UserError, match="not a text file"):
        locks.read(path)
