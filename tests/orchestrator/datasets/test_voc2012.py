"""VOC2012: exact boxes, every bad annotation named, nothing believed, nothing left out."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlbench.datasets import _box_files, _voc_devkit, find, store, voc2012
from dlbench.datasets._problems import Problems
from dlbench.datasets._voc_annotation import CLASSES, read_annotation
from dlbench.errors import UserError

BOX = "<bndbox><xmin>11</xmin><ymin>21</ymin><xmax>40</xmax><ymax>60</ymax></bndbox>"
DOG = f"<object><name>dog</name><difficult>1</difficult>{BOX}</object>"


def _xml(objects: str = DOG, width: object = 100, height: object = 80, head: str = "") -> bytes:
    size = f"<size><width>{width}</width>\n<height>{height}</height><depth>3</depth></size>"
    return f"{head}<annotation>\n{size}\n{objects}\n</annotation>\n".encode()


def _read(content: bytes) -> tuple[Any, list[str]]:
    problems = Problems()
    return read_annotation(content, "a.xml", problems), problems.said


def test_pixels_counted_from_one_become_edges() -> None:
    annotation, problems = _read(_xml())
    assert problems == []
    assert (annotation.height, annotation.width) == (80, 100)
    (dog,) = annotation.objects
    assert dog.box == (20, 10, 60, 40)  # rows 21 to 60 are 40 rows, columns 11 to 40 are 30
    assert (CLASSES[dog.label - 1], dog.difficult) == ("dog", True)


def test_a_box_may_fill_the_image() -> None:
    full = BOX.replace("11", "1").replace("21", "1").replace("40", "100").replace("60", "80")
    annotation, _ = _read(_xml(DOG.replace(BOX, full)))
    assert annotation.objects[0].box == (0, 0, 80, 100)


def test_fractions_up_to_a_pixel_over_the_edge_are_cut_off() -> None:
    annotation, _ = _read(_xml(DOG.replace("<xmax>40<", "<xmax>100.4<").replace(">11<", ">0.7<")))
    assert annotation.objects[0].box == (20, 0, 60, 100)


def test_parts_of_a_person_are_not_objects() -> None:
    part = "<part><name>head</name><bndbox><xmin>1</xmin><xmax>x</xmax></bndbox></part>"
    annotation, problems = _read(_xml(DOG.replace("</object>", part + "</object>")))
    assert problems == [] and annotation.objects[0].box == (20, 10, 60, 40)


def test_an_image_without_objects() -> None:
    annotation, problems = _read(_xml(""))
    assert problems == [] and annotation.objects == ()


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (DOG.replace("dog", "dragon"), "a.xml line 4: unknown class 'dragon'"),
        (DOG.replace("<name>dog</name>", ""), "a.xml line 4: an object without a class"),
        (DOG.replace(">40<", ">11<"), "without width (rows 20 to 60, columns 10 to 11)"),
        (DOG.replace(">40<", ">5<"), "a box without width"),
        (DOG.replace(">60<", ">21<"), "a box without height"),
        (DOG.replace(">40<", ">101<"), "line 4: a box that is not inside the image of 100 x 80"),
        (DOG.replace(">11<", ">0<"), "a box that is not inside the image"),
        (DOG.replace(">21<", ">-3<"), "a box that is not inside the image"),
        (DOG.replace(">11<", ">left<"), "a.xml line 4: xmin 'left' is not a number"),
        (DOG.replace(">11<", ">nan<"), "xmin 'nan' is not a number"),
        (DOG.replace(">11<", ">1_1<"), "xmin '1_1' is not a number"),
        (DOG.replace(">11<", "><"), "xmin '' is not a number"),
        (DOG.replace(">11<", ">" + "9" * 4000 + "<"), "is not a number"),
        (DOG.replace("<xmin>11</xmin>", ""), "a.xml line 4: a box without xmin"),
        (DOG.replace("<xmin>", "<xmin>1</xmin><xmin>"), "line 4: has <bndbox/xmin> a second time"),
        (DOG.replace(">1<", ">maybe<"), "difficult is 'maybe', which is neither 0 nor 1"),
        ("<object>", "is not XML (mismatched tag)"),
        ("<a>" * 20 + "</a>" * 20, "more than 16 levels deep"),
        ("<object/>" * 1001, "more than 1,000 objects"),
        ("<!-- " + "x" * 1_000_000 + "-->", "a.xml: has more than 1,000,000 bytes"),
    ],
)  # fmt: skip
def test_bad_annotations_are_named_with_their_line(objects: str, expected: str) -> None:
    annotation, problems = _read(_xml(objects))
    assert annotation is None
    assert any(expected in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not XML (no element found)"),
        (b"\x00\xff", "is not XML"),
        (b"<html/>", "begins with <html> where <annotation> was expected"),
        (_xml(width="wide"), "a.xml line 2: width 'wide' is not a size"),
        (_xml(width="9" * 5000), "a.xml line 2: width '999"),
        (_xml(height=0), "a.xml line 3: height '0' is not a size"),
        (b"<annotation></annotation>", "does not say the image's height"),
        (b"<?xml version='1.0' encoding='none-such'?><annotation/>", "a.xml line 1"),
    ],
)
def test_what_is_no_annotation(content: bytes, expected: str) -> None:
    annotation, problems = _read(content)
    assert annotation is None
    assert any(expected in problem for problem in problems), problems


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE annotation [<!ENTITY a "dog">]>\n',
        '<!DOCTYPE annotation SYSTEM "file:///etc/passwd">\n',
        '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]>\n',
    ],
)
def test_a_document_type_is_refused(head: str) -> None:
    annotation, problems = _read(_xml(DOG.replace("dog", "&a;"), head=head))
    assert annotation is None
    assert problems == ["a.xml line 1: has a document type (<!DOCTYPE>), which no annotation needs"]


def _devkit(folder: Path, annotations: Mapping[str, bytes], train: str, val: str) -> Path:
    root = folder / "VOCdevkit" / "VOC2012"
    for inside in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / inside).mkdir(parents=True)
    for name, content in annotations.items():
        (root / "Annotations" / f"{name}.xml").write_bytes(content)
        (root / "JPEGImages" / f"{name}.jpg").write_bytes(name.encode())
    (root / "ImageSets/Main/train.txt").write_text(train)
    (root / "ImageSets/Main/val.txt").write_text(val)
    return root


@pytest.fixture
def without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images as they would be decoded: each of one brightness, as large as it should be."""

    def grey(packed: bytes, _name: str, size: tuple[int, int], *_more: object) -> np.ndarray:
        return np.full((*size, 3), sum(packed) % 251 + 1, np.uint8)

    for module in (_voc_devkit, _box_files):
        monkeypatch.setattr(module, "decoded", grey)
        monkeypatch.setattr(module, "pillow", lambda: None)


