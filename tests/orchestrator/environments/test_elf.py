"""Shared libraries are read as the linker wrote them, and a broken one is never believed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dlbench.environments import elf
from tests.orchestrator.environments.libraries import compiled


def fatbin(*entries: tuple[int, int]) -> bytes:
    """A bundle of GPU code: (kind, generation) each, as CUDA's compiler writes its headers."""
    body = b""
    for kind, architecture in entries:
        payload = b"code" * 4
        body += struct.pack("<HHIQ", kind, 0, 64, len(payload))
        body += struct.pack("<IIHHI", 0, 0, 0, 7, architecture) + bytes(32) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_names_and_links_are_those_of_the_linker(tmp_path: Path) -> None:
    other = compiled(tmp_path, "libother.so.3", "-Wl,-soname,libother.so.3")
    path = compiled(
        tmp_path,
        "libthis.so.1.2",
        "-Wl,-soname,libthis.so.1",
        "-Wl,--no-as-needed",
        str(other),
        source="int cuInit(int); int call(void){return cuInit(0);}",
    )
    library = elf.read(path)
    assert library is not None
    assert library.soname == "libthis.so.1"
    assert "libother.so.3" in library.needed and "libc.so.6" in library.needed
    assert library.code == {}


def test_gpu_code_is_found_in_its_bundles(tmp_path: Path) -> None:
    path = compiled(tmp_path, "libgpu.so")
    path.write_bytes(
        path.read_bytes() + fatbin((2, 35), (2, 70), (1, 70)) + b"x" * 9 + fatbin((2, 70), (2, 120))
    )
    library = elf.read(path, gpu_code=True)
    assert library is not None
    assert library.code == {"sm_35": 1, "sm_70": 2, "compute_70": 1, "sm_120": 1}


def test_bytes_that_only_look_like_a_bundle_are_nothing(tmp_path: Path) -> None:
    path = compiled(tmp_path, "libgpu.so")
    magic = struct.pack("<I", 0xBA55ED50)
    broken = fatbin((2, 70))[:-30]
    path.write_bytes(path.read_bytes() + magic + b"\0" * 40 + broken + magic)
    library = elf.read(path, gpu_code=True)
    assert library is not None and library.code == {}


@pytest.mark.parametrize("kept", [0, 1, 10, 63, 64, 100, 500, 1000, 4096])
def test_a_file_that_breaks_off_is_no_library(kept: int, tmp_path: Path) -> None:
    path = compiled(tmp_path, "libwhole.so")
    path.write_bytes(path.read_bytes()[:kept])
    assert elf.read(path) is None


def test_other_files_are_no_libraries(tmp_path: Path) -> None:
    for content in (b"", b"text\n" * 100, b"\x7fELF\x01\x01" + bytes(200), b"\x7fELF\x02\x01" * 40):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert elf.read(path) is None


def test_places_outside_of_every_file_are_no_library(tmp_path: Path) -> None:
    path = compiled(tmp_path, "libwhole.so")
    content = bytearray(path.read_bytes())
    content[32:40] = b"\xff" * 8  # where its table of parts is
    assert elf.parse(bytes(content)) is None
