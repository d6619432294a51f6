"""Files of other programs: read to the last number, or refused in a sentence; never executed."""

from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlbench.errors import UserError
from dlbench.weights.tensor_files import read_tensors
from tests.orchestrator.weights import files

RANDOM = np.random.RandomState(1)
ARRAYS = {
    "conv.weight": RANDOM.normal(size=(4, 3, 2, 2)).astype(np.float32),
    "conv.bias": RANDOM.normal(size=4),
    "fc.weight": RANDOM.normal(size=(2, 5)).astype(np.float16),
    "norm.count": np.array(7, np.int64),
    "none": np.zeros((0, 3), np.float32),
}
HALF = np.array([1.5, -2.0, 3.25e10], np.float32)
WRITERS = {"zip": files.torch_zip, "legacy": files.torch_legacy, "safe": files.safetensors}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_number_comes_out_again(kind: str, tmp_path: Path) -> None:
    arrays = {**ARRAYS, "half": files.bfloat16(HALF)}
    found = read_tensors(WRITERS[kind](tmp_path / "a file", arrays))
    assert list(found.tensors) == list(arrays) or kind == "safe"
    for name, values in ARRAYS.items():
        assert found.tensors[name].stored == str(values.dtype)
        np.testing.assert_array_equal(found.tensors[name].values, values)
        assert found.tensors[name].bytes == values.nbytes
    assert found.tensors["half"].stored == "bfloat16"
    assert found.tensors["half"].bytes == 6
    np.testing.assert_allclose(found.tensors["half"].values, HALF, rtol=1e-2)


def test_numpy_files_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{"x/kernel": ARRAYS["conv.weight"]})
    np.save(tmp_path / "b.npy", ARRAYS["conv.bias"])
    assert list(read_tensors(tmp_path / "a.npz").tensors) == ["x/kernel"]
    assert list(read_tensors(tmp_path / "b.npy").tensors) == ["b"]


def test_a_view_of_a_storage_is_read(tmp_path: Path) -> None:
    whole = np.arange(12, dtype=np.float32)
    turned = files.tensor(whole, "0", offset=1, shape=(3, 2), strides=(1, 4))
    value = files.ORDERED + files.text("a") + turned + b"s"
    found = read_tensors(files.torch_zip(tmp_path / "x.pt", {"a": whole}, value))
    np.testing.assert_array_equal(found.tensors["a"].values, [[1, 5], [2, 6], [3, 7]])


def test_the_weights_of_a_checkpoint_are_found(tmp_path: Path) -> None:
    inner = files.state({"a": np.ones(3, np.float32)})
    value = b"}(" + files.text("epoch") + b"K\x05" + files.text("state_dict") + inner + b"u"
    found = read_tensors(files.torch_zip(tmp_path / "x.pt", {"a": np.ones(3, np.float32)}, value))
    assert list(found.tensors) == ["a"]
    assert "'state_dict'" in found.notes[0]
    assert "'epoch'" in found.notes[0]


class Evil:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/tmp/dlbench-was-executed"),))


def _refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_tensors(path)
    sentence = str(caught.value)
    assert "Traceback" not in sentence and len(sentence) < 800
    assert sentence.isprintable()
    return sentence


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_is_never_executed(protocol: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"a": Evil()}, protocol))
    said = _refused(tmp_path / "x.pt")
    assert "no state_dict needs" in said or "can't be read" in said
    assert not Path("/tmp/dlbench-was-executed").exists()


def test_a_module_and_a_program_are_told_apart(tmp_path: Path) -> None:
    module = files.named("my.models", "Net") + b")R"
    said = _refused(files.torch_zip(tmp_path / "a.pt", {}, module))
    assert "'my.models.Net', not a state_dict" in said and "state_dict()" in said
    script = files.torch_zip(tmp_path / "b.pt", {}, **{"constants.pkl": b""})
    assert "TorchScript" in _refused(script)


def test_an_hdf5_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "get_weights()" in _refused(tmp_path / "x.h5")


