"""Three spirals that wind around each other: which one does a point in the plane belong to?

A data set has two sources. `convert` makes the real one, from the files that `downloads` names
(here there are none: the points are computed). `synthetic` makes a stand-in of any size, which the
certificate uses, too. Both return NumPy arrays by split and name.
"""

import numpy as np

from dlbench.datasets import Dataset

TRAIN, TEST, CLASSES = 1200, 300, 3


def _spirals(train, test, seed):
    random = np.random.RandomState(seed)

    def draw(rows):
        label = random.randint(0, CLASSES, rows)
        radius = random.uniform(0.05, 1.0, rows)
        angle = 4.0 * radius + label * 2 * np.pi / CLASSES + random.normal(0, 0.12, rows)
        point = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return {"point": point.astype(np.float32), "label": label.astype(np.uint8)}

    return {"train": draw(train), "test": draw(test)}


def _convert(_files):
    return _spirals(TRAIN, TEST, seed=1)


def _synthetic(train, test):
    return _spirals(train, test, seed=2)


DATASET = Dataset(
    name="spirals",
    title="Three spirals in the plane",
    licence="CC0 1.0",
    rows=(TRAIN, TEST),
    convert=_convert,
    synthetic=_synthetic,
)
