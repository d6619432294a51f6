"""Images as plain arrays, as people keep them in one `.npz` file: x_train, y_train, and so on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dlbench.datasets import Arrays
from dlbench.datasets._folders import Inside
from dlbench.datasets._reading import has_array, read_npz, wrong

_MOST_BYTES = 4_000_000_000


def image_arrays(
    folder: Path, name: str, shape: tuple[int, int, int], classes: int, label: str = "y"
) -> Arrays | None:
    """The splits of a file `NAME*.npz` in the folder: images of bytes, rows first; None: no such
    file. `label` is how it calls its labels."""
    names = [f"{kind}_{split}" for split in ("train", "test") for kind in ("x", label)]
    files = [path for path in Inside(folder).like(f"{name}*.npz") if has_array(path, names[0])]
    if not files:
        return None
    arrays = read_npz(files[0], names, _MOST_BYTES)
    splits = {}
    for split in ("train", "test"):
        image, own = arrays[f"x_{split}"], arrays[f"{label}_{split}"].reshape(-1)
        if image.shape[1:] != shape or image.dtype != np.uint8:
            words = f"has images {image.shape[1:]} of {image.dtype}; bytes {shape} were expected"
            raise wrong(files[0].name, words)
        if len(own) != len(image) or own.dtype.kind not in "iu" or not len(own):
            raise wrong(files[0].name, f"does not have one label for each image of {split}")
        if own.min() < 0 or own.max() >= classes:
            raise wrong(files[0].name, f"has labels of {split} that are not 0 to {classes - 1}")
        splits[split] = {"image": image, "label": own.astype(np.uint8)}
    return splits


def every_fifth(image: np.ndarray, label: np.ndarray) -> Arrays:
    """Every fifth row is a test row."""
    test = np.arange(len(label)) % 5 == 4
    rows = {"train": ~test, "test": test}
    return {split: {"image": image[own], "label": label[own]} for split, own in rows.items()}
