"""The canonical file: one spelling, one digest; what does not fit is refused by its name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlbench.errors import UserError
from dlbench.planning.graph import Graph
from dlbench.weights import store
from dlbench.weights.canonical import fit, read_canonical, shapes_of, write_canonical


def _graph() -> dict[str, Any]:
    g = Graph("model")
    x = g.batchnorm(g.dense(g.input("x", (3,)), 4, name="first"), name="norm")
    g.outputs(g.dense(x, 2, name="logits"))
    return g.to_json()


def _arrays() -> dict[str, Any]:
    return {name: np.full(shape, 0.5, np.float32) for name, shape in shapes_of(_graph()).items()}


def test_equal_content_has_an_equal_digest(tmp_path: Path) -> None:
    arrays = _arrays()
    np.savez(tmp_path / "a.npz", **arrays)
    time.sleep(0.01)
    np.savez_compressed(tmp_path / "b.npz", **dict(reversed(arrays.items())))
    assert (tmp_path / "a.npz").read_bytes() != (tmp_path / "b.npz").read_bytes()
    first, second = (store.read(str(tmp_path / f"{name}.npz")) for name in "ab")
    assert first.digest == second.digest
    arrays["first/bias"] = arrays["first/bias"] + np.float32(1e-7)
    assert write_canonical(arrays) != first.digest
    renamed = {name.replace("norm", "form"): v for name, v in _arrays().items()}
    assert write_canonical(renamed) != first.digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"second/kernel": np.zeros(3, np.float32)}, "model has no node 'second'"),
        ({"first/gamma": np.zeros(3, np.float32)}, "node 'first' of model has no such parameter"),
        ({"first/kernel": np.zeros((4, 3), np.float32)},
         "first/kernel in w.npz has the shape [4, 3]; node 'first' of model wants [3, 4]"),
        ({"first/kernel": np.zeros((3, 4))}, "first/kernel in w.npz is float64, not float32"),
        ({"first/bias": np.full(4, np.nan, np.float32)}, "not finite"),
        ({"norm/variance": np.full(4, -1, np.float32)}, "norm/variance in w.npz has values below"),
        ({"first/bias": np.array([None] * 4)}, "holds objects"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", **{**_arrays(), **change})
    with pytest.raises(UserError) as caught:
        fit(read_canonical(tmp_path / "w.npz"), _graph(), "w.npz", "model")
    assert words in str(caught.value)
    assert "dlbench weights convert" in str(caught.value) or "below" in words or "finite" in words


def test_a_part_of_a_model_is_told(tmp_path: Path) -> None:
    arrays = {n: v for n, v in _arrays().items() if n.startswith("first")}
    found = fit(arrays, _graph(), "w.npz", "model")
    assert found.given == ("first/kernel", "first/bias")
    assert found.sentence("model", ("matched",)) == (
        "2 of 8 parameters of model come from it; 6 are drawn from the seed: norm/gamma, norm/beta,"
        " norm/mean and 3 more."
    )
    assert "the framework's own: norm/gamma" in found.sentence("model", ("native",))
    assert "or in the native setting" in found.sentence("model", ("matched", "native"))
    whole = fit(_arrays(), _graph(), "w.npz", "model")
    assert whole.sentence("model", ("native",)) == "All 8 parameters of model come from it."


def test_weights_are_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    np.savez(tmp_path / "w.npz", **_arrays())
    weights = store.read(str(tmp_path / "w.npz"))
    assert not store.is_whole(weights.digest)
    path = store.keep(weights)
    assert store.is_whole(weights.digest)
    assert oct(path.stat().st_mode)[-3:] == "444"
    assert write_canonical(read_canonical(path)) == weights.digest
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert not store.is_whole(weights.digest)
    store.keep(weights)
    assert store.is_whole(weights.digest)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    with pytest.raises(UserError):
        store.path_of("../../etc/passwd")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.npz").write_bytes(b"PK\x03\x04 and no more")
    for name in ("w.npz", "nothing.npz", "."):
        with pytest.raises(UserError):
            read_canonical(tmp_path / name)
