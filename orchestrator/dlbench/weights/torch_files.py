"""Reads the tensors of a PyTorch file (`torch.save`) without executing its pickle.

The pickle is only looked at (pickle_values.py): it may name a state_dict's few functions, which
are done here by hand, and whatever else it names is refused by that name. Both formats are read:
the zip archive, and the one that PyTorch wrote before 1.6.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from dlbench.pickle_values import Call, Name, PickleError, read_first_pickle
from dlbench.weights.tensors import (
    LONGEST_NAME,
    MOST_BYTES,
    MOST_TENSORS,
    BadTensors,
    Tensor,
    Values,
    bytes_of,
    checked_shape,
    numbers_of,
    shown,
)

_MOST_PICKLE = 16 << 20
_MOST_MEMBERS = 20_000
_MOST_NESTED = 8
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32",
    "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip
_WRAPPED = ("state_dict", "model_state_dict", "model", "net", "module")
"""Under which of these names a checkpoint has its weights, the first that it has."""
STATE_DICT = "Save its weights alone: torch.save(model.state_dict(), FILE)."


@dataclass(frozen=True)
class _Storage:
    key: str
    stored: str
    count: int

    @property
    def bytes(self) -> int:
        return self.count * bytes_of(self.stored)


Read = Callable[[_Storage], bytes]


def is_torch_zip(names: list[str]) -> bool:
    return any(name.endswith("/data.pkl") or name == "data.pkl" for name in names)


def read_torch_zip(members: zipfile.ZipFile) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The tensors of an archive, and what was left out."""
    listed = {info.filename: info for info in members.infolist()}
    if len(listed) > _MOST_MEMBERS or len(listed) != len(members.infolist()):
        raise BadTensors("it has too many members, or one twice")
    pickles = [name for name in listed if name.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1:
        raise BadTensors("it does not have exactly one data.pkl")
    folder = pickles[0].removesuffix("data.pkl")
    if f"{folder}constants.pkl" in listed:
        raise BadTensors("it is a TorchScript program, not a file of weights")
    if listed[pickles[0]].file_size > _MOST_PICKLE:
        raise BadTensors(f"its data.pkl has more than {_MOST_PICKLE:,} bytes")
    order = "<"
    if f"{folder}byteorder" in listed and listed[f"{folder}byteorder"].file_size < 16:
        order = ">" if members.read(f"{folder}byteorder").strip() == b"big" else "<"

    def read(storage: _Storage) -> bytes:
        info = listed.get(f"{folder}data/{storage.key}")
        if info is None or info.file_size < storage.bytes:
            raise BadTensors(f"storage {shown(storage.key)} is missing or too short")
        with members.open(info) as member:
            return member.read(storage.bytes)

    return _tensors(_first(members.read(pickles[0]))[0], read, order)


def is_legacy(head: bytes) -> bool:
    """A pickle of protocol 2 that begins with the magic number."""
    return head.startswith(b"\x80\x02\x8a\x0a" + _MAGIC.to_bytes(10, "little"))


def read_torch_legacy(file: IO[bytes], size: int) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The tensors of a file as PyTorch wrote it before 1.6: pickles, then the storages."""
    magic, protocol, system = (_next(file) for _ in range(3))
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(system, dict):
        raise BadTensors("its beginning is not that of a PyTorch file")
    order = ">" if system.get("little_endian") is False else "<"
    value, keys = _next(file), _next(file)
    found = {storage.key: storage for storage in _storages(value)}
    if not isinstance(keys, list) or len(keys) > _MOST_MEMBERS:
        raise BadTensors("it has no list of storages")
    contents: dict[str, bytes] = {}
    for key in keys:
        storage = found.get(key) if isinstance(key, str) else None
        count = int.from_bytes(file.read(8), "little" if order == "<" else "big")
        if storage is None or count != storage.count or storage.bytes > size - file.tell():
            raise BadTensors(f"storage {shown(key)} is unknown or too short")
        contents[storage.key] = file.read(storage.bytes)

    def read(storage: _Storage) -> bytes:
        if storage.key not in contents or len(contents[storage.key]) < storage.bytes:
            raise BadTensors(f"storage {shown(storage.key)} is missing or too short")
        return contents[storage.key]

    return _tensors(value, read, order)


def _next(file: IO[bytes]) -> Any:
    """The next of several pickles in a row."""
    start = file.tell()
    value, length = _first(file.read(_MOST_PICKLE))
    file.seek(start + length)
    return value


def _first(content: bytes) -> tuple[Any, int]:
    try:
        return read_first_pickle(content)
    except PickleError as error:
        raise BadTensors(f"its pickle can't be read, {error}") from error


def _named(value: Any) -> str:
    """The name of what a call would call, for a message."""
    what = value.what
    if isinstance(what, Name) and isinstance(what.module, str) and isinstance(what.name, str):
        return shown(f"{what.module}.{what.name}")
    return "something without a name"


def _storage_of(value: Any, name: object) -> _Storage:
    """The storage of a persistent id: ("storage", type, key, place, count, …)."""
    parts = value.arguments if isinstance(value, Call) else None
    if (
        not isinstance(parts, tuple)
        or len(parts) not in (5, 6)
        or value.what != Name("", "persistent")
        or not isinstance(parts[1], Name)
        or not isinstance(parts[1].name, str)
        or not isinstance(parts[2], str)
        or isinstance(parts[4], bool)
        or not isinstance(parts[4], int)
        or not 0 <= parts[4] < 2**40
        or (len(parts) == 6 and parts[5] is not None)
    ):
        raise BadTensors(f"{shown(name)} has no storage that can be read")
    if parts[1].module != "torch" or parts[1].name not in _STORAGES:
        raise BadTensors(f"{shown(name)} has numbers of type {shown(parts[1].name)}")
    return _Storage(parts[2], _STORAGES[parts[1].name], parts[4])


def _arguments(value: Call, name: object) -> tuple[Any, ...]:
    """The arguments of the function that makes a tensor from a storage."""
    for _ in range(2):  # a parameter is a tensor in a wrapper
        arguments = value.arguments
        if value.what == Name("torch._utils", "_rebuild_parameter") and isinstance(
            arguments, tuple
        ):
            if not arguments or not isinstance(arguments[0], Call):
                break
            value = arguments[0]
            continue
        if value.what == Name("torch._utils", "_rebuild_tensor_v2"):
            if isinstance(arguments, tuple) and len(arguments) >= 4:
                return arguments
            break
        raise BadTensors(f"{shown(name)} is made by {_named(value)}, which no state_dict needs")
    raise BadTensors(f"{shown(name)} is not a tensor that can be read")


def _leaves(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) of all that is not a dictionary, names joined by points.

    A dictionary may hold itself: what is looked at is counted."""
    left, budget = [("", value, 0)], 20 * MOST_TENSORS
    while left:
        prefix, table, depth = left.pop(0)
        if depth > _MOST_NESTED or len(table) > budget:
            raise BadTensors("its dictionaries are nested too deeply, or too many")
        for key, own in table.items():
            budget -= 1
            name = f"{prefix}{key}" if isinstance(key, str | int) else ""
            if not name or len(name) > LONGEST_NAME:
                raise BadTensors("a tensor has no name, or too long a one")
            if isinstance(own, dict):
                left.append((f"{name}.", own, depth + 1))
            else:
                yield name, own


def _storages(value: Any) -> Iterator[_Storage]:
    """All that the pickle names, also beside the weights: their numbers stand one after another."""
    left, seen = [value], set()
    while left:
        own = left.pop()
        if id(own) in seen or not isinstance(own, dict | list | tuple | Call):
            continue
        seen.add(id(own))
        if isinstance(own, Call) and own.what == Name("", "persistent"):
            yield _storage_of(own, "a tensor")
        elif isinstance(own, Call):
            left += [own.arguments, own.state]
        else:
            left += own.values() if isinstance(own, dict) else own


def _state_of(value: Any) -> tuple[Mapping[Any, Any], tuple[str, ...]]:
    """The dictionary of tensors, and what was beside it."""
    if isinstance(value, Call):
        raise BadTensors(f"it holds {_named(value)}, not a state_dict")
    if not isinstance(value, dict):
        raise BadTensors("it holds no state_dict")
    for name in _WRAPPED:
        inner = value.get(name)
        if isinstance(inner, dict) and any(isinstance(own, Call) for own in inner.values()):
            others = [shown(key) for key in value if key != name]
            beside = f" Left out beside it: {', '.join(others[:10])}." if others else ""
            return inner, (f"Its weights are under {name!r}.{beside}",)
    return value, ()


def _tensors(value: Any, read: Read, order: str) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    state, notes = _state_of(value)
    claimed: dict[str, tuple[_Storage, int, tuple[int, ...], tuple[int, ...]]] = {}
    other: list[str] = []
    total = 0
    for name, own in _leaves(state):
        if not isinstance(own, Call):
            other.append(shown(name))
            continue
        storage, first, shape, strides, *_ = _arguments(own, name)
        claim = _checked(_storage_of(storage, name), first, shape, strides, name)
        if name in claimed or len(claimed) >= MOST_TENSORS:
            raise BadTensors(f"it has a name twice, or more than {MOST_TENSORS:,} tensors")
        claimed[name] = claim
        total += math.prod(claim[2]) * 8  # before memory is taken: as float64 at most
    storages = {claim[0]: claim[0].bytes for claim in claimed.values()}
    if total > 2 * MOST_BYTES or sum(storages.values()) > MOST_BYTES:
        raise BadTensors(f"its tensors claim more than {MOST_BYTES:,} bytes")
    if other:
        more = f" and {len(other) - 10} more" if len(other) > 10 else ""
        notes = (*notes, f"Left out, because they are not tensors: {', '.join(other[:10])}{more}.")
    contents: dict[_Storage, Values] = {}
    made = {}
    for name, (storage, first, shape, strides) in claimed.items():
        if storage not in contents:
            content = read(storage)
            if len(content) != storage.bytes:
                raise BadTensors(f"storage {shown(storage.key)} ends too soon")
            contents[storage] = numbers_of(content, storage.stored, order)
        made[name] = Tensor(name, storage.stored, _view(contents[storage], first, shape, strides))
    return made, notes


def _checked(
    storage: _Storage, first: Any, shape: Any, strides: Any, name: str
) -> tuple[_Storage, int, tuple[int, ...], tuple[int, ...]]:
    """Refuse a tensor that reaches out of its storage."""
    sizes, steps = checked_shape(shape, name), checked_shape(strides, name)
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise BadTensors(f"{shown(name)} has no proper beginning")
    if len(sizes) != len(steps):
        raise BadTensors(f"{shown(name)} has no proper shape")
    last = first + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if math.prod(sizes) and last >= storage.count:
        raise BadTensors(f"{shown(name)} reaches out of its storage")
    return storage, first, sizes, steps


def _view(flat: Values, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Values:
    if not math.prod(shape):
        return np.zeros(shape, flat.dtype)
    steps = [step * flat.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(flat[first:], shape, steps).copy()
