"""The file that a trial starts from: held against the job before it is believed; what was saved."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import weights_file
from bench.formats import BadJob
from bench.weights import initial_weights
from dlbench.planning.graph import Graph
from dlbench.weights.canonical import write_canonical


def _graph() -> dict[str, Any]:
    g = Graph("model")
    x = g.affine(g.conv2d(g.input("image", (4, 4, 2)), 3, 3, frozen=True, name="stem"))
    g.outputs(g.dense(g.globalavgpool(x), 2, name="logits"))
    return g.to_json()


def _flat(seed: int = 1) -> dict[str, np.ndarray]:
    weights = initial_weights(_graph(), seed)
    return {f"{node}/{name}": v for node, own in weights.items() for name, v in own.items()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _written(path: Path, arrays: dict[str, Any]) -> tuple[str, str]:
    with path.open("wb") as file:
        digest = write_canonical(arrays, file)
    assert digest == _digest(path)
    return str(path), digest


def test_what_the_host_wrote_comes_out_again(tmp_path: Path) -> None:
    wanted = _flat()
    found = weights_file.read(*_written(tmp_path / "w.npz", wanted), _graph())
    assert {f"{n}/{p}" for n, own in found.items() for p in own} == set(wanted)
    for name, values in wanted.items():
        node, parameter = name.split("/")
        np.testing.assert_array_equal(found[node][parameter], values)


def test_a_part_replaces_a_part(tmp_path: Path) -> None:
    only = {"stem/kernel": _flat(2)["stem/kernel"]}
    given = weights_file.read(*_written(tmp_path / "w.npz", only), _graph())
    start = initial_weights(_graph(), 1)
    both = weights_file.over(start, given)
    np.testing.assert_array_equal(both["stem"]["kernel"], only["stem/kernel"])
    np.testing.assert_array_equal(both["logits"]["kernel"], start["logits"]["kernel"])
    told = weights_file.described(_graph(), given)
    assert told["weights_given"] == 1
    assert told["weights_drawn"] == len(_flat()) - 1 == len(told["drawn"])
    assert "stem/kernel" not in told["drawn"]
    assert told["constants_drawn"] == 0
    assert weights_file.described(_graph(), {}) == {"constants_drawn": 1}


def _npz(arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as members:
        for name, values in arrays.items():
            own = io.BytesIO()
            np.save(own, values, allow_pickle=True)
            members.writestr(f"{name}.npy", own.getvalue())
    return content.getvalue()


KERNEL = np.zeros((3, 3, 2, 3), np.float32)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_npz({"other/kernel": KERNEL}), "the graph has not"),
        (_npz({"stem/kernel": KERNEL.astype(np.float64)}), "float64"),
        (_npz({"stem/kernel": KERNEL[..., :2]}), "not (3, 3, 2, 3)"),
        (_npz({"stem/kernel": np.asfortranarray(KERNEL)}), "stem/kernel"),
        (_npz({"stem/kernel": np.array([object()], object)}), "stem/kernel"),
        (_npz({"stem/kernel": KERNEL}, zipfile.ZIP_DEFLATED), "stem/kernel"),
        (bytes(1 << 20), "at most"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    path.write_bytes(content)
    with pytest.raises(BadJob) as caught:
        weights_file.read(str(path), _digest(path), _graph())
    assert words in str(caught.value)


def test_another_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    path, digest = _written(tmp_path / "w.npz", _flat())
    with Path(path).open("r+b") as file:
        file.write(b"not a zip file")
    with pytest.raises(BadJob, match="another hash"):
        weights_file.read(path, digest, _graph())
    with pytest.raises(BadJob, match="no file of them was given"):
        weights_file.read(None, digest, _graph())


def test_sizes_of_what_was_saved(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/part").write_bytes(bytes(30))
    (tmp_path / "model.index").write_bytes(bytes(5))
    assert weights_file.saved_sizes(str(tmp_path), None) == {
        "model_bytes": 35, "model_with_optimizer_bytes": 35
    }  # fmt: skip
    (tmp_path / "optimizer.npz").write_bytes(bytes(60))
    told = weights_file.saved_sizes(str(tmp_path), None)
    assert told == {"model_bytes": 35, "model_with_optimizer_bytes": 95}
    told = weights_file.saved_sizes(str(tmp_path), "It has no way to save it.")
    assert told == {"model_bytes": 35, "optimizer_state": "It has no way to save it."}
    (tmp_path / "index.json").write_bytes(bytes(1))  # of an adapter that calls it otherwise
    assert weights_file.saved_sizes(str(tmp_path), None)["model_bytes"] == 36
