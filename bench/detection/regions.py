"""RoI align, which is separable: out = Wy . F . transposed Wx, for each region and channel."""

import numpy as np


def roi_align_matrices(boxes, rows, columns, stride, size=7, samples=2):
    """(Wy [R, size, rows], Wx [R, size, columns]): the mean of a cell's samples along each axis.

    A region is divided into size by size cells, and a cell into samples by samples equal parts; the
    feature map is interpolated linearly at their centres, where the value of pixel i is at i + 0.5
    ("aligned"). A sample beyond the centre of the outermost pixel has that pixel's value, and 0 if
    it is more than one pixel beyond it. Regions that are not finite have matrices of zeros.
    """
    boxes = np.asarray(boxes, np.float64) / stride
    return (
        _weights(boxes[:, 0], boxes[:, 2], rows, size, samples),
        _weights(boxes[:, 1], boxes[:, 3], columns, size, samples),
    )


def _weights(start, end, length, size, samples):
    """[R, size, length]: how much each pixel of an axis is worth in each cell."""
    parts = (np.arange(size * samples) + 0.5) / (size * samples)
    with np.errstate(all="ignore"):
        at = start[:, None] - 0.5 + (end - start)[:, None] * parts
        counts = (at >= -1) & (at <= length)  # false where it is not a number
        at = np.clip(np.where(counts, at, 0), 0, length - 1)
    low = np.floor(at).astype(np.intp)
    share = at - low
    weights = np.zeros((len(at) * size, length))
    cell = np.arange(len(at) * size).reshape(-1, size, 1).repeat(samples, axis=2)
    for sample in range(samples):  # the samples of a cell may meet in one pixel: one after another
        taken = slice(sample, None, samples)
        row, left = cell[:, :, sample], low[:, taken]
        worth = counts[:, taken] / samples
        weights[row, left] += worth * (1 - share[:, taken])
        weights[row, np.minimum(left + 1, length - 1)] += worth * share[:, taken]
    return weights.reshape(len(at), size, length).astype(np.float32)
