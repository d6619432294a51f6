"""Reads `.safetensors`: eight bytes of length, a JSON header, and the numbers, without a gap."""

from __future__ import annotations

import json
import math
from typing import IO, Any

from dlbench.weights.tensors import (
    LONGEST_NAME,
    MOST_TENSORS,
    BadTensors,
    Tensor,
    bytes_of,
    checked_shape,
    numbers_of,
    shown,
)

_MOST_HEADER = 16 << 20
_TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def is_safetensors(head: bytes, size: int) -> bool:
    """By its first bytes: a length that fits, and the beginning of an object."""
    return len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def read_safetensors(file: IO[bytes], size: int) -> dict[str, Tensor]:
    """Its tensors in the order of the numbers; `size` is that of the file."""
    length = int.from_bytes(file.read(8), "little")
    if length > min(_MOST_HEADER, size - 8):
        raise BadTensors(f"its header claims {length:,} bytes")
    entries = _header(file.read(length))
    if len(entries) > MOST_TENSORS:
        raise BadTensors(f"it has more than {MOST_TENSORS:,} tensors")
    placed = sorted(((*_place(name, entry), name) for name, entry in entries.items()))
    end = 0
    for first, behind, name in placed:  # before anything is read
        if first != end:
            raise BadTensors(f"{shown(name)} {'overlaps' if first < end else 'leaves a gap behind'}"
                          " the tensor before it")  # fmt: skip
        end = behind
    if end != size - 8 - length:
        raise BadTensors(f"its tensors end at byte {end:,}, its numbers at {size - 8 - length:,}")
    return {name: _tensor(file, name, entries[name], behind - first)
            for first, behind, name in placed}  # fmt: skip


def _header(content: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise BadTensors("its header has a name twice")
        return made

    try:
        header = json.loads(content, object_pairs_hook=once)
    except BadTensors:
        raise
    except (ValueError, RecursionError) as error:
        raise BadTensors("its header is not JSON") from error
    if not isinstance(header, dict):
        raise BadTensors("its header is not an object")
    header.pop("__metadata__", None)
    return header


def _place(name: str, entry: Any) -> tuple[int, int]:
    """Where the numbers begin and end; as many bytes as shape and type say."""
    if len(name) > LONGEST_NAME:
        raise BadTensors(f"a tensor's name has {len(name):,} characters")
    dtype = entry.get("dtype") if isinstance(entry, dict) else None
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise BadTensors(f"{shown(name)} is of a type that can't be read")
    offsets = entry.get("data_offsets")
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or any(isinstance(o, bool) or not isinstance(o, int) for o in offsets)
        or not 0 <= offsets[0] <= offsets[1] < 2**63
    ):
        raise BadTensors(f"{shown(name)} has no proper data_offsets")
    count = math.prod(checked_shape(entry.get("shape"), name))
    if count * bytes_of(_TYPES[dtype]) != offsets[1] - offsets[0]:
        raise BadTensors(
            f"{shown(name)} claims {offsets[1] - offsets[0]:,} bytes for {count:,} numbers"
        )
    return offsets[0], offsets[1]


def _tensor(file: IO[bytes], name: str, entry: dict[str, Any], length: int) -> Tensor:
    content = file.read(length)
    if len(content) != length:
        raise BadTensors(f"{shown(name)} ends too soon")
    stored = _TYPES[entry["dtype"]]
    return Tensor(name, stored, numbers_of(content, stored).reshape(entry["shape"]))
