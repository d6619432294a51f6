"""Street View House Numbers, cropped digits: the train and test splits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays, Dataset, _synthetic, downloads
from dlbench.datasets._image_arrays import image_arrays

_PLACE = "http://ufldl.stanford.edu/housenumbers/"
_FILES = {
    "train_32x32.mat": (182_040_794, "md5:e26dedcc434d2e4c54c9b2d4a06d8373"),
    "test_32x32.mat": (64_275_384, "md5:eb5a983be6a315427106f1b164d9cef3"),
}


def _convert(files: Mapping[str, Path]) -> Arrays:
    from scipy.io import loadmat

    splits = {}
    for split in ("train", "test"):
        content = loadmat(files[f"{split}_32x32.mat"], variable_names=("X", "y"))
        label = content["y"].reshape(-1)
        splits[split] = {
            "image": content["X"].transpose(3, 0, 1, 2),  # 32x32x3xN on disk
            "label": np.where(label == 10, 0, label).astype(np.uint8),  # 10 means the digit 0
        }
    return splits


DATASET = Dataset(
    name="svhn",
    title="The Street View House Numbers (Y. Netzer et al., 2011)",
    licence="non-commercial use only",
    rows=(73_257, 26_032),
    convert=_convert,
    synthetic=partial(_synthetic.images, shape=(32, 32, 3), classes=10),
    downloads=downloads(_FILES, _PLACE),
    from_folder=partial(image_arrays, name="svhn", shape=(32, 32, 3), classes=10),
    divide={"image": 255.0},
)
