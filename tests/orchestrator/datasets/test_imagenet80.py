"""The user's own ILSVRC folder: how images get their classes, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dlbench.datasets import find, imagenet80, store
from dlbench.errors import UserError


def _touch(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(name.encode())


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images as they would be decoded: each a colour of its own."""

    def colour(path: Path, _library: object) -> np.ndarray:
        own = np.random.RandomState(sum(path.read_bytes())).randint(0, 256, 3)
        return np.broadcast_to(own.astype(np.uint8), (80, 80, 3))

    monkeypatch.setattr(imagenet80, "_decoded", colour)
    monkeypatch.setattr(imagenet80, "pillow", lambda: None)


@pytest.mark.usefixtures("decoded")
def test_one_folder_a_class(tmp_path: Path) -> None:
    names = [f"ILSVRC2012_val_{k:08}.JPEG" for k in range(10)]
    _touch(tmp_path / "n02", *names[::2])
    _touch(tmp_path / "n01", *names[1::2])
    prepared = store.prepare_from(find("imagenet80"), tmp_path)
    assert prepared.source == "sample"
    assert np.load(prepared.folder / "train-label.npy").tolist() == [1, 0, 1, 0, 0, 1, 0, 1]
    assert np.load(prepared.folder / "test-image.npy").shape == (2, 80, 80, 3)


@pytest.mark.usefixtures("decoded")
def test_images_deeper_down_and_not_those_for_training(tmp_path: Path) -> None:
    top = tmp_path / "ILSVRC" / "Data" / "CLS-LOC"
    for split, classes in (("train", 3), ("val", 2)):
        for k in range(classes):
            _touch(top / split / f"n{k:02}", *(f"{split}_{k}_{n}.JPEG" for n in range(5)))
    prepared = store.prepare_from(find("imagenet80"), tmp_path / "ILSVRC")
    assert prepared.rows == {"train": 8, "test": 2}
    assert store.prepare_from(find("imagenet80"), top / "train").rows == {"train": 12, "test": 3}


@pytest.mark.usefixtures("decoded")
def test_a_list_of_classes(tmp_path: Path) -> None:
    names = [f"ILSVRC2010_val_{k:08}.JPEG" for k in range(5)]
    _touch(tmp_path / "val", *names)
    listed = tmp_path / "devkit" / "data" / "ILSVRC2010_validation_ground_truth.txt"
    _touch(listed.parent)
    listed.write_text("7\n1000\n1\n3\n2\n")
    prepared = store.prepare_from(find("imagenet80"), tmp_path)
    assert np.load(prepared.folder / "train-label.npy").tolist() == [6, 999, 0, 2]
    listed.write_text("7\n1000\n1\n3\n")
    with pytest.raises(UserError, match="has 4 lines where there are 5 images"):
        store.prepare_from(find("imagenet80"), tmp_path)
    listed.write_text("7\n1001\n1\n3\n2")
    with pytest.raises(UserError, match="not a class from 1 to 1,000"):
        store.prepare_from(find("imagenet80"), tmp_path)


def test_no_images_and_no_download(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no images"):
        store.prepare_from(find("imagenet80"), tmp_path)
    with pytest.raises(UserError, match="without a log-in"):
        store.prepare(find("imagenet80"))


def test_without_pillow_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _touch(tmp_path / "n01", "a.JPEG")
    _touch(tmp_path / "n02", "b.JPEG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UserError, match="decoded with Pillow, which is not installed"):
        store.prepare_from(find("imagenet80"), tmp_path)


def test_the_middle_square_is_decoded(tmp_path: Path) -> None:
    library: ModuleType = pytest.importorskip("PIL.Image")
    pixels = np.zeros((100, 300, 3), np.uint8)
    pixels[:, 100:200] = (10, 200, 30)
    library.fromarray(pixels).save(tmp_path / "wide.png")
    assert np.unique(imagenet80._decoded(tmp_path / "wide.png", library)).tolist() == [10, 30, 200]
    (tmp_path / "no.png").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"no\.png is not an image that can be decoded"):
        imagenet80._decoded(tmp_path / "no.png", library)
