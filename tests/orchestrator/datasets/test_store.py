"""Data sets: converted once, checked before every use, never executed."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import cifar10, datasets, find, imdb, mnist, store, svhn
from dlbench.errors import UserError
from tests.orchestrator.command import Command


def test_digits_come_with_dlbench() -> None:
    prepared = store.prepare(find("digits"))
    images = np.load(prepared.folder / "train-image.npy")
    labels = np.load(prepared.folder / "train-label.npy")
    assert images.shape == (1438, 8, 8, 1)
    assert (images.dtype, images.max()) == (np.uint8, 16)
    assert np.bincount(labels).min() > 100
    assert store.prepare(find("digits")).digest == prepared.digest


def test_a_changed_file_is_found(own_cache: Path) -> None:
    prepared = store.prepare(find("digits"))
    path = prepared.folder / "test-label.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(UserError, match="has been changed"):
        store.prepare(find("digits"))


def test_a_lost_file_is_found() -> None:
    prepared = store.prepare(find("digits"))
    (prepared.folder / "test-label.npy").unlink()
    with pytest.raises(UserError, match="--again"):
        store.prepare(find("digits"))


@pytest.mark.parametrize("name", sorted(datasets()))
def test_the_synthetic_twin(name: str) -> None:
    dataset = find(name)
    make = dataset.proof or dataset.synthetic
    first, again = make(60, 20), make(60, 20)
    for split, rows in (("train", 60), ("test", 20)):
        for array, values in first[split].items():
            assert len(values) == rows
            assert np.array_equal(values, again[split][array]), "not reproducible"


def test_unknown_data_set() -> None:
    with pytest.raises(UserError, match="Did you mean 'mnist'"):
        find("mnits")
    assert len(datasets()) >= 6


def _idx(values: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return gzip.compress(head + values.tobytes())


def test_mnist_files(tmp_path: Path) -> None:
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    files = {}
    for prefix in ("train", "t10k"):
        for name, values in (("images-idx3", images), ("labels-idx1", np.array([3, 7], np.uint8))):
            path = tmp_path / f"{prefix}-{name}-ubyte.gz"
            path.write_bytes(_idx(values))
            files[path.name] = path
    arrays = mnist.DATASET.convert(files)
    assert np.array_equal(arrays["train"]["image"][..., 0], images)
    assert arrays["test"]["label"].tolist() == [3, 7]
    files["train-images-idx3-ubyte.gz"].write_bytes(gzip.compress(b"\0\0\x0d\1 not bytes"))
    with pytest.raises(UserError, match="not an IDX file"):
        mnist.DATASET.convert(files)


def test_files_a_user_has_are_checked(tmp_path: Path) -> None:
    names = [item.name for item in find("mnist").downloads]
    with pytest.raises(UserError) as caught:
        store.prepare_from(find("mnist"), tmp_path)
    assert all(name in caught.value.problem for name in names), "all that lack are named at once"
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(UserError) as caught:
        store.prepare_from(find("mnist"), tmp_path)
    assert "has no file train-labels-idx1-ubyte.gz, t10k-images" in caught.value.problem
    assert (
        "train-images-idx3-ubyte.gz is not the official file: it has 14 bytes where 9,912,422"
        in (caught.value.problem)
    )
    assert "Get https://ossci-datasets" in caught.value.remedy
    assert not store.is_prepared(find("mnist"), "real")


def test_a_copy_stays_until_the_new_one_is_whole(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.prepare(find("digits"))
    # mnist lacks its files; digits needs none, and its conversion fails
    assert command("data", "fetch", "mnist", "--from", tmp_path, "--again").code == 2

    def broken(_files: object) -> None:
        raise UserError("It can't be converted.", "Try another.")

    broken_digits = replace(find("digits"), convert=broken)
    monkeypatch.setattr("dlbench.datasets.find", lambda _name: broken_digits)
    for options in (("--again",), ("--from", tmp_path, "--again")):
        assert command("data", "fetch", "digits", *options).code == 2
    monkeypatch.undo()
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    assert store.verify(find("digits"), "real").digest == before.digest
    assert store.prepare(find("digits"), again=True).digest == before.digest
    assert sorted(path.name for path in before.folder.parent.iterdir()) == ["digits-real"]


def test_cifar_channels_are_moved_not_reshaped(tmp_path: Path) -> None:
    planes = np.zeros((10_000, 3, 32, 32), np.uint8)
    planes[:, 0], planes[:, 1], planes[:, 2] = 10, 20, 30  # all red, all green, all blue
    planes[0, 0, 5, 9] = 99
    rows = np.concatenate([np.full((10_000, 1), 4, np.uint8), planes.reshape(10_000, -1)], axis=1)
    path = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]:
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = rows.nbytes
            archive.addfile(info, io.BytesIO(rows.tobytes()))
    arrays = cifar10.DATASET.convert({path.name: path})
    assert arrays["train"]["image"].shape == (50_000, 32, 32, 3)
    assert arrays["test"]["image"][1, 0, 0].tolist() == [10, 20, 30]
    assert arrays["test"]["image"][0, 5, 9].tolist() == [99, 20, 30]
    assert set(arrays["train"]["label"]) == {4}


def test_svhn_axes_and_the_digit_nought(tmp_path: Path) -> None:
    from scipy.io import savemat

    images = np.random.RandomState(0).randint(0, 256, (32, 32, 3, 4)).astype(np.uint8)
    files = {}
    for name in ("train_32x32.mat", "test_32x32.mat"):
        savemat(tmp_path / name, {"X": images, "y": np.array([[1], [10], [3], [10]], np.uint8)})
        files[name] = tmp_path / name
    arrays = svhn.DATASET.convert(files)
    assert np.array_equal(arrays["train"]["image"][2], images[..., 2])
    assert arrays["test"]["label"].tolist() == [1, 0, 3, 0]


def test_imdb_texts(tmp_path: Path) -> None:
    path = tmp_path / "aclImdb_v1.tar.gz"
    reviews = {
        "train/pos/0_9.txt": "A good film.<br />Good!",
        "train/neg/1_2.txt": "bad " * 600,
        "test/pos/0_8.txt": "good unknownword",
        "train/unsup/0_0.txt": "not labelled",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in reviews.items():
            info = tarfile.TarInfo(f"aclImdb/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    arrays = imdb.DATASET.convert({path.name: path})
    # by frequency in the training texts: bad 600, good 2, then a, film
    assert arrays["train"]["tokens"][0, :6].tolist() == [1, 5, 4, 6, 4, 0]
    assert arrays["train"]["length"].tolist() == [5, 500]
    assert arrays["train"]["label"].tolist() == [1, 0]
    assert arrays["test"]["tokens"][0, :4].tolist() == [1, 4, 2, 0]


def test_imdb_texts_that_are_unpacked_are_the_same(tmp_path: Path) -> None:
    reviews = {
        "train/pos/0_9.txt": "A good film.<br />Good!",
        "train/pos/11_9.txt": "Better than good",
        "train/neg/1_2.txt": "bad bad",
        "test/pos/0_8.txt": "good unknownword",
        "test/neg/7_1.txt": "bad",
        "train/unsup/0_0.txt": "not labelled",
    }
    packed = tmp_path / "aclImdb_v1.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for name in sorted(reviews, reverse=True):
            info = tarfile.TarInfo(f"aclImdb/{name}")
            info.size = len(reviews[name])
            archive.addfile(info, io.BytesIO(reviews[name].encode()))
    for name, text in reviews.items():
        path = tmp_path / "mine" / "aclImdb" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    prepared = store.prepare_from(find("imdb"), tmp_path / "mine")
    assert prepared.source == "sample"
    arrays = imdb.DATASET.convert({packed.name: packed})
    for split, name in (("train", "tokens"), ("train", "label"), ("test", "length")):
        own = np.load(prepared.folder / f"{split}-{name}.npy")
        assert np.array_equal(own, arrays[split][name])
