"""Greedy decoding: how many words are right when a decoder reads its own words, not the right ones.

The graph has one length, so the whole sentence is predicted once for each of its places, and the
word of that place becomes the input of the next: `Model.predict` is all that an adapter needs.
"""

import numpy as np

NAME = "greedy-accuracy"
MOST_ROWS = 1000
"""Test rows that are decoded, evenly spread over the split: each takes as many predictions as it
has places."""


def greedy(metric, model, split, batch):
    """(share of the right words, number of decoded rows); a metric of the recipe with NAME."""
    rows = min(split.rows, MOST_ROWS)
    chosen = split.part(np.arange(rows) * split.rows // rows)
    right = counted = 0.0
    for piece in chosen.batches(batch):
        target = piece[metric["target"]]
        mask = piece[metric["mask"]] if metric["mask"] else np.ones(target.shape, np.float32)
        right += np.sum((decoded(metric, model, piece, mask) == target) * mask, dtype=np.float64)
        counted += np.sum(mask, dtype=np.float64)
    return float(right / max(counted, 1)), rows


def decoded(metric, model, batch, mask):
    """The words that the model finds, one a place; behind the last place that counts there are 0.

    The first place of the input is given (it starts the sentence), each other one is the word that
    was found for the place before it.
    """
    read = np.zeros_like(batch[metric["input"]])
    read[:, :1] = batch[metric["input"]][:, :1]
    words = np.zeros_like(read)
    places = np.flatnonzero(mask.any(axis=0))
    for place in range(places[-1] + 1 if len(places) else 0):
        outputs = model.predict(dict(batch, **{metric["input"]: read}))
        words[:, place] = outputs[metric["output"]][:, place].argmax(axis=-1)
        if place + 1 < read.shape[1]:
            read = read.copy()  # a framework may still hold the array that it was given
            read[:, place + 1] = words[:, place]
    return words
