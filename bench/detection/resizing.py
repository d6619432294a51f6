"""Images to the sizes that a detector trains on, with their boxes; part of making a batch."""

import numpy as np


def resized(image, shorter, longest):
    """(image float32, factors (y, x)): its shorter side has `shorter` pixels.

    Where the longer one would have more than `longest`, that one has `longest`. Sides are rounded
    to whole pixels. Values are interpolated linearly at the pixels' centres; beyond the outermost
    centre the edge goes on. Nothing is averaged, so much smaller images lose detail.
    """
    height, width = image.shape[:2]
    factor = min(shorter / float(min(height, width)), longest / float(max(height, width)))
    new = [max(1, int(side * factor + 0.5)) for side in (height, width)]
    result = _interpolated(_interpolated(image.astype(np.float32), new[0], 0), new[1], 1)
    return result, (new[0] / float(height), new[1] / float(width))


def _interpolated(image, length, axis):
    """The image with `length` pixels along this axis."""
    before = image.shape[axis]
    at = np.clip((np.arange(length) + 0.5) * (before / float(length)) - 0.5, 0, before - 1)
    low = np.floor(at).astype(np.intp)
    share = (at - low).astype(np.float32).reshape((-1,) + (1,) * (image.ndim - 1 - axis))
    first = np.take(image, low, axis)
    second = np.take(image, np.minimum(low + 1, before - 1), axis)
    second -= first
    second *= share
    second += first
    return second


def resized_boxes(boxes, factors):
    """The boxes in an image that was resized by these factors (y, x)."""
    return (np.asarray(boxes, np.float32) * np.tile(np.array(factors), 2)).astype(np.float32)


def fixed_size(size, sizes):
    """The smallest of these sizes that an image fits into; the first of equally large ones."""
    height, width = (int(side) for side in size)
    fitting = [each for each in sizes if each[0] >= height and each[1] >= width]
    if not fitting:
        words = "an image of {} x {} pixels fits into none of the sizes {}"
        raise ValueError(words.format(height, width, [tuple(each) for each in sizes]))
    return tuple(min(fitting, key=lambda each: each[0] * each[1]))


def padded(image, size):
    """The image with zeros below and to its right."""
    result = np.zeros(tuple(size) + image.shape[2:], image.dtype)
    result[: image.shape[0], : image.shape[1]] = image
    return result