ANNOTATIONS = {
    "2008_000001": _xml(DOG * 3),
    "2008_000002": _xml(DOG.replace(">1<", ">0<").replace("dog", "tvmonitor")),
    "2008_000003": _xml("", width=60, height=50),
}


@pytest.mark.usefixtures("without_pillow")
def test_a_devkit_deeper_down_and_not_that_of_another_year(tmp_path: Path) -> None:
    top = tmp_path / "Downloads" / "VOC"
    _devkit(top, ANNOTATIONS, "2008_000001\n2008_000003 \n", "2008_000002\n\n")
    (top / "VOCdevkit" / "VOC2007" / "Annotations").mkdir(parents=True)
    prepared = store.prepare_from(find("voc2012"), tmp_path / "Downloads")
    assert prepared.rows == {"train": 2, "test": 1}


@pytest.mark.usefixtures("without_pillow")
@pytest.mark.parametrize("named", ["", "VOCdevkit", "VOCdevkit/VOC2012"])
def test_an_unpacked_devkit(tmp_path: Path, named: str) -> None:
    _devkit(tmp_path, ANNOTATIONS, "2008_000001\n2008_000003 \n", "2008_000002\n\n")
    said: list[str] = []
    prepared = store.prepare_from(find("voc2012"), tmp_path / named, said.append)
    assert prepared.source == "sample"
    words = "2 and 1 rows where the official data have 5,717 and 5,823: marked as a sample"
    assert said == [f"voc2012: {words}"]
    assert prepared.shapes("train") == {
        "image": (2, 500, 500, 3), "size": (2, 2), "boxes": (2, 3, 4), "classes": (2, 3),
        "difficult": (2, 3),
    }  # fmt: skip
    arrays = {
        name: np.load(prepared.folder / f"train-{name}.npy") for name in prepared.shapes("train")
    }
    assert {name: str(array.dtype) for name, array in arrays.items()} == {
        "image": "uint8", "size": "int32", "boxes": "float32", "classes": "int32",
        "difficult": "uint8",
    }  # fmt: skip
    assert arrays["size"].tolist() == [[80, 100], [50, 60]]
    assert (arrays["image"][0, :80, :100] > 0).all()
    assert not arrays["image"][0, 80:].any() and not arrays["image"][0, :, 100:].any()
    assert arrays["boxes"].tolist() == [[[20, 10, 60, 40]] * 3, [[0] * 4] * 3]
    assert arrays["classes"].tolist() == [[12] * 3, [0] * 3]
    assert arrays["difficult"].tolist() == [[1] * 3, [0] * 3]
    assert np.load(prepared.folder / "test-classes.npy").tolist() == [[20, 0, 0]]


