"""A stand-in for NVIDIA's driver library that answers every call with "no device".

GPU builds such as MXNet's can't even be imported where there is no `libcuda.so.1`. With this one
they can, and then compute on the CPU: so a GPU build is proven on a machine without a GPU. It is
never put into an image, where it would hide the driver. It is written here byte by byte because a
machine that runs dlbench need not have a compiler.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from dlbench import paths

SONAME = "libcuda.so.1"
_PAGE = 0x1000
_NO_DEVICE = b"\xb8\x64\x00\x00\x00\xc3"
"""mov eax, 100 (CUDA_ERROR_NO_DEVICE); ret"""
_NAMES = Path(__file__).with_name("driver_functions.txt")


def folder() -> Path:
    """A folder that holds the stand-in, and nothing else; made if need be."""
    place = paths.cache() / "stub-driver"
    content = library(SONAME, function_names())
    file = place / SONAME
    if not file.is_file() or file.read_bytes() != content:
        place.mkdir(parents=True, exist_ok=True)
        written = place / f"{SONAME}.new"
        written.write_bytes(content)
        written.chmod(0o755)
        written.replace(file)
    return place


def function_names() -> list[str]:
    """The driver's functions that the GPU builds of the catalog are linked to."""
    return _NAMES.read_text(encoding="utf-8").split()


def library(soname: str, functions: Sequence[str]) -> bytes:
    """A shared library (ELF, x86_64) in which each of these functions returns "no device"."""
    names = dict.fromkeys((soname, *functions), 0)
    strings = b"\0"
    for name in names:
        names[name] = len(strings)
        strings += name.encode() + b"\0"
    count = len(functions) + 1
    header_bytes, symbol_bytes = 64 + 4 * 56, 24 * count
    # One bucket, one chain through all symbols: nobody looks up often enough for more.
    chain = [*range(2, count), 0] if functions else []
    table = struct.pack(f"<{3 + count}I", 1, count, 1 if functions else 0, 0, *chain)
    symbols_at = header_bytes
    strings_at = symbols_at + symbol_bytes
    table_at = _aligned(strings_at + len(strings), 8)
    code_at = _aligned(table_at + len(table), 16)
    dynamic_at = _aligned(code_at + len(_NO_DEVICE), _PAGE)
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + b"".join(
        struct.pack("<IBBHQQ", names[name], 0x12, 0, 1, code_at, len(_NO_DEVICE))
        for name in functions
    )
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in (
            (14, names[soname]), (4, table_at), (5, strings_at), (10, len(strings)),
            (6, symbols_at), (11, 24), (0, 0),
        )
    )  # fmt: skip
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    readable, writable, executable = 4, 2, 1
    fixed = code_at + len(_NO_DEVICE)
    header += _segment(1, readable | executable, 0, fixed, _PAGE)
    header += _segment(1, readable | writable, dynamic_at, len(dynamic), _PAGE)
    header += _segment(2, readable | writable, dynamic_at, len(dynamic), 8)
    header += _segment(0x6474E551, readable | writable, 0, 0, 16)  # no executable stack
    content = bytearray(dynamic_at) + dynamic
    for place, part in (
        (0, header), (symbols_at, symbols), (strings_at, strings), (table_at, table),
        (code_at, _NO_DEVICE),
    ):  # fmt: skip
        content[place : place + len(part)] = part
    return bytes(content)


def _segment(kind: int, flags: int, place: int, size: int, alignment: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, place, place, place, size, size, alignment)


def _aligned(place: int, to: int) -> int:
    return -(-place // to) * to
