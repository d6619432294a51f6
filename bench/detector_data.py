"""Batches for a detector: an image of several sizes, its boxes, and what the RPN has to answer.

The data have images of any size, padded to one: the arrays `image`, `size` (the true height and
width), `boxes`, `classes` (0: no box) and `difficult`. A batch is one image, resized to the sizes
of the graph and padded to one of them.
"""

import numpy as np

from bench.detection.resizing import fixed_size, padded, resized, resized_boxes
from bench.detection.targets import rpn_targets
from bench.ops import at_size, host_nodes, shapes_of, sizes_of

RPN_TARGETS = ("rpn_labels", "rpn_label_weights", "rpn_deltas", "rpn_delta_weights")
"""Arrays of a batch that no file holds: they are made with it."""
DIFFICULT = "difficult"


class DetectorSplit:
    """One split of a data set with boxes; the same methods as `data.Split`."""

    def __init__(self, arrays, divide, graph):
        self._arrays, self._graph = arrays, graph
        self.detector = host_nodes(graph)[0]
        self._factor = {k: np.float32(1.0 / v) for k, v in (divide or {}).items()}
        self._boxes, self._classes, self._size, self._seed = self.detector["inputs"][2:]
        self._image = next(spec["name"] for spec in graph["inputs"] if len(spec["shape"]) == 3)
        self._sizes = sizes_of(graph) or [shapes_of(graph)[self._image][:2]]
        self._shorter = max(min(size) for size in self._sizes)
        self._longest = max(max(size) for size in self._sizes)
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise ValueError("arrays of one split differ in length: {}".format(sorted(lengths)))
        self.rows = lengths.pop()

    def part(self, rows):
        """A split of these rows alone."""
        arrays = {name: array[rows] for name, array in self._arrays.items()}
        other = DetectorSplit(arrays, None, self._graph)
        other._factor = self._factor
        return other

    def batches(self, size):
        """All rows in order, for evaluation; `size` is 1."""
        for row in range(self.rows):
            yield self.batch([row])

    def batch(self, rows):
        """The one row as a dictionary of NumPy arrays; the seed is left at 0."""
        (row,) = np.arange(self.rows)[rows]
        height, width = (int(side) for side in self._arrays[self._size][row])
        image = np.asarray(self._arrays[self._image][row, :height, :width])
        image, factors = resized(image, self._shorter, self._longest)
        image *= self._factor.get(self._image, np.float32(1))
        boxes = self._filled(self._boxes, row)
        return {
            self._image: padded(image, fixed_size(image.shape[:2], self._sizes))[None],
            self._boxes: resized_boxes(boxes, factors)[None],
            self._classes: self._filled(self._classes, row).astype(np.int32)[None],
            DIFFICULT: self._filled(DIFFICULT, row).astype(np.int32)[None],
            self._size: np.array([image.shape[:2]], np.float32),
            self._seed: np.zeros(1, np.int32),
        }

    def _filled(self, name, row):
        """The row's boxes, or what belongs to them, as many as the graph has room for."""
        value, most = self._arrays[name][row], shapes_of(self._graph)[self._boxes][0]
        if len(value) > most and self._arrays[self._classes][row, most:].any():
            words = "row {} has more than the {} boxes that {!r} takes"
            raise ValueError(words.format(row, most, self._graph["name"]))
        filled = np.zeros((most,) + value.shape[1:], value.dtype)
        filled[: min(most, len(value))] = value[:most]
        return filled

    def for_training(self, batch, seed, epoch, step):
        """The batch with a seed of its own, and what the RPN has to answer."""
        drawn = np.random.RandomState([seed % 2**32, epoch, step]).randint(2**31 - 1)
        shapes = shapes_of(at_size(self._graph, batch[self._image].shape[1:3]))
        rows, columns = shapes[self.detector["inputs"][0]][:2]
        targets = rpn_targets(
            batch[self._boxes][0], batch[self._classes][0], batch[self._size][0], rows, columns,
            self.detector, drawn,
        )  # fmt: skip
        targets = {name: value[None] for name, value in zip(RPN_TARGETS, targets)}
        return dict(batch, **dict(targets, **{self._seed: np.array([drawn], np.int32)}))

    def described(self):
        """How many sizes the images come in, and how much of all pixels is padding."""
        inside = total = 0
        used = set()
        for height, width in np.asarray(self._arrays[self._size], np.float64):
            factor = min(self._shorter / min(height, width), self._longest / max(height, width))
            new = [max(1, int(side * factor + 0.5)) for side in (height, width)]
            size = fixed_size(new, self._sizes)
            used.add(tuple(size))
            inside, total = inside + new[0] * new[1], total + size[0] * size[1]
        share = 1 - inside / float(total)
        return {"image sizes": len(used), "padding": round(share, 4)}
