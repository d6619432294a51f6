"""Arrays from disk and the batches made of them: the same rows in the same order everywhere."""

import os

import numpy as np

from bench.detector_data import RPN_TARGETS, DetectorSplit
from bench.ops import host_nodes, is_made, shapes_of

REAL_VALUED = (
    "sigmoid-cross-entropy", "mean-squared-error", "mean-absolute-error", "smooth-l1",
    "binary-accuracy",
)  # fmt: skip
"""Losses and metrics whose targets have the output's shape."""
BY_CLASS = ("softmax-cross-entropy", "accuracy", "perplexity", "greedy-accuracy")
"""Losses and metrics whose targets are classes: places of the output's last axis."""


class Split:
    """One split of a data set, ready to be cut into batches."""

    def __init__(self, arrays, divide=None, forms=None):
        """`forms`: the shape of a row and the dtype that an array is read in."""
        self._arrays = arrays
        self._factor = {k: np.float32(1.0 / v) for k, v in (divide or {}).items()}
        self._forms = forms or {}
        sizes = {len(array) for array in arrays.values()}
        if len(sizes) != 1:
            raise ValueError("arrays of one split differ in length: {}".format(sorted(sizes)))
        self.rows = sizes.pop()

    def batch(self, rows):
        """The rows (an index array or a slice) as a dictionary of NumPy arrays."""
        return {name: self._cut(name, rows) for name in self._arrays}

    def _cut(self, name, rows):
        part = self._arrays[name][rows]
        if name in self._factor:
            return np.multiply(part, self._factor[name], dtype=np.float32)
        if name in self._forms:  # nothing is left to broadcasting
            shape, dtype = self._forms[name]
            return part.reshape((len(part),) + shape).astype(dtype, copy=False)
        if part.dtype.kind in "iu":
            return part.astype(np.int32)
        return np.ascontiguousarray(part, dtype=np.float32)

    def part(self, rows):
        """A split of these rows alone."""
        arrays = {name: array[rows] for name, array in self._arrays.items()}
        other = type(self)(arrays, None, self._forms)
        other._factor = self._factor
        return other

    def array(self, name):
        """An array as it is on disk."""
        return self._arrays[name]

    def with_arrays(self, arrays):
        """The split with these in place of its own arrays of the same names."""
        other = Split(dict(self._arrays, **arrays), None, self._forms)
        other._factor = self._factor
        return other

    def for_training(self, batch, seed, epoch, step):
        """The batch with what is drawn for this step; nothing here."""
        return batch

    def described(self):
        """What there is to say of the data's form."""
        return {}

    def batches(self, size):
        """All rows in order, for evaluation."""
        for start in range(0, self.rows, size):
            yield self.batch(slice(start, start + size))


def epoch_order(seed, epoch, rows, shuffle=True):
    """The order of the rows in this epoch: a function of the seed and the epoch alone."""
    if not shuffle:
        return np.arange(rows)
    return np.random.RandomState((seed * 1000003 + epoch) % 2**32).permutation(rows)


def augmented(batch, augment, images, seed, epoch, step):
    """The batch with its images flipped and cut out anew, as drawn from seed, epoch and step."""
    random = np.random.RandomState([seed % 2**32, epoch, step])
    batch = dict(batch)
    rows = len(next(iter(batch.values())))
    flips = random.uniform(size=rows) < 0.5
    pad = augment["crop"]
    corners = random.randint(0, 2 * pad + 1, (2, rows, 1))
    for name in images:
        value = batch[name]
        if pad:
            height, width = value.shape[1:3]
            padded = np.pad(value, ((0, 0), (pad, pad), (pad, pad), (0, 0)), "constant")
            down = (corners[0] + np.arange(height))[:, :, None]
            across = (corners[1] + np.arange(width))[:, None, :]
            value = padded[np.arange(rows)[:, None, None], down, across]
        if augment["flip"]:
            value = np.where(flips[:, None, None, None], value[:, :, ::-1], value)
        batch[name] = np.ascontiguousarray(value)
    return batch