@pytest.mark.usefixtures("without_pillow")
def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    bad = {f"bad_{k}": _xml(DOG.replace("dog", f"dragon{k}")) for k in range(30)}
    root = _devkit(
        tmp_path,
        {**ANNOTATIONS, **bad},
        "2008_000001\n2008_000009\n" + "\n".join(bad),
        "2008_000002",
    )
    (root / "JPEGImages" / "2008_000001.jpg").unlink()
    with pytest.raises(UserError) as refused:
        store.prepare_from(find("voc2012"), tmp_path)
    lines = refused.value.problem.splitlines()
    assert "can't be used: 33 problems (the first 20):" in lines[0]
    assert [line.strip() for line in lines[1:5]] == [
        "ImageSets/Main/train.txt line 1: JPEGImages/2008_000001.jpg is missing",
        "ImageSets/Main/train.txt line 2: Annotations/2008_000009.xml is missing",
        "ImageSets/Main/train.txt line 2: JPEGImages/2008_000009.jpg is missing",
        "Annotations/bad_0.xml line 4: unknown class 'dragon0'",
    ]
    assert len(lines) == 21
    assert not store.is_prepared(find("voc2012"), "real")


@pytest.mark.usefixtures("without_pillow")
@pytest.mark.parametrize(
    ("train", "val", "expected"),
    [
        ("../../secret\n", "2008_000002", r"train.txt line 1: '../../secret' is not the name"),
        ("2008_000001\n2008_000001", "2008_000002", "line 2: 2008_000001 is listed twice"),
        ("2008_000001", "2008_000001", "val.txt line 1: 2008_000001 is a training image, too"),
        ("", "2008_000001", "train.txt: lists no image"),
    ],
)  # fmt: skip
def test_bad_lists(tmp_path: Path, train: str, val: str, expected: str) -> None:
    _devkit(tmp_path, ANNOTATIONS, train, val)
    with pytest.raises(UserError) as refused:
        store.prepare_from(find("voc2012"), tmp_path)
    assert expected in refused.value.problem


@pytest.mark.usefixtures("without_pillow")
def test_the_archive_holds_the_same(tmp_path: Path) -> None:
    root = _devkit(tmp_path, ANNOTATIONS, "2008_000001\n2008_000003", "2008_000002")
    path = tmp_path / "VOCtrainval_11-May-2012.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(root.parent, "VOCdevkit")
    unpacked, packed = _voc_devkit.from_folder(root), voc2012._convert({path.name: path})
    for split in unpacked:
        for name, values in unpacked[split].items():
            assert np.array_equal(values, packed[split][name])
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UserError, match=r"\.tar"):
        voc2012._convert({path.name: path})


def test_another_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "VOCtrainval_11-May-2012.tar").write_bytes(b"something else")
    with pytest.raises(UserError, match="has 14 bytes where 1,999,639,040 were expected"):
        store.prepare_from(find("voc2012"), tmp_path)
    with pytest.raises(UserError, match=r"thor\.robots\.ox\.ac\.uk"):
        store.prepare_from(find("voc2012"), tmp_path / "..")