def _one(**claims: Any) -> bytes:
    tensor = files.tensor(np.ones(4, np.float32), "0", **claims)
    return files.ORDERED + files.text("a") + tensor + b"s"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (_one(offset=1), "reaches out of its storage"),
        (_one(shape=(2, 2), strides=(2, 2)), "reaches out"),
        (_one(count=2**30), "missing or too short"),
        (_one(shape=(2**20, 2**20, 2**10), strides=(0, 0, 0)), "claim more than"),
        (_one(shape=(-1,)), "no proper shape"),
        (b"}q\x00(" + files.text("a") + b"h\x00" + files.text("b") + b"h\x00u", "too deeply"),
        (files.ORDERED + files.text("a") + files.named("os", "system") + b")Rs", "os.system"),
        (files.ORDERED + b"))" + b"s", "neither texts nor numbers"),
    ],
)
def test_hostile_torch_files_are_refused(value: bytes, words: str, tmp_path: Path) -> None:
    path = files.torch_zip(tmp_path / "x.pt", {"a": np.ones(4, np.float32)}, value)
    assert words in _refused(path)


A = {"a": np.ones(4, np.float32), "b": np.ones(2, np.float32)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}, "overlaps"),
        ({"b": {"dtype": "F32", "shape": [1], "data_offsets": [20, 24]}}, "leaves a gap"),
        ({"b": {"dtype": "F32", "shape": [1], "data_offsets": [16, 20]}}, "end at byte"),
        ({"b": {"dtype": "F32", "shape": [3], "data_offsets": [16, 24]}}, "for 3 numbers"),
        ({"b": {"dtype": "F32", "shape": [2**39, 2**39], "data_offsets": [16, 24]}}, "claims"),
        ({"b": {"dtype": "F32", "shape": [True], "data_offsets": [16, 24]}}, "no proper shape"),
        ({"b": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [16, 24]}}, "of a type"),
        ({"b": {"dtype": [], "shape": [8], "data_offsets": [16, 24]}}, "of a type"),
        ({"b": {"dtype": "F32", "shape": [2], "data_offsets": [16]}}, "data_offsets"),
        ({"b": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, "data_offsets"),
        ({"b": 3}, "of a type"),
        ({"x" * 999: {"dtype": "F32", "shape": [], "data_offsets": [24, 28]}}, "999 characters"),
    ],
)
def test_hostile_safetensors_are_refused(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in _refused(files.safetensors(tmp_path / "x", A, **change))


def test_safetensors_with_a_forged_header_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    twice = b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":1}'
    path.write_bytes(struct.pack("<Q", len(twice)) + twice)
    assert "a name twice" in _refused(path)
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}" + bytes(60))
    assert "format is not known" in _refused(path)
    deep = b'{"a":' + b"[" * 100_000
    path.write_bytes(struct.pack("<Q", len(deep)) + deep)
    assert "not JSON" in _refused(path)


def _npz(path: Path, arrays: Any) -> Path:
    with path.open("wb") as file:
        np.savez(file, **arrays)
    return path


EVERY = {**WRITERS, "npz": _npz}


@pytest.mark.parametrize("kind", EVERY)
def test_a_file_that_was_cut_off_is_refused(kind: str, tmp_path: Path) -> None:
    content = EVERY[kind](tmp_path / "whole", ARRAYS).read_bytes()
    for length in range(0, len(content), 13):
        (tmp_path / "cut").write_bytes(content[:length])
        _refused(tmp_path / "cut")


@pytest.mark.parametrize("kind", EVERY)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file_ends_in_a_sentence(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(EVERY[kind](tmp_path / "whole", ARRAYS).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    (tmp_path / "changed").write_bytes(bytes(content))
    try:
        read_tensors(tmp_path / "changed")
    except UserError as error:
        assert str(error).isprintable()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    _refused(tmp_path / "pipe")
    _refused(tmp_path)
    assert "There is no file" in _refused(tmp_path / "nothing")