def with_validation(splits, stopping):
    """The splits with one called "validation": rows of the training split, the same in any trial.

    They are drawn by their number alone, so that every seed and every release keeps the same ones.
    """
    if not stopping:
        return splits
    share = stopping["validation"]
    if share is None:
        if "validation" not in splits:
            raise ValueError("the data have no split 'validation' to tell when to stop")
        return splits
    train = splits["train"]
    kept = round(share * train.rows)
    if not 0 < kept < train.rows:
        raise ValueError("{} of {} rows can't be kept for validation".format(kept, train.rows))
    order = np.random.RandomState(train.rows % 2**32).permutation(train.rows)
    parts = {"validation": np.sort(order[:kept]), "train": np.sort(order[kept:])}
    return dict(splits, **{name: train.part(rows) for name, rows in parts.items()})


def load(folder, data, graph, recipe):
    """{"train": Split, "test": Split} of the job's data."""
    shapes = {name: tuple(shape) for name, shape in shapes_of(graph).items()}
    forms = {spec["name"]: (shapes[spec["name"]], spec["dtype"]) for spec in graph["inputs"]}
    for spec in recipe["losses"] + recipe["metrics"]:
        shape = shapes[spec["output"]]
        if spec["name"] in REAL_VALUED:
            forms[spec["target"]] = shape, "float32"
        elif spec["name"] in BY_CLASS:
            forms[spec["target"]] = shape[:-1], "int32"
    splits = {}
    used = data.get("rows") or {}
    mapped = bool(host_nodes(graph))  # photographs need not fit into memory
    for split, files in data["splits"].items():
        arrays = {
            name: _read(os.path.join(folder, file), used.get(split), mapped)
            for name, file in files.items()
        }
        for name, (low, high, what) in ranges_of(graph, recipe, shapes).items():
            _check_range(split, name, arrays[name], low, high, what)
        if host_nodes(graph):
            splits[split] = DetectorSplit(arrays, data.get("divide"), graph)
        else:
            splits[split] = Split(arrays, data.get("divide"), forms)
    return splits


def _read(path, rows, mapped):
    """The array of a file; `rows`: that many of its rows, drawn by their number alone."""
    if rows is None:
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    whole = np.load(path, mmap_mode="r", allow_pickle=False)  # most of it stays on the disk
    drawn = np.random.RandomState(len(whole) % 2**32).permutation(len(whole))[:rows]
    return np.array(whole[np.sort(drawn)])


def ranges_of(graph, recipe, shapes):
    """{array: (least, largest, what its values are)}, where somebody can't read all numbers.

    What several read is what all of them can.
    """
    ranges = {}

    def limit(array, low, high, what):
        least, most, _ = ranges.get(array, (low, high, what))
        ranges[array] = (max(low, least), min(high, most), what)

    for node in graph["nodes"]:
        if node["op"] == "embedding":
            what = "tokens of {!r}".format(node["name"])
            limit(node["inputs"][0], 0, node["vocabulary"] - 1, what)
        if node.get("lengths"):
            what = "lengths of {!r}".format(node["name"])
            limit(node["lengths"], 1, shapes[node["inputs"][0]][0], what)
    for node in host_nodes(graph):
        limit(node["inputs"][3], 0, node["classes"], "classes of {!r}".format(node["name"]))
    for spec in recipe["losses"] + recipe["metrics"]:
        if is_made(spec["target"]) or spec["target"] in RPN_TARGETS:
            continue
        if spec["name"] in BY_CLASS:
            what = "classes of {!r}".format(spec["output"])
            limit(spec["target"], 0, shapes[spec["output"]][-1] - 1, what)
        if spec["mask"]:
            most = np.inf if spec.get("divisor") else 1
            limit(spec["mask"], 0, most, "values of a mask")
    return ranges


def _check_range(split, name, values, low, high, what):
    if values.size and (values.min() < low or values.max() > high):
        words = "array {!r} of split {!r} has values from {} to {}; the {} go from {} to {}"
        raise ValueError(words.format(name, split, values.min(), values.max(), what, low, high))
