"""Files of weights made by hand, byte by byte: no program that writes them is needed."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
_SAFE = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "uint16": "BF16"}
_STORAGE = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long",
            "uint16": "BFloat16"}  # fmt: skip
MAGIC = 0x1950A86A20F9469CFC6C


def bfloat16(values: np.ndarray) -> np.ndarray:
    """As files have them; arrays of uint16 are written as bfloat16 here."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def safetensors(path: Path, arrays: Arrays, **changes: Any) -> Path:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body, end = b"", 0
    for name, values in arrays.items():
        content = np.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": _SAFE[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [end, end + len(content)]}  # fmt: skip
        body, end = body + content, end + len(content)
    header.update(changes)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


# ---- pickles, opcode by opcode ------------------------------------------------------------------


def text(value: str) -> bytes:
    content = value.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def pair(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


ORDERED = named("collections", "OrderedDict") + b")R"


def storage(kind: str, key: str, count: int, *more: bytes) -> bytes:
    parts = (text("storage"), named("torch", f"{kind}Storage"), text(key), text("cpu"))
    return pair(*parts, whole(count), *more) + b"Q"


def tensor(values: np.ndarray, key: str, *more: bytes, **claims: Any) -> bytes:
    """The call that makes it; `claims` are offset, shape, strides, count that are not its own."""
    steps = tuple(s // values.itemsize for s in values.strides)
    strides = claims.get("strides", steps)
    shape, count = claims.get("shape", values.shape), claims.get("count", values.size)
    parts = (
        storage(_STORAGE[str(values.dtype)], key, count, *more),
        whole(claims.get("offset", 0)), pair(*map(whole, shape)), pair(*map(whole, strides)),
        b"\x89", ORDERED,
    )  # fmt: skip
    return named("torch._utils", "_rebuild_tensor_v2") + pair(*parts) + b"R"


def state(arrays: Arrays, *more: bytes) -> bytes:
    """A state_dict as PyTorch pickles it, with its _metadata."""
    items = b"".join(text(n) + tensor(v, str(k), *more) for k, (n, v) in enumerate(arrays.items()))
    attributes = b"}" + text("_metadata") + ORDERED + b"s"
    return ORDERED + b"(" + items + b"u" + attributes + b"b"


def pickled(value: bytes) -> bytes:
    return b"\x80\x02" + value + b"."


def torch_zip(path: Path, arrays: Arrays, value: bytes | None = None, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled(state(arrays) if value is None else value))
        archive.writestr("archive/byteorder", b"little")
        for key, values in enumerate(arrays.values()):
            archive.writestr(f"archive/data/{key}", np.ascontiguousarray(values).tobytes())
        archive.writestr("archive/version", b"3\n")
        for name, content in members.items():
            archive.writestr(f"archive/{name}", content)
    return path


def torch_legacy(path: Path, arrays: Arrays) -> Path:
    out = io.BytesIO()
    magic = b"\x8a\x0a" + MAGIC.to_bytes(10, "little")
    system = b"}" + text("little_endian") + b"\x88s"
    for value in (magic, whole(1001), system, state(arrays, b"N")):
        out.write(pickled(value))
    keys = b"](" + b"".join(text(str(k)) for k in range(len(arrays))) + b"e"
    out.write(pickled(keys))
    for values in arrays.values():
        out.write(struct.pack("<q", values.size) + np.ascontiguousarray(values).tobytes())
    path.write_bytes(out.getvalue())
    return path