def _coco(**changes: Any) -> dict[str, Any]:
    return {
        "images": [{"id": 5, "file_name": "a.jpg", "height": 80, "width": 100}],
        "annotations": [
            {"image_id": 5, "category_id": 7, "bbox": [10, 20, 30, 40.5], "ignore": 1},
            {"image_id": 5, "category_id": 7, "bbox": [0, 0, 100, 80]},
        ],
        "categories": [{"id": 7, "name": "dog"}],
        **changes,
    }


@pytest.mark.usefixtures("without_pillow")
def test_boxes_in_json(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in "ab":
        (tmp_path / "images" / f"{name}.jpg").write_bytes(name.encode())
    (tmp_path / "train.json").write_text(json.dumps(_coco()))
    images = [{"id": 1, "file_name": "b.jpg", "height": 9, "width": 9}]
    (tmp_path / "val.json").write_text(json.dumps(_coco(images=images, annotations=[])))
    prepared = store.prepare_from(find("voc2012"), tmp_path)
    assert np.load(prepared.folder / "train-boxes.npy").tolist() == [
        [[20, 10, 60.5, 40], [0, 0, 80, 100]]
    ]
    assert np.load(prepared.folder / "train-difficult.npy").tolist() == [[1, 0]]
    assert np.load(prepared.folder / "test-size.npy").tolist() == [[9, 9]]


_IMAGE = {"id": 5, "file_name": "a.jpg", "height": 80, "width": 100}
_ANNOTATION = {"image_id": 5, "category_id": 7, "bbox": [10, 20, 30, 40]}


@pytest.mark.usefixtures("without_pillow")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"annotations": [{**_ANNOTATION, "category_id": 8}]}, "annotations[0]: unknown class 8"),
        ({"annotations": [{**_ANNOTATION, "image_id": 6}]}, "there is no image 6"),
        ({"annotations": [{**_ANNOTATION, "image_id": []}]}, "there is no image []"),
        ({"annotations": [{**_ANNOTATION, "bbox": [0, 0, 0, 9]}]}, "a box without width"),
        ({"annotations": [{**_ANNOTATION, "bbox": [0, 0, 9, 99]}]}, "not inside the image"),
        ({"annotations": [{**_ANNOTATION, "bbox": [0, 0, None, 9]}]}, "is not four numbers"),
        ({"annotations": [{**_ANNOTATION, "ignore": "no"}]}, "neither 0 nor 1"),
        ({"annotations": [7]}, "there is no image None"),
        ({"images": [{**_IMAGE, "file_name": "../a.jpg"}]}, "'../a.jpg' is not the name of a file"),
        ({"images": [{**_IMAGE, "height": -1}]}, "100 x -1 is not a size"),
        ({"images": [_IMAGE, _IMAGE]}, "the id 5 is not one of its own"),
        ({"images": [{**_IMAGE, "file_name": "z.jpg"}]}, "the image z.jpg is missing"),
        ({"images": []}, "lists no image"),
        ({"images": 5}, "has no list 'images'"),
        ({"categories": [{"id": 7, "name": "dragon"}]}, "categories[0]: unknown class 'dragon'"),
    ],
)
def test_bad_json(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a")
    (tmp_path / "train.json").write_text(json.dumps(_coco(**changes)))
    (tmp_path / "val.json").write_text(json.dumps(_coco()))
    with pytest.raises(UserError) as refused:
        store.prepare_from(find("voc2012"), tmp_path)
    assert expected in refused.value.problem and "train.json" in refused.value.problem


def _arrays(**changes: np.ndarray) -> dict[str, np.ndarray]:
    made = voc2012.DATASET.proof(3, 2)  # type: ignore[misc]
    named = {f"{name}_{split}": made[split][name] for split in made for name in made[split]}
    return {**named, **changes}


def test_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "voc2012_mine.npz", **_arrays())
    prepared = store.prepare_from(find("voc2012"), tmp_path)
    assert prepared.source == "sample"
    assert (np.load(prepared.folder / "train-boxes.npy") == _arrays()["boxes_train"]).all()


