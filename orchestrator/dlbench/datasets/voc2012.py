"""PASCAL VOC 2012, object detection: the official lists train and val, boxes of 20 classes.

`val` is the test split: the boxes of the official test images were never published. The arrays are
those of `_box_arrays`. A folder may hold the archive, an unpacked devkit, or what `_box_files`
reads. Decoding needs Pillow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset, Download

if TYPE_CHECKING:
    from dlbench.datasets import Arrays

_ARCHIVE = "VOCtrainval_11-May-2012.tar"
_SYNTHETIC_SIDE = 128
_PROOF_SIDE = 48


def _convert(files: Mapping[str, Path]) -> Arrays:
    from dlbench.datasets import _voc_devkit

    return _voc_devkit.from_archive(files[_ARCHIVE])


def _from_folder(folder: Path) -> Arrays | None:
    from dlbench.datasets import _box_files, _voc_devkit

    if devkit := _voc_devkit.devkit_in(folder):
        return _voc_devkit.from_folder(devkit)
    return _box_files.from_json(folder) or _box_files.from_arrays(folder)


def _synthetic(train: int, test: int) -> Arrays:
    from dlbench.datasets import _scenes

    return _scenes.scenes(train, test, _SYNTHETIC_SIDE)


def _proof(train: int, test: int) -> Arrays:
    from dlbench.datasets import _scenes

    return _scenes.scenes(train, test, _PROOF_SIDE)


DATASET = Dataset(
    name="voc2012",
    title="PASCAL Visual Object Classes 2012, detection (M. Everingham et al., 2012)",
    licence="Flickr's terms of use; research",
    rows=(5_717, 5_823),
    convert=_convert,
    synthetic=_synthetic,
    downloads=(
        Download(
            _ARCHIVE,
            (f"https://thor.robots.ox.ac.uk/pascal/VOC/voc2012/{_ARCHIVE}",),
            1_999_639_040,
            "sha256:e14f763270cf193d0b5f74b169f44157a4b0c6efa708f4dd0ff78ee691763bcb",
        ),
    ),
    from_folder=_from_folder,
    notes="the list val is the test split; 9 GB on disk, twice that while it is prepared",
    divide={"image": 255.0},
    proof=_proof,
)
