"""Arrays that a trial wrote: read as they are, or refused before they cost anything."""

from __future__ import annotations

import io
import os
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dlbench.campaigns.array_file import read_arrays
from dlbench.errors import UserError

_LIMIT = 1_000_000


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """The beginning of an array file that claims this shape."""
    file = io.BytesIO()
    claimed = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, claimed)
    return file.getvalue()


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    kernel = np.arange(12, dtype=np.float32).reshape(3, 4)
    saved = {"dense.kernel": kernel, "column.major": np.asfortranarray(kernel), "none": np.empty(0)}
    np.savez_compressed(tmp_path / "x.npz", **saved)  # type: ignore[arg-type]
    arrays = read_arrays(tmp_path / "x.npz", _LIMIT)
    assert arrays.keys() == saved.keys()
    for name, array in saved.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_objects_links_and_pipes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, objects=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="holds objects"):
        read_arrays(path, _LIMIT)
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="can't be read"):
        read_arrays(path, _LIMIT)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="not a plain file"):
        read_arrays(path, _LIMIT)


@pytest.mark.parametrize(
    ("shape", "descr"),
    [((2**40,), "<f8"), ((2**40, 10), "<f4"), ((2**62, 2**62), "<f8"), ((2**40,), "|S0"),
     ((-1, -8), "<f8")],
)  # fmt: skip
def test_a_header_that_claims_too_much_is_refused(
    tmp_path: Path, shape: tuple[int, ...], descr: str
) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as members:
        members.writestr("big.npy", header(shape, descr) + bytes(64))
    with pytest.raises(UserError, match="claims more numbers than it holds"):
        read_arrays(tmp_path / "x.npz", _LIMIT)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    zeros = 200_000_000
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as members,
        members.open("big.npy", "w") as member,
    ):
        member.write(header((zeros // 8,)))
        for _ in range(zeros // 1_000_000):
            member.write(bytes(1_000_000))
    assert (tmp_path / "x.npz").stat().st_size < _LIMIT
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="more than"):
        read_arrays(tmp_path / "x.npz", _LIMIT)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_member_that_is_longer_than_it_says_gives_no_more_than_it_says(tmp_path: Path) -> None:
    """The sizes in the zip's directory are claims too."""
    content = header((1000,)) + bytes(8000)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("big.npy", content)
    raw = (tmp_path / "x.npz").read_bytes()
    size = len(content).to_bytes(4, "little")
    assert raw.count(size) == 2  # once in the member's own header, once in the directory
    (tmp_path / "x.npz").write_bytes(raw.replace(size, (200).to_bytes(4, "little")))
    with pytest.raises(UserError, match="can't be read"):
        read_arrays(tmp_path / "x.npz", _LIMIT)


@pytest.mark.parametrize("text", ["(" * 4000, "{'descr': [", "-" * 4000 + "1", "{}", "\0\n"])
def test_a_header_of_nonsense_is_refused(tmp_path: Path, text: str) -> None:
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as members:
        members.writestr("odd.npy", content)
    with pytest.raises(UserError, match="can't be read"):
        read_arrays(tmp_path / "x.npz", _LIMIT)
