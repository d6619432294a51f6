"""Tensors of files that other programs wrote: what is in them, read without believing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dlbench.errors import UserError
from dlbench.plain_json import printable

MOST_BYTES = 4 << 30
"""Of a file, and of all its tensors together once they are in memory."""
MOST_TENSORS = 10_000
MOST_DIMENSIONS = 32
LONGEST_NAME = 256
Values = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Tensor:
    name: str
    stored: str
    """The type of its numbers in the file: `float16`, `bfloat16`, …"""
    values: Values
    """Of a `bfloat16`, which NumPy does not know, as float32."""

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        return int(self.values.size) * (2 if self.stored == "bfloat16" else self.values.itemsize)


@dataclass(frozen=True)
class TensorFile:
    """A file and what it holds, in its order."""

    kind: str
    """What people call its format: `safetensors`, `PyTorch (zip)`, …"""
    tensors: Mapping[str, Tensor]
    notes: tuple[str, ...] = field(default=())
    """What was left out when it was read."""
    as_saved: bool = True
    """Its order is that in which the program had them, not that of their names."""


class BadTensors(ValueError):
    """What is wrong with a file, in words that go behind `FILE can't be read: `."""


def refused(path: Path, why: object, remedy: str = "") -> UserError:
    return UserError(
        f"{path.name} can't be read: {printable(str(why), 300)}.",
        remedy or "Get the file again, or save the weights in another format.",
    )


def checked_shape(shape: object, name: str) -> tuple[int, ...]:
    """The shape that a file claims; its size is for the caller to check."""
    if not isinstance(shape, list | tuple) or len(shape) > MOST_DIMENSIONS:
        raise BadTensors(f"{shown(name)} has no proper shape")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 2**40:
            raise BadTensors(f"{shown(name)} has no proper shape")
    return tuple(shape)


def bytes_of(stored: str) -> int:
    """How many a number of this type takes in a file."""
    return 2 if stored == "bfloat16" else np.dtype(stored).itemsize


def numbers_of(content: bytes, stored: str, order: str = "<") -> Values:
    """The numbers of this type and byte order (`<` or `>`)."""
    if stored == "bfloat16":  # the upper halves of float32 numbers
        halves = np.frombuffer(content, f"{order}u2")
        return (halves.astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(
        content, np.dtype(stored).newbyteorder("big" if order == ">" else "little")
    )


def shown(name: object) -> str:
    """A name in a file, for a sentence."""
    return repr(printable(str(name) if isinstance(name, str) else type(name).__name__, 100))
