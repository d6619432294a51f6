"""Pickles are read, never executed."""

from __future__ import annotations

import os
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest

from dlbench.pickle_values import Call, Name, PickleError, read_pickle

PLAIN = {
    "numbers": [1, -5, 300, 70_000, 2**40, -(2**70), 1.5],
    "texts": ("a", "ä", b"\xff\0", ""),
    "nothing": [None, True, False, {}, [], ()],
    "deep": {1: {2: [(3,), (4, 5), (6, 7, 8), (9, 10, 11, 12)]}},
    "long": "x" * 300,
}


@pytest.mark.parametrize("protocol", range(6))
def test_plain_values(protocol: int) -> None:
    assert read_pickle(pickle.dumps(PLAIN, protocol)) == PLAIN


def test_one_value_named_twice_is_one_value() -> None:
    twice = [1, 2]
    first, second = read_pickle(pickle.dumps([twice, twice]))
    assert first is second


class Hostile:
    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_nothing_is_called(tmp_path: Path) -> None:
    hostile = Hostile()
    hostile.folder = tmp_path / "made"
    for protocol in range(6):
        value = read_pickle(pickle.dumps([hostile], protocol))[0]
        assert isinstance(value, Call)
        assert value.what == Name(os.mkdir.__module__, "mkdir")
        assert value.arguments == (str(hostile.folder),)
    assert not hostile.folder.exists()


def test_an_array_is_its_parts() -> None:
    value = read_pickle(pickle.dumps(np.arange(6, dtype=np.uint8).reshape(2, 3), 4))
    assert value.state[1] == (2, 3)
    assert value.state[4] == bytes(range(6))


def test_damaged_ones_are_refused() -> None:
    whole = pickle.dumps(PLAIN)
    for end in range(len(whole)):
        with pytest.raises(PickleError):
            read_pickle(whole[:end])
    for text in (b"", b"no pickle", b"\x80\x04.", b"(.", b"\x80\x04K\x01s."):
        with pytest.raises(PickleError):
            read_pickle(text)


def test_instructions_that_plain_values_do_not_need_are_refused() -> None:
    with pytest.raises(PickleError, match="instruction EXT1"):
        read_pickle(b"\x80\x02\x82\x01.")
    assert "EXT1" in {opcode.name for opcode in pickletools.opcodes}
