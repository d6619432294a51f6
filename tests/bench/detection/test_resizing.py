"""Images to the detector's sizes: by a loop over pixels, and with their boxes."""

import numpy as np
import pytest

from bench.detection.resizing import fixed_size, padded, resized, resized_boxes


def _by_loop(image, height, width):
    result = np.zeros((height, width, image.shape[2]))
    for row in range(height):
        for column in range(width):
            y = min(max((row + 0.5) * image.shape[0] / height - 0.5, 0), image.shape[0] - 1)
            x = min(max((column + 0.5) * image.shape[1] / width - 0.5, 0), image.shape[1] - 1)
            top, left = int(y), int(x)
            bottom, right = min(top + 1, image.shape[0] - 1), min(left + 1, image.shape[1] - 1)
            down, across = y - top, x - left
            result[row, column] = (
                (1 - down) * ((1 - across) * image[top, left] + across * image[top, right])
                + down * ((1 - across) * image[bottom, left] + across * image[bottom, right])
            )  # fmt: skip
    return result


@pytest.mark.parametrize(
    ("size", "expected"),
    [((10, 15), (20, 30)), ((15, 10), (30, 20)), ((7, 7), (20, 20)), ((10, 40), (10, 40)),
     ((40, 50), (20, 25)), ((1, 3), (13, 40)), ((3, 400), (1, 40))],
)  # fmt: skip
def test_it_is_the_loop(size, expected) -> None:
    image = np.random.RandomState(1).randint(0, 256, (*size, 3)).astype(np.uint8)
    found, factors = resized(image, 20, 40)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    assert found.shape == (*expected, 3)
    assert factors == (expected[0] / size[0], expected[1] / size[1])
    assert np.abs(found - _by_loop(image.astype(float), *expected)).max() < 1e-3


def test_the_same_size_is_the_same_image() -> None:
    image = np.random.RandomState(2).randint(0, 256, (20, 30, 3)).astype(np.uint8)
    found, _ = resized(image, 20, 40)
    assert (found == image).all()


def test_boxes_go_with_the_image() -> None:
    """A bright rectangle stays where its box says."""
    image = np.zeros((40, 60, 1), np.uint8)
    image[8:24, 12:36] = 200
    found, factors = resized(image, 120, 999)
    box = resized_boxes([[8, 12, 24, 36], [0, 0, 0, 0]], factors)
    assert box.dtype == np.float32
    assert box.tolist() == [[24, 36, 72, 108], [0, 0, 0, 0]]
    bright = np.argwhere(found[:, :, 0] > 100)
    assert bright.min(axis=0).tolist() == [24, 36] and bright.max(axis=0).tolist() == [71, 107]


def test_padding_to_the_smallest_size_that_fits() -> None:
    sizes = [[64, 128], [128, 64], [128, 128], [96, 96]]
    assert fixed_size((60, 100), sizes) == (64, 128)
    assert fixed_size((64, 64), sizes) == (64, 128)  # the first of equally large ones
    assert fixed_size((90, 90), sizes) == (96, 96)
    with pytest.raises(ValueError, match=r"129 x 5 pixels fits into none .*\(128, 64\)"):
        fixed_size((129, 5), sizes)
    image = np.ones((2, 3, 1), np.float32)
    assert padded(image, (3, 4))[:, :, 0].tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    assert padded(image, (2, 3)) is not image