def test_bad_arrays(tmp_path: Path) -> None:
    good = _arrays()
    boxes, classes = good["boxes_train"].copy(), good["classes_train"].copy()
    boxes[1, 0, 3] = 1000
    classes[2, 0] = 21
    for changes, expected in [
        ({"boxes_train": boxes}, "train row 1 box 0: a box that is not inside the image"),
        ({"classes_train": classes}, "train row 2 box 0: unknown class 21"),
        ({"size_train": good["size_train"] + 99}, "train row 0: "),
        ({"size_train": good["size_train"][:2]}, "has size_train (2, 2) of int32"),
        ({"image_train": good["image_train"].astype(np.float32)}, "of float32, which does not fit"),
        ({"boxes_train": boxes * np.nan}, "is not four numbers"),
    ]:
        np.savez(tmp_path / "voc2012.npz", **{**good, **changes})
        with pytest.raises(UserError) as refused:
            store.prepare_from(find("voc2012"), tmp_path)
        assert expected in refused.value.problem


def test_made_up_scenes_have_true_boxes() -> None:
    made = voc2012.DATASET.synthetic(40, 10)
    assert made["train"]["image"].shape == (40, 128, 128, 3)
    assert {str(v.dtype) for v in made["train"].values()} == {"uint8", "int32", "float32"}
    seen = set()
    for split in made.values():
        for image, size, boxes, classes in zip(
            split["image"], split["size"], split["boxes"], split["classes"], strict=True
        ):
            height, width = size
            assert not image[height:].any() and not image[:, width:].any()
            # colours are strong, the ground is grey
            painted = image.max(axis=2).astype(int) - image.min(axis=2) > 80
            covered = np.zeros_like(painted)
            assert (classes > 0).any()
            for box, label in zip(boxes.astype(int), classes, strict=True):
                if not label:
                    continue
                seen.add(int(label))
                y1, x1, y2, x2 = box
                assert 0 <= y1 < y2 <= height and 0 <= x1 < x2 <= width
                own = painted[y1:y2, x1:x2]
                assert own[0].any() and own[-1].any() and own[:, 0].any() and own[:, -1].any()
                assert not covered[y1:y2, x1:x2].any()
                covered[y1:y2, x1:x2] = True
            assert not (painted & ~covered).any()
    assert len(seen) > 15


def test_images_are_decoded(tmp_path: Path) -> None:
    library = pytest.importorskip("PIL.Image")
    pixels = np.zeros((80, 100, 3), np.uint8)
    pixels[:, 50:] = (10, 200, 30)

    def packed(array: np.ndarray, kind: str) -> bytes:
        file = io.BytesIO()
        library.fromarray(array).save(file, kind)
        return file.getvalue()

    problems = Problems()
    found = _voc_devkit.decoded(packed(pixels, "PNG"), "a", (80, 100), library, problems)
    assert found is not None and (found == pixels).all() and not problems.count
    grey = _voc_devkit.decoded(packed(pixels[:, :, 0], "PNG"), "a", (80, 100), library, problems)
    assert grey is not None and grey.shape == (80, 100, 3)
    long = packed(np.zeros((60, 501, 3), np.uint8), "PNG")
    assert _voc_devkit.decoded(long, "a", (60, 501), library, problems) is None
    assert problems.said == ["a: is higher or wider than 500 pixels"]
    huge = bytearray(packed(pixels[:1, :1], "PNG"))
    huge[16:24] = (40_000).to_bytes(4, "big") * 2  # the header's size; its checksum is not read
    for content, expected in [
        (packed(pixels, "PNG"), "has 100 x 80 pixels where its annotation says 60 x 50"),
        (packed(pixels, "JPEG")[:400], "is not an image that can be decoded"),
        (b"nothing", "is not an image that can be decoded"),
        (packed(pixels, "GIF"), "is not an image that can be decoded"),
        (bytes(huge), "it "),
    ]:
        problems = Problems()
        assert _voc_devkit.decoded(content, "a.jpg", (50, 60), library, problems) is None
        assert expected in problems.said[0] and problems.said[0].startswith("a.jpg: ")
