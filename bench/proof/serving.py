"""Checks of what the model is fed and judged with: files, rows, labels, metrics."""

import hashlib
import os

import numpy as np

from bench import metrics
from bench.ops import host_nodes
from bench.proof.compare import Mismatch, compare
from bench.proof.kinks import regions_at_ties
from bench.proof.noise import largest
from bench.proof.sides import ROWS

_SHARED = 0.05
"""Real sets repeat a row here and there; a test split that is the training split repeats all."""
_TEST_ROWS = 6 * ROWS + 3
"""At least, and in any case more than a batch."""


def served_data(sides):
    """The files are those of the job; batches hold their rows; test rows are not training rows."""
    _same_files(sides)
    for split in sorted(sides.splits):
        raw = read(sides, split)
        _same_rows(sides, split, raw)
    share = _shared_rows(read(sides, "train"), read(sides, "test"))
    if share > _SHARED:
        detail = "{:.0%} of the test rows are training rows".format(share)
        raise Mismatch(detail, share, _SHARED)
    return {"error": share, "tolerance": _SHARED, "detail": "share of test rows also in train"}


def read(sides, split):
    """The arrays as they are on disk, by a way of their own."""
    files = sides.job["data"]["splits"][split]
    return {
        name: np.load(os.path.join(sides.folder, file), allow_pickle=False)
        for name, file in files.items()
    }


def _same_files(sides):
    """The digest of the files, as FORMATS.md has it, against the job's."""
    names = {file for files in sides.job["data"]["splits"].values() for file in files.values()}
    lines = ""
    for name in sorted(names):
        with open(os.path.join(sides.folder, name), "rb") as file:
            lines += "{} {}\n".format(hashlib.sha256(file.read()).hexdigest(), name)
    found = hashlib.sha256(lines.encode("utf-8")).hexdigest()
    if found != sides.job["data"]["digest"]:
        raise Mismatch("the files of the splits are not those that the job's digest names")


def _same_rows(sides, split, raw):
    if host_nodes(sides.graph):
        _same_images(sides, split, raw)
        return
    divide = sides.job["data"].get("divide") or {}
    rows = np.arange(sides.splits[split].rows)[:: max(1, sides.splits[split].rows // 64)]
    batch = sides.splits[split].batch(rows)
    for name, values in raw.items():
        if len(values) != sides.splits[split].rows:
            detail = "{} rows against {} in the file".format(sides.splits[split].rows, len(values))
            raise Mismatch(detail, node="{} of {}".format(name, split))
        wanted = values[rows].astype(np.float64) / divide.get(name, 1.0)
        got = batch[name].reshape(wanted.shape)
        label = "{} of {}".format(name, split)
        compare(got, wanted, "forward", label, when="a batch against the file: ")


def _same_images(sides, split, raw):
    """A detector's rows: boxes in proportion to the image, pixels at places drawn at random."""
    boxes, classes, size, _ = host_nodes(sides.graph)[0]["inputs"][2:]
    image = next(spec["name"] for spec in sides.graph["inputs"] if len(spec["shape"]) == 3)
    divide = (sides.job["data"].get("divide") or {}).get(image, 1.0)
    random = np.random.RandomState(5)
    for row in range(0, sides.splits[split].rows, max(1, sides.splits[split].rows // 16)):
        batch, true = sides.splits[split].batch([row]), raw[size][row].astype(np.float64)
        count, when = int((raw[classes][row] > 0).sum()), "row {} of {}: ".format(row, split)
        compare(batch[classes][0, :count], raw[classes][row, :count], "forward", classes, when=when)
        compare(
            batch[boxes][0, :count] / np.tile(batch[size][0], 2),
            raw[boxes][row, :count] / np.tile(true, 2),
            "forward",
            boxes,
            when=when,
        )
        extent = batch[size][0].astype(int)
        places = (random.uniform(size=(32, 2)) * extent).astype(int)  # old NumPy: one bound alone
        wanted = [_pixel(raw[image][row], (p + 0.5) * true / extent - 0.5, true) for p in places]
        got = batch[image][0, places[:, 0], places[:, 1]]
        compare(got, np.array(wanted) / divide, "forward", image, when=when)


def _pixel(image, place, size):
    """The image's value between its pixels' centres, weighed by the distance to each."""
    place = np.clip(place, 0, size - 1)
    total = 0.0
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        y, x = np.minimum(np.floor(place) + corner, size - 1).astype(int)
        weights = np.maximum(0, 1 - np.abs(np.floor(place) + corner - place))
        total = total + weights.prod() * image[y, x].astype(np.float64)
    return total


def _shared_rows(train, test):
    """The share of the test rows that are among the training rows."""
    seen = set(_row_keys(train))
    keys = list(_row_keys(test))
    return sum(key in seen for key in keys) / float(len(keys))


def _row_keys(arrays):
    for row in range(len(next(iter(arrays.values())))):
        yield b"".join(np.ascontiguousarray(arrays[name][row]).tobytes() for name in sorted(arrays))


def _without_ties(sides, learnt, test, rows):
    """The rows whose regions are no matter of rounding."""
    if not host_nodes(sides.graph):
        return rows
    reference = sides.reference()
    reference.load(learnt)
    batches = [test.batch([row]) for row in rows]
    tied = [regions_at_ties(sides.graph, reference.activations(b), b) for b in batches]
    if all(tied):
        raise Mismatch("the regions of all {} test rows are a matter of rounding".format(len(rows)))
    return rows[~np.array(tied)]


def measured(sides):
    """The metric of the release's own raw outputs on the test split against the reference's."""
    test = sides.splits["test"]
    size = sides.own_rows()  # evaluated in batches of the recipe's size, as in a trial
    rows = max(min(test.rows, _TEST_ROWS), size + ROWS // 2)
    rows += size > 1 and rows % size == 0  # the last batch is a smaller one
    rows = np.arange(rows) % test.rows
    _, _, model = sides.gentle_epoch()  # trained, as a trial's model is
    learnt = model.weights()
    small = test.part(_without_ties(sides, learnt, test, rows))
    got, raw = metrics.evaluate(model, small, sides.recipe, size)
    sets = []
    for reference in [sides.reference()] + sides.copies().all:
        reference.load(learnt)
        sets.append(metrics.evaluate(reference, small, sides.recipe, size))
    (wanted, exact), others = sets[0], sets[1:]
    worst = 0.0
    for name in sorted(raw):
        spread = max(largest(other[name] - exact[name]) for _, other in others)
        worst = max(worst, compare(raw[name], exact[name], "forward", name, spread=spread))
    for name, value in wanted.items():
        if got[name] == value:  # infinite on both sides, too
            continue
        apart = max(abs(other[name] - value) for other, _ in others)
        # one row may fall on the other side of a decision
        if not abs(got[name] - value) <= max(1.0 / small.rows, 1e-4 * abs(value), 10 * apart):
            raise Mismatch("{} {} against {}".format(name, got[name], value))
    return {"error": worst, "detail": "{} test rows".format(small.rows)}
