"""Data that can be learnt but means nothing: for machines that can't download, and for proofs."""

from __future__ import annotations

import numpy as np

from dlbench.datasets import Arrays


def images(
    train: int, test: int, shape: tuple[int, int, int], classes: int, top: int = 255
) -> Arrays:
    """Noisy, shifted copies of one smooth pattern a class, as uint8 in 0..top."""
    random = np.random.RandomState(20180918)
    height, width, channels = shape
    coarse = random.uniform(0, 1, (classes, -(-height // 4), -(-width // 4), channels))
    patterns = coarse.repeat(4, axis=1).repeat(4, axis=2)[:, :height, :width]

    def draw(rows: int) -> dict[str, np.ndarray]:
        label = random.randint(0, classes, rows).astype(np.uint8 if classes <= 256 else np.uint16)
        image = np.empty((rows, *shape), np.uint8)
        for start in range(0, rows, 1024):  # in pieces: CIFAR-sized noise in float64 is 1.2 GB
            part = slice(start, start + 1024)
            picked = patterns[label[part]]
            noisy = picked + random.normal(0, 0.25, picked.shape)
            image[part] = np.rint(np.clip(noisy, 0, 1) * top).astype(np.uint8)
        return {"image": image, "label": label}

    return {"train": draw(train), "test": draw(test)}


def sequences(train: int, test: int, length: int, vocabulary: int) -> Arrays:
    """Token rows with true lengths, post-padded; the label is which half of the words prevails."""
    random = np.random.RandomState(20180918)

    def draw(rows: int) -> dict[str, np.ndarray]:
        label = random.randint(0, 2, rows)
        lengths = random.randint(max(1, length // 5), length + 1, rows)
        # words 1.. of two halves; a row draws two thirds of its words from the half of its label
        half = (vocabulary - 1) // 2
        own = random.uniform(size=(rows, length)) < 2 / 3
        side = np.where(own, label[:, None], 1 - label[:, None])
        tokens = 1 + side * half + random.randint(0, half, (rows, length))
        tokens[np.arange(length) >= lengths[:, None]] = 0
        return {
            "tokens": tokens.astype(np.int32),
            "length": lengths.astype(np.int32),
            "label": label.astype(np.uint8),
        }

    return {"train": draw(train), "test": draw(test)}


def compositions(train: int, test: int, elements: int) -> Arrays:
    """Fractions of two to five elements, and an energy from single and pair contributions.

    A ninth as many rows as for training are there to validate.
    """
    random = np.random.RandomState(20180918)
    single = random.normal(0, 0.5, elements)
    pairs = random.normal(0, 1.0, (elements, elements))

    def draw(rows: int) -> dict[str, np.ndarray]:
        weights = random.exponential(1.0, (rows, elements))
        ranks = random.uniform(size=(rows, elements)).argsort(axis=1)
        weights[ranks >= random.randint(2, 6, rows)[:, None]] = 0.0
        fractions = weights / weights.sum(axis=1, keepdims=True)
        energy = fractions @ single + np.einsum("ri,ij,rj->r", fractions, pairs, fractions)
        return {
            "fractions": fractions.astype(np.float32),
            "value": energy[:, None].astype(np.float32),
        }

    return {"train": draw(train), "test": draw(test), "validation": draw(-(-train // 9))}


def language(train: int, test: int, length: int, vocabulary: int) -> Arrays:
    """Rows of words, each mostly the successor of the one before it, and what follows each."""
    random = np.random.RandomState(20180918)
    after = random.permutation(vocabulary)

    def draw(rows: int) -> dict[str, np.ndarray]:
        words = np.empty((rows, length + 1), np.int32)
        words[:, 0] = random.randint(0, vocabulary, rows)
        for place in range(length):
            by_chance = random.randint(0, vocabulary, rows)
            usual = random.uniform(size=rows) < 0.7
            words[:, place + 1] = np.where(usual, after[words[:, place]], by_chance)
        return {"tokens": words[:, :-1].copy(), "next": words[:, 1:].copy()}

    return {"train": draw(train), "test": draw(test)}


def translations(
    train: int, test: int, lengths: tuple[int, int], vocabularies: tuple[int, int], first: int
) -> Arrays:
    """Sentences and their words one by one in another language; words are numbered from `first`.

    1 starts a sentence and 2 ends it, as in the data set of which this is the twin.
    """
    random = np.random.RandomState(20180918)
    source_length, target_length = lengths
    most = min(source_length, target_length - 1)
    dictionary = random.randint(first, vocabularies[1], vocabularies[0])

    def draw(rows: int) -> dict[str, np.ndarray]:
        length = random.randint(2, most + 1, rows)
        inside = np.arange(most) < length[:, None]
        words = random.randint(first, vocabularies[0], (rows, most))
        source = np.zeros((rows, source_length), np.int32)
        source[:, :most] = words * inside
        given = np.zeros((rows, target_length + 1), np.int32)
        given[:, 0] = 1
        given[:, 1 : most + 1] = dictionary[words] * inside
        given[np.arange(rows), length + 1] = 2
        return {
            "source": source,
            "source_length": length.astype(np.int32),
            "target_in": given[:, :-1] * (given[:, :-1] != 2),
            "target_out": given[:, 1:].copy(),
            "mask": (np.arange(target_length) <= length[:, None]).astype(np.float32),
        }

    return {"train": draw(train), "test": draw(test)}
