"""PASCAL VOC 2012, object detection: the official lists train and val, boxes of 20 classes.

`val` is the test split: the boxes of the official test images were never published. The arrays are
those of `_box_arrays`. A folder may hold the archive, an unpacked devkit, or what `_box_files`
reads. Decoding needs Pillow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from dlbench.datasets import Arrays, Dataset, _box_files, _voc_devkit, downloads
from dlbench.datasets._scenes import scenes

_ARCHIVE = "VOCtrainval_11-May-2012.tar"
_SHA256 = "e14f763270cf193d0b5f74b169f44157a4b0c6efa708f4dd0ff78ee691763bcb"


def _convert(files: Mapping[str, Path]) -> Arrays:
    return _voc_devkit.from_archive(files[_ARCHIVE])


def _from_folder(folder: Path) -> Arrays | None:
    if devkit := _voc_devkit.devkit_in(folder):
        return _voc_devkit.from_folder(devkit)
    return _box_files.from_json(folder) or _box_files.from_arrays(folder)


DATASET = Dataset(
    name="voc2012",
    title="PASCAL Visual Object Classes 2012, detection (M. Everingham et al., 2012)",
    licence="Flickr's terms of use; research",
    rows=(5_717, 5_823),
    convert=_convert,
    synthetic=partial(scenes, side=128),
    downloads=downloads(
        {_ARCHIVE: (1_999_639_040, f"sha256:{_SHA256}")},
        "https://thor.robots.ox.ac.uk/pascal/VOC/voc2012/",
    ),
    from_folder=_from_folder,
    notes="the list val is the test split; 9 GB on disk, twice that while it is prepared",
    divide={"image": 255.0},
    proof=partial(scenes, side=48),
)
