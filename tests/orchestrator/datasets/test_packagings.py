"""The other forms of the image and review sets: the same arrays, and no pickle executed."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import Packaging, cifar10, cifar100, find, imdb, mnist, store
from dlbench.errors import UserError

PIXELS = np.random.RandomState(0).randint(0, 256, (4, 3072)).astype(np.uint8)
LABELS = [3, 0, 9, 5]


class Hostile:
    """A list of labels that would make a folder if somebody unpickled it."""

    folder = ""

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def _tar(path: Path, folder: str, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("protocol", [2, 4])
def test_cifar_in_python_is_the_same_as_in_binary(tmp_path: Path, protocol: int) -> None:
    small = {"rows": (4, 4)}
    binary, python = replace(cifar10._BINARY, **small), replace(cifar10._PYTHON, **small)
    rows = b"".join(bytes([n]) + p.tobytes() for n, p in zip(LABELS, PIXELS, strict=True))
    batch = pickle.dumps({b"data": PIXELS, b"labels": LABELS, b"batch_label": b"x"}, protocol)
    first = binary.from_archive({
        binary.archive.name: _tar(tmp_path / "b.tar.gz", binary.folder,
                                  dict.fromkeys((*binary.train, binary.test), rows))
    })  # fmt: skip
    second = python.from_archive({
        python.archive.name: _tar(tmp_path / "p.tar.gz", python.folder,
                                  dict.fromkeys((*python.train, python.test), batch))
    })  # fmt: skip
    assert first["train"]["image"].shape == (20, 32, 32, 3)
    assert first["test"]["label"].tolist() == LABELS
    assert (
        first["test"]["image"][1, 2, 3].tolist() == PIXELS[1].reshape(3, 32, 32)[:, 2, 3].tolist()
    )
    for split in ("train", "test"):
        for name in ("image", "label"):
            assert np.array_equal(first[split][name], second[split][name])


def test_cifar_100_has_fine_labels_in_both_versions() -> None:
    rows = b"".join(bytes([19, n]) + p.tobytes() for n, p in zip(LABELS, PIXELS, strict=True))
    values = {"data": PIXELS, "fine_labels": LABELS, "coarse_labels": [19] * 4}
    for image, label in (
        cifar100._BINARY.read(rows, "train.bin", 4),
        cifar100._PYTHON.read(pickle.dumps(values, 2), "train", 4),
    ):
        assert label.tolist() == LABELS
        assert image.shape == (4, 32, 32, 3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"labels": LABELS}, "does not hold data and labels"),
        ({"data": PIXELS[:3], "labels": LABELS[:3]}, "does not hold 4 images of 32x32x3"),
        ({"data": PIXELS, "labels": LABELS[:3]}, "with their labels"),
        ({"data": PIXELS.astype(np.float32), "labels": LABELS}, "not hold an array of bytes"),
        ({"data": "text", "labels": LABELS}, "does not hold an array"),
        ({"data": PIXELS, "labels": [1, 2, 3, 400]}, "not whole numbers from 0 to 255"),
        ([1], "does not hold a dictionary"),
    ],
)
def test_wrong_batches_of_cifar_are_named(values: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        cifar10._PYTHON.read(pickle.dumps(values), "data_batch_1", 4)


def test_a_hostile_batch_of_cifar_does_nothing(tmp_path: Path) -> None:
    hostile = Hostile()
    hostile.folder = str(tmp_path / "made")
    with pytest.raises(UserError):
        cifar10._PYTHON.read(pickle.dumps({"data": hostile, "labels": LABELS}), "data_batch_1", 4)
    assert not (tmp_path / "made").exists()


def test_truncated_binary_cifar_says_what_was_expected() -> None:
    with pytest.raises(UserError, match=r"it has 100 bytes where 12,292 were expected"):
        cifar10._BINARY.read(b"x" * 100, "test_batch.bin", 4)


def test_cifar_as_plain_arrays_is_a_sample_if_it_is_a_part(tmp_path: Path) -> None:
    image = PIXELS.reshape(4, 3, 32, 32).transpose(0, 2, 3, 1)
    np.savez(tmp_path / "cifar10_some.npz", x_train=image, y_train=np.array(LABELS),
             x_test=image[:1] ^ 1, y_test=np.array([[1]]))  # fmt: skip
    prepared = store.prepare_from(find("cifar10"), tmp_path)
    assert prepared.source == "sample"
    assert np.array_equal(np.load(prepared.folder / "train-image.npy"), image)
    np.savez(tmp_path / "cifar10_some.npz", x_train=image, y_train=np.array([1, 2, 3, 10]),
             x_test=image[:1] ^ 1, y_test=np.array([1]))  # fmt: skip
    with pytest.raises(UserError, match="labels of train that are not 0 to 9"):
        store.prepare_from(find("cifar10"), tmp_path)


def _form(title: str) -> Packaging:
    return next(form for form in mnist.DATASET.packagings if form.title == title)


def test_mnist_as_csv_and_as_arrays(tmp_path: Path) -> None:
    digits = PIXELS[:, :784]
    table = np.concatenate([np.array(LABELS)[:, None], digits], axis=1)
    files = {}
    for split, head in (("train", "label," + ",".join(f"{i}" for i in range(784))), ("test", "")):
        path = tmp_path / f"mnist_{split}.csv"
        np.savetxt(path, table, "%d", ",", header=head, comments="")
        path.write_text(path.read_text().lstrip("\n"))
        files[path.name] = path
    arrays = _form("CSV").convert(files)
    assert arrays["train"]["label"].tolist() == arrays["test"]["label"].tolist() == LABELS
    assert np.array_equal(arrays["test"]["image"][..., 0], digits.reshape(4, 28, 28))
    path = tmp_path / "mnist.npz"
    image = digits.reshape(4, 28, 28)
    np.savez(path, x_train=image, y_train=LABELS, x_test=image, y_test=LABELS)
    assert np.array_equal(
        _form("Keras' arrays").convert({path.name: path})["train"]["image"][..., 0], image
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1," + ",".join(["0"] * 783), "a label and 784 grey values from 0 to 255 in line 2"),
        ("1," + ",".join(["256"] * 784), "from 0 to 255 in line 2"),
        ("10," + ",".join(["0"] * 784), "from 0 to 255 in line 2"),
        ("1," + ",".join(["x"] * 784), "from 0 to 255 in line 2"),
    ],
)
def test_a_wrong_line_of_csv_is_named(tmp_path: Path, line: str, words: str) -> None:
    right = "1," + ",".join(["0"] * 784)
    (tmp_path / "mnist_train.csv").write_text(f"{right}\n{line}\n")
    with pytest.raises(UserError, match=words):
        mnist._read_csv(tmp_path / "mnist_train.csv")


def test_an_idx_file_that_claims_too_much_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\3\xff\xff\xff\xff" + b"\0\0\0\x1c" * 2))
    with pytest.raises(UserError, match="values where at most 47,040,000 can be"):
        mnist._read_idx(path, (28, 28))
    path.write_bytes(gzip.compress(b"\0\0\x08\1\0\0\0\x09" + b"12345678"))
    with pytest.raises(UserError, match="has 8 bytes where 9 were expected"):
        mnist._read_idx(path, ())
    with pytest.raises(UserError, match=r"does not hold images of 28x28: its sizes are \(9,\)"):
        mnist._read_idx(path, (28, 28))
    path.write_bytes(gzip.compress(b"\0\0\x08\1\0\0\0\x09" + b"123456789")[:-6])
    with pytest.raises(UserError, match="truncated or damaged"):
        mnist._read_idx(path, ())


def _digits(rows: int) -> dict[str, bytes]:
    """The four files of MNIST, unpacked, with so many rows in each split."""
    pixels = np.random.RandomState(rows).randint(0, 256, (2 * rows, 784)).astype(np.uint8)
    count = rows.to_bytes(4, "big")
    side = (28).to_bytes(4, "big")
    files = {}
    for k, split in enumerate(("train", "t10k")):
        own = pixels[k * rows : (k + 1) * rows].tobytes()
        files[f"{split}-images-idx3-ubyte"] = b"\0\0\x08\3" + count + side + side + own
        files[f"{split}-labels-idx1-ubyte"] = b"\0\0\x08\1" + count + bytes(rows)
    return files


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "place",
    [
        lambda name: name,
        lambda name: f"MNIST/raw/{name}",
        lambda name: f"{name}/{name}",
        lambda name: name.replace("-idx", ".idx"),
        lambda name: f"Downloads/{name.upper()}",
    ],
    ids=["flat", "torchvision", "a folder each", "a dot", "upper case"],
)
def test_mnist_as_people_have_it(tmp_path: Path, place: Callable[[str], str]) -> None:
    for name, content in _digits(3).items():
        _put(tmp_path / "mine" / place(name), content)
    prepared = store.prepare_from(find("mnist"), tmp_path / "mine")
    assert prepared.source == "sample"
    assert prepared.rows == {"train": 3, "test": 3}


def test_files_that_are_there_twice_are_not_guessed(tmp_path: Path) -> None:
    for name, content in _digits(3).items():
        _put(tmp_path / "mine" / "MNIST" / name, content)
        _put(tmp_path / "mine" / "FashionMNIST" / name, content)
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte is there 2 times: .*Fashion"):
        store.prepare_from(find("mnist"), tmp_path / "mine")
    assert store.prepare_from(find("mnist"), tmp_path / "mine" / "MNIST").source == "sample"


def test_files_under_the_wrong_names_are_refused(tmp_path: Path) -> None:
    own, more = _digits(3), _digits(5)
    own["train-images-idx3-ubyte"] = more["train-images-idx3-ubyte"]
    for name, content in own.items():
        _put(tmp_path / "mine" / name, content)
    with pytest.raises(UserError, match=r"equally many rows \(5 of image and 3 of label\)"):
        store.prepare_from(find("mnist"), tmp_path / "mine")


def test_a_form_that_is_right_counts_more_than_one_that_is_not(tmp_path: Path) -> None:
    for name, content in _digits(3).items():
        _put(tmp_path / f"{name}.gz", b"not the official file")
        _put(tmp_path / name, content)
    assert store.prepare_from(find("mnist"), tmp_path).rows["train"] == 3


def test_an_altered_batch_of_cifar_is_named_with_what_was_expected(tmp_path: Path) -> None:
    for name in cifar10._PYTHON._names:
        _put(tmp_path / name, pickle.dumps({"data": PIXELS, "labels": LABELS}))
    words = "data_batch_1 is not the official file: it has the md5 .* where c99cafc152244af7"
    with pytest.raises(UserError, match=words):
        store.prepare_from(find("cifar10"), tmp_path)


def test_what_no_checksum_says_is_not_called_checked(tmp_path: Path) -> None:
    dataset = replace(find("mnist"), rows=(3, 3), digest="")
    for name, content in _digits(3).items():
        _put(tmp_path / name, content)
    prepared = store.prepare_from(dataset, tmp_path)
    assert (prepared.source, prepared.checked) == ("real", False)
    assert not store.what_is_here(dataset).checked
    known = replace(dataset, digest=prepared.digest)
    assert store.prepare_from(known, tmp_path).checked
    with pytest.raises(UserError, match="as many rows, but other values"):
        store.prepare_from(replace(dataset, digest="0" * 64), tmp_path)


def _imdb(path: Path, rows: object, labels: list[int]) -> None:
    named = {}
    for split in ("train", "test"):
        lists = np.empty(len(labels), object)
        lists[:] = rows
        named |= {f"x_{split}": lists, f"y_{split}": np.array(labels)}
    np.savez(path, **named)


def test_imdb_from_kerass_arrays(tmp_path: Path) -> None:
    path = tmp_path / "imdb.npz"
    _imdb(path, [[1, 2, 4996, 4997], list(range(1, 700))], [1, 0])
    arrays = imdb._from_npz({"imdb.npz": path})["train"]
    assert arrays["tokens"][0, :6].tolist() == [1, 4, 5, 4999, 2, 0]
    assert arrays["length"].tolist() == [5, 500]
    assert arrays["tokens"][1, -1] == 702, "a long review keeps its end"
    assert arrays["label"].tolist() == [1, 0]


def test_hostile_arrays_of_imdb_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "imdb.npz"
    hostile = Hostile()
    hostile.folder = str(tmp_path / "made")
    _imdb(path, [[1, 2], hostile], [1, 0])
    with pytest.raises(UserError, match="does not hold lists of numbers"):
        imdb._from_npz({"imdb.npz": path})
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        ([[1, 0], [1]], [1, 0], "not a rank from 1 on"),
        ([[1, 2.5], [1]], [1, 0], "not a rank from 1 on"),
        ([[1], [1]], [1, 2], "labels other than 0 and 1"),
    ],
)
def test_wrong_arrays_of_imdb_are_named(
    tmp_path: Path, rows: object, labels: list[int], words: str
) -> None:
    _imdb(tmp_path / "imdb.npz", rows, labels)
    with pytest.raises(UserError, match=words):
        imdb._from_npz({"imdb.npz": tmp_path / "imdb.npz"})


def _flat_imdb(path: Path, **changed: np.ndarray) -> Path:
    """Two reviews of each split, one after the other."""
    own = {
        "tokens": np.concatenate([[1, 2, 4996, 4997], np.arange(1, 700)]).astype(np.int32),
        "offsets": np.array([0, 4, 703]),
        "labels": np.array([1, 0], np.uint8),
    } | changed
    np.savez(path, **{f"{split}_{k}": v for split in ("train", "test") for k, v in own.items()})
    return path.parent


def test_imdb_from_plain_arrays_is_what_it_is_from_kerass(tmp_path: Path) -> None:
    _imdb(tmp_path / "keras.npz", [[1, 2, 4996, 4997], list(range(1, 700))], [1, 0])
    expected = imdb._from_npz({"imdb.npz": tmp_path / "keras.npz"})
    arrays = imdb._from_folder(_flat_imdb(tmp_path / "imdb_sequences.npz"))
    assert arrays is not None
    for split, named in expected.items():
        for name, values in named.items():
            np.testing.assert_array_equal(arrays[split][name], values)
    short = np.array([250, 251, 252], np.uint8)  # plus 3 is more than a byte holds
    changed = {"tokens": short, "offsets": np.array([0, 3]), "labels": np.array([1])}
    arrays = imdb._from_folder(_flat_imdb(tmp_path / "imdb_sequences.npz", **changed))
    assert arrays is not None
    assert arrays["train"]["tokens"][0, :5].tolist() == [1, 253, 254, 255, 0]


def test_a_folder_without_imdb_is_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "imdb_other.npz", x=np.zeros(3))
    assert imdb._from_folder(tmp_path) is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"offsets": np.array([0, 4])}, "2 offsets for 2 labels"),
        ({"offsets": np.array([0, 900, 703])}, "do not lead through"),
        ({"offsets": np.array([0, 4, 2**40])}, "do not lead through"),
        ({"offsets": np.array([-4, 4, 703])}, "do not lead through"),
        ({"labels": np.array([1, 2])}, "labels other than 0 and 1"),
        ({"tokens": np.zeros(703, np.int32)}, "not a rank from 1 on"),
        ({"tokens": np.ones(703)}, "whole numbers"),
    ],
)
def test_wrong_plain_arrays_of_imdb_are_named(
    tmp_path: Path, changed: dict[str, np.ndarray], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        imdb._from_folder(_flat_imdb(tmp_path / "imdb.npz", **changed))


def test_a_member_that_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    from dlbench.datasets._reading import read_members

    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data", b"\0" * 5_000_000)
    with pytest.raises(UserError, match="5,000,000 bytes where at most 1,000 were expected"):
        read_members(path, {"data": 1000})
    with pytest.raises(UserError, match=r"bomb\.zip does not hold other"):
        read_members(path, {"a/other": 1000})
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match="truncated or damaged"):
        read_members(path, {"data": 10_000_000})
