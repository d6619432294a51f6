"""Libraries are taken out of every layout, without running anything; what is hostile is refused."""

from __future__ import annotations

import contextlib
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dlbench.environments import cuda_archives
from dlbench.environments.cuda_sets import Archive
from dlbench.errors import UserError
from tests.orchestrator.environments.libraries import (
    SCRIPT,
    conda_of,
    deb_of,
    library,
    runfile_of,
    tar_of,
)

CUBLAS, CUDART = library("libcublas.so.9.0"), library("libcudart.so.9.0")
FILES = {
    "lib64/libcublas.so.9.0.176": CUBLAS,
    "lib64/libcudart.so.9.0.176": CUDART,
    "lib64/stubs/libcublas.so": library("libcublas.so.9.0")[:-1] + b"x",
    "lib64/libcublas_static.a": b"!<arch>\n",
    "lib64/libcublas_device.so.1": library("libcublas_device.so.1"),
    "nsight/libcudart.so.9.0.176": b"another",
    "bin/install.sh": b"#!/bin/sh\ntouch /tmp/installed\n",
}


def inside(files: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def old_runfile(files: dict[str, bytes]) -> bytes:
    """As up to CUDA 10.0: runfiles in a runfile, one of them the driver's."""
    return runfile_of(
        {
            "run_files/cuda-linux.9.0.176-22781540.run": runfile_of(files),
            "run_files/NVIDIA-Linux-x86_64-384.81.run": b"#! /bin/sh\nskip=853\n\xfd7zXZ\0",
            "run_files/cuda-samples.9.0.176-22781540-linux.run": runfile_of(
                {"libcublas.so.9.0.176": b"of an example"}
            ),
        },
        compressed=False,
    )


LAYOUTS: dict[str, tuple[str, str, Callable[[dict[str, bytes]], bytes]]] = {
    "old runfile": ("runfile", "cuda_9.0.176_linux-run", old_runfile),
    "new runfile": (
        "runfile",
        "cuda_10.1.243_linux.run",
        lambda files: runfile_of(inside(files, "builds/cuda-toolkit")),
    ),
    "newest runfile": (
        "runfile",
        "cuda_11.0.3_linux.run",
        lambda files: runfile_of(
            inside(files, "./builds/libcublas"), compressed=False, script=SCRIPT
        ),
    ),
    "tgz": ("tar", "cudnn.tgz", lambda files: tar_of(inside(files, "cuda"))),
    "txz": ("tar", "nccl.txz", lambda files: tar_of(files, "w:xz")),
    "tar.xz": ("tar", "libcublas-archive.tar.xz", lambda files: tar_of(files, "w:xz")),
    "deb, xz": ("deb", "x.deb", lambda files: deb_of(inside(files, "./usr/local/cuda-9.0"))),
    "deb, gz": ("deb", "x.deb", lambda files: deb_of(files, "gz")),
    "deb, zst": ("deb", "x.deb", lambda files: deb_of(files, "zst")),
    "old conda": ("conda", "cudatoolkit-9.0-0.tar.bz2", lambda files: tar_of(files, "w:bz2")),
    "new conda": ("conda", "cudatoolkit-9.0-0.conda", conda_of),
}


def archive(layout: str, *take: str) -> Archive:
    return Archive(
        ("https://example.invalid/x",), "0" * 64, None, 1, layout, take or ("cublas", "cudart"),
        "terms", "nobody", True,
    )  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_wanted_libraries_are_taken_out_of_every_layout(name: str, tmp_path: Path) -> None:
    layout, file, pack = LAYOUTS[name]
    path, target = tmp_path / file, tmp_path / "libraries"
    target.mkdir()
    path.write_bytes(pack(FILES))
    cuda_archives.take_out(archive(layout), path, target)
    assert {each.name for each in target.iterdir()} == {
        "libcublas.so.9.0.176",
        "libcudart.so.9.0.176",
    }
    assert (target / "libcublas.so.9.0.176").read_bytes() == CUBLAS
    assert cuda_archives.link_sonames(target) == {"libcublas.so.9.0", "libcudart.so.9.0"}
    for name in ("libcudart.so.9.0", "libcudart.so"):
        assert (target / name).resolve().read_bytes() == CUDART
    assert not Path("/tmp/installed").exists()


@pytest.mark.parametrize("layout", ["runfile", "tar", "deb", "conda"])
@pytest.mark.parametrize(
    "content", [b"", b"<html>gone</html>", b"#!/bin/sh\nexit 0\n", b"!<arch>\n", bytes(4096)]
)
def test_a_file_of_another_kind_is_named(layout: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "download.conda" if layout == "conda" else tmp_path / "download"
    path.write_bytes(content)
    with pytest.raises(UserError, match="can't be taken out of download"):
        cuda_archives.take_out(archive(layout), path, tmp_path)


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_archive_that_breaks_off_is_named(name: str, tmp_path: Path) -> None:
    layout, file, pack = LAYOUTS[name]
    path, target = tmp_path / file, tmp_path / "libraries"
    target.mkdir()
    whole = pack({"lib64/libcublas.so.9.0.176": CUBLAS + random.Random(1).randbytes(100_000)})
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="can't be taken out"):
        cuda_archives.take_out(archive(layout), path, target)


HOSTILE = {
    "a package whose part has less than no length": (
        "deb", b"!<arch>\n" + b"x".ljust(48) + b"-60".ljust(10) + b"`\n"
    ),
    "a script of more lines than there are numbers": (
        "runfile", b'#!/bin/sh\nskip="' + b"9" * 5000 + b'"\n'
    ),
    "a script of no line": ("runfile", b'#!/bin/sh\nskip="0"\n' + tar_of(FILES)),
    "files without a name": ("tar", tar_of({".": b"x", "": b"x", "/": b"x"})),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_named(name: str, tmp_path: Path) -> None:
    layout, content = HOSTILE[name]
    path = tmp_path / "download"
    path.write_bytes(content)
    with pytest.raises(UserError, match="can't be taken out of download"):
        cuda_archives.take_out(archive(layout), path, tmp_path)


@pytest.mark.parametrize("name", LAYOUTS)
def test_damaged_bytes_are_never_more_than_an_error(name: str, tmp_path: Path) -> None:
    layout, file, pack = LAYOUTS[name]
    path, whole, draw = tmp_path / file, pack(FILES), random.Random(2)
    for number in range(20):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[draw.randrange(len(damaged))] ^= draw.randrange(1, 256)
        path.write_bytes(damaged)
        target = tmp_path / str(number)
        target.mkdir()
        with contextlib.suppress(UserError):
            cuda_archives.take_out(archive(layout), path, target)
            cuda_archives.link_sonames(target)


def test_a_library_of_no_content_and_any_size_is_not_written(tmp_path: Path) -> None:
    """A sparse member of a few hundred bytes says that it is a terabyte."""
    path, target = tmp_path / "sparse.tar", tmp_path / "libraries"
    target.mkdir()
    member = tarfile.TarInfo("libcublas.so.9.0")
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = tarfile.itn(1 << 40, 12, tarfile.GNU_FORMAT)  # type: ignore[attr-defined]
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(bytes(header) + bytes(1024))
    with pytest.raises(UserError, match="it holds none of cublas"):
        cuda_archives.take_out(archive("tar"), path, target)


def test_a_library_can_t_take_another_s_name(tmp_path: Path) -> None:
    (tmp_path / "libcublas.so.9.0.1").write_bytes(library("libcudart.so.9.0"))
    (tmp_path / "libcudart.so.9.0").write_bytes(CUDART)
    with pytest.raises(UserError, match="which is another library"):
        cuda_archives.link_sonames(tmp_path)
    assert (tmp_path / "libcudart.so.9.0").read_bytes() == CUDART


def test_wanted_headers_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    path, target = tmp_path / "cuda.run", tmp_path / "libraries"
    target.mkdir()
    more = {"include/cuda_fp16.h": b"half", "include/cuda.h": b"no", "doc/cuda_fp16.h": b"no"}
    path.write_bytes(runfile_of({**FILES, **more}))
    cuda_archives.take_out(archive("runfile", "cublas", "cuda_fp16.h"), path, target)
    assert [each.name for each in (target / "include").iterdir()] == ["cuda_fp16.h"]
    assert cuda_archives.link_sonames(target) == {"libcublas.so.9.0"}


def test_an_archive_without_the_libraries_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cudnn.tgz"
    path.write_bytes(tar_of(FILES))
    with pytest.raises(UserError, match="it holds none of cudnn"):
        cuda_archives.take_out(archive("tar", "cudnn"), path, tmp_path)


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    path, target = tmp_path / "evil.tgz", tmp_path / "libraries"
    target.mkdir()
    files = {"../../libcublas.so.9.0": CUBLAS, "/etc/libcudart.so.9.0": CUDART}
    path.write_bytes(tar_of(files, links={"libcublas.so.1": "/etc/passwd"}))
    cuda_archives.take_out(archive("tar"), path, target)
    assert sorted(each.name for each in target.iterdir()) == [
        "libcublas.so.9.0",
        "libcudart.so.9.0",
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["evil.tgz", "libraries"]


def test_a_library_can_t_be_called_by_a_path(tmp_path: Path) -> None:
    (tmp_path / "libcublas.so.9").write_bytes(library("../libcublas.so.9"))
    with pytest.raises(UserError, match="which is not a file name"):
        cuda_archives.link_sonames(tmp_path)


def test_two_different_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "twice.tgz", tmp_path / "libraries"
    target.mkdir()
    path.write_bytes(tar_of({"a/libcublas.so.9.0": CUBLAS, "b/libcublas.so.9.0": CUDART}))
    with pytest.raises(UserError, match="two different files named libcublas"):
        cuda_archives.take_out(archive("tar"), path, target)


def test_the_same_file_twice_is_no_harm(tmp_path: Path) -> None:
    path, target = tmp_path / "twice.tgz", tmp_path / "libraries"
    target.mkdir()
    path.write_bytes(tar_of({"a/libcublas.so.9.0": CUBLAS, "b/libcublas.so.9.0": CUBLAS}))
    cuda_archives.take_out(archive("tar"), path, target)
    assert (target / "libcublas.so.9.0").read_bytes() == CUBLAS


def test_what_is_not_for_this_machine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libcublas.so.9.0").write_text("GROUP ( libcublas.so.9.0.176 )" * 10)
    with pytest.raises(UserError, match="not a library for this kind of machine"):
        cuda_archives.link_sonames(tmp_path)
