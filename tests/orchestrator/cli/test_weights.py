"""`dlbench weights`: what people and programs read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlbench.weights.canonical import shapes_of
from dlbench.workloads import find
from tests.orchestrator.command import Command
from tests.orchestrator.weights import files

RANDOM = np.random.RandomState(2)


def _digits(**changes: object) -> dict[str, np.ndarray]:
    """digits-cnn as PyTorch would have it."""
    shapes = shapes_of(find("digits-cnn").graph)
    tensors = {}
    for name, shape in shapes.items():
        node, parameter = name.split("/")
        turned = {4: (3, 2, 0, 1), 2: (1, 0)}.get(len(shape), range(len(shape)))
        leaf = "weight" if parameter == "kernel" else "bias"
        tensors[f"net.{node}.{leaf}"] = RANDOM.normal(
            0, 0.1, [shape[axis] for axis in turned]
        ).astype(np.float32)
    tensors.update(changes)  # type: ignore[arg-type]
    return tensors


def test_show(command: Command, tmp_path: Path) -> None:
    path = files.safetensors(tmp_path / "x.safetensors", _digits(half=np.zeros(3, np.float16)))
    printed = command("weights", "show", path)
    assert printed.code == 0
    assert "net.conv2d1.weight" in printed.out and "32 x 1 x 3 x 3" in printed.out
    assert "safetensors: 9 tensors, 53,005 numbers, 212,014 bytes." in printed.out
    told = command("weights", "show", path, "--json").json
    assert told["tensors"][-1] == {"name": "half", "shape": [3], "dtype": "float16", "bytes": 6}


def test_convert(command: Command, tmp_path: Path) -> None:
    half = _digits()
    half["net.logits.bias"] = half["net.logits.bias"].astype(np.float64)
    half["other.weight"] = np.zeros((2, 2), np.float32)
    path, out = files.torch_zip(tmp_path / "x.pth", half), tmp_path / "weights.npz"
    printed = command("weights", "convert", path, "--workload", "digits-cnn", "-o", out)
    assert printed.code == 0, printed.err
    said = " ".join(printed.out.split())
    assert "8 of 8 parameters of digits-cnn were filled." in said
    assert "Tensors that were not used: other.weight." in said
    assert "1 tensor of float64 became float32." in said
    assert "dlbench run --workload digits-cnn --weights" in said
    with np.load(out) as arrays:
        kernel = half["net.conv2d2.weight"].transpose(2, 3, 1, 0)
        np.testing.assert_array_equal(arrays["conv2d2/kernel"], kernel)
    again = command("weights", "convert", path, "--workload", "digits-cnn", "-o", out)
    assert again.code == 2 and "exists already" in again.err
    told = command("weights", "convert", path, "--workload", "digits-cnn", "-o",
                   tmp_path / "other.npz", "--json").json  # fmt: skip
    assert told["unused"] == ["other.weight"] and told["unfilled"] == []
    assert told["parameters"]["logits/bias"] == ["net.logits.bias"]
    assert (tmp_path / "other.npz").read_bytes() == out.read_bytes()


def test_what_is_missing_is_listed(command: Command, tmp_path: Path) -> None:
    tensors = {name: v for name, v in _digits().items() if "logits" not in name}
    path = files.torch_legacy(tmp_path / "x.pt", tensors)
    printed = command("weights", "convert", path, "--workload", "digits-cnn", "-o",
                      tmp_path / "w.npz")  # fmt: skip
    assert printed.code == 0, printed.err
    said = " ".join(printed.out.split())
    assert "6 of 8 parameters of digits-cnn were filled." in said
    assert "Not filled, to be drawn from the seed: logits/kernel, logits/bias." in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workload", "nothing", "-o", "w.npz"), "There is no workload 'nothing'"),
        (("--workload", "digits-cnn", "-o", "w.npz", "--map", "no.toml"), "There is no map"),
        (("--workload", "digits-cnn", "-o", "w.npz", "--layout", "caffe"), "is not known"),
        (("--workload", "digits-cnn", "-o", "w.npz", "--map", "torchvision-resnet"), "not fit"),
        (("--workload", "digits-cnn", "-o", "no/w.npz"), "can't be written"),
    ],
)
def test_mistakes_are_two_sentences(
    arguments: tuple[str, ...], words: str, command: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    path = files.torch_zip(tmp_path / "x.pth", _digits())
    printed = command("weights", "convert", path, *arguments)
    assert printed.code == 2
    assert words in " ".join(printed.err.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.pth"]


def test_a_hostile_name_does_not_reach_the_terminal(command: Command, tmp_path: Path) -> None:
    path = files.safetensors(tmp_path / "x", {"\x1b[31mred\n": np.zeros(2, np.float32)})
    printed = command("weights", "show", path)
    assert printed.code == 0
    assert "\x1b" not in printed.out
