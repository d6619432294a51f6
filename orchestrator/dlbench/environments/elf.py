"""Reads shared libraries (ELF, 64 bit): their own name, what they are linked to, their GPU code.

Only the few tables that the loader itself reads. A file that is something else, or broken, is None.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRINGS, _STRINGS_SIZE, _SONAME = 0, 1, 5, 10, 14
_FATBIN = struct.pack("<I", 0xBA55ED50)
_PTX, _MACHINE_CODE = 1, 2

Content = bytes | mmap.mmap


@dataclass(frozen=True)
class Library:
    """What a shared library says of itself."""

    soname: str | None
    needed: tuple[str, ...]
    code: Mapping[str, int]
    """The GPU code inside, and in how many bundles: `sm_70` is machine code, `compute_70` is what
    the driver compiles."""


def read(path: Path, *, gpu_code: bool = False) -> Library | None:
    """The library in this file; `gpu_code` looks for GPU code too, which reads all of it."""
    with path.open("rb") as file:
        if path.stat().st_size < 64:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return parse(content, gpu_code=gpu_code)


def parse(content: Content, *, gpu_code: bool = False) -> Library | None:
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    try:
        segments = _segments(content)
        entries = _dynamic(content, segments)
        if not entries:
            return None
        known = dict(reversed(entries))
        start = _offset(segments, known[_STRINGS])
        names = bytes(content[start : start + known[_STRINGS_SIZE]])
        soname = _name(names, known[_SONAME]) if _SONAME in known else None
        needed = tuple(_name(names, value) for tag, value in entries if tag == _NEEDED)
    except (struct.error, KeyError, IndexError, ValueError, OverflowError):
        return None
    return Library(soname, needed, _gpu_code(content) if gpu_code else {})


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def _name(names: bytes, place: int) -> str:
    return names[place : names.index(b"\0", place)].decode("utf-8", "replace")


def _segments(content: Content) -> list[_Segment]:
    (start,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    found = []
    for number in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", content, start + number * size
        )
        found.append(_Segment(kind, offset, address, length))
    return found


def _dynamic(content: Content, segments: list[_Segment]) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    for segment in segments:
        if segment.kind == _DYNAMIC:
            for place in range(segment.offset, segment.offset + segment.size, 16):
                tag, value = struct.unpack_from("<QQ", content, place)
                if tag == _END:
                    break
                entries.append((tag, value))
    return entries


def _offset(segments: list[_Segment], address: int) -> int:
    for segment in segments:
        if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    raise ValueError("an address outside the file")


def _gpu_code(content: Content) -> Mapping[str, int]:
    """From the headers of the bundles that CUDA's compiler puts GPU code in."""
    found: Counter[str] = Counter()
    for match in re.finditer(re.escape(_FATBIN), content):
        place = match.start()
        if place + 16 > len(content):
            continue
        _, version, header, size = struct.unpack_from("<IHHQ", content, place)
        end = place + header + size
        if version != 1 or header != 16 or end > len(content):
            continue
        place += header
        while place + 32 <= end:
            kind, _, header, size = struct.unpack_from("<HHIQ", content, place)
            (architecture,) = struct.unpack_from("<I", content, place + 28)
            if kind not in (_PTX, _MACHINE_CODE) or header < 32:
                break
            if 10 <= architecture < 1000:
                found[f"{'sm' if kind == _MACHINE_CODE else 'compute'}_{architecture}"] += 1
            place += header + size
    return found
