"""What a dropout drops, seen from its values: how much, where, and whether by chance alone."""

import itertools

import numpy as np

from bench.proof.compare import FLOOR, Mismatch
from bench.proof.noise import UNIT

_SIGMAS = 6.0
_MANY_SIGMAS = 8.0
"""Of the largest of thousands of counts."""
_FEWEST = 100
"""Cases that are counted."""
_PAIRS = 1000
"""Of values at one distance."""
_STRETCH = 1 << 18
"""Values, at most, whose distances are looked at."""


def check_one(node, before, after):
    """How far the share of one node is from the stated one; each value is dropped by itself."""
    name, rate = node["name"], node["rate"]
    live = before != 0
    kept = after != 0
    if not live.any():
        return 0.0
    # in float32 a rate next to 1 is known to a unit, and what is kept to as much of 1 - rate
    rounding = FLOOR["forward"] + UNIT / (1 - rate)
    if not np.allclose(after[live & kept], before[live & kept] / (1 - rate), rounding, atol=0):
        raise Mismatch("what is kept is not scaled by 1/(1-rate)", node=name)
    share = 1 - float(kept[live].mean())
    room = max(0.01, _SIGMAS * np.sqrt(rate * (1 - rate) / live.sum()))
    if abs(share - rate) > room:
        detail = "drops {:.3f}, stated {:.3f}".format(share, rate)
        raise Mismatch(detail, abs(share - rate), room, name)
    _apart(name, rate, live, kept)
    _everywhere(name, rate, live, kept)
    _without_echo(name, rate, live, kept)
    return abs(share - rate)


def _apart(name, rate, live, kept):
    """Each value by itself: neighbours are dropped together no more often than by chance."""
    wanted = rate * rate + (1 - rate) * (1 - rate)
    for axis in range(live.ndim):
        ahead, behind = ([slice(None)] * live.ndim for _ in range(2))
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        both = live[tuple(ahead)] & live[tuple(behind)]
        count = int(both.sum())
        if count < _FEWEST:
            continue
        same = float((kept[tuple(ahead)] == kept[tuple(behind)])[both].mean())
        # neighbouring pairs share a value, so the count is worth about a third of itself
        room = _SIGMAS * np.sqrt(wanted * (1 - wanted) * 3 / count)
        if abs(same - wanted) > max(0.02, room):
            words = "neighbours on axis {} are dropped together in {:.3f} of all cases, not {:.3f}"
            raise Mismatch(words.format(axis, same, wanted), abs(same - wanted), room, name)


def _everywhere(name, rate, live, kept):
    """No row, no place and no channel is dropped more or less often than the others."""
    every = tuple(range(live.ndim))
    for axes in [every[:1]] + [every[:axis] + every[axis + 1 :] for axis in every]:
        count = np.maximum(live.sum(axis=axes), 1)
        apart = np.abs((live & ~kept).sum(axis=axes) / count.astype(np.float64) - rate)
        room = np.maximum(0.01, _MANY_SIGMAS * np.sqrt(rate * (1 - rate) / count))
        # of fewer, chance is not normal so far out
        over = np.where(count * min(rate, 1 - rate) > _MANY_SIGMAS**2, apart - room, -1.0)
        if over.max() > 0:
            place = np.unravel_index(int(np.argmax(over)), over.shape)
            left = [axis for axis in every if axis not in axes]
            words = "the share that is dropped is off by {:.3f} at {} of axis {}"
            where = [int(index) for index in place], left
            detail = words.format(float(apart[place]), *where)
            raise Mismatch(detail, float(apart[place]), float(room[place]), name)


def _without_echo(name, rate, live, kept):
    """Values at one distance in memory are dropped together by chance alone: no mask repeats
    itself along the rows, or behind so and so many values. Images lie in memory in two ways."""
    spread = rate * (1 - rate)
    # so many pairs that chance is normal, as far out as is looked
    fewest = max(_PAIRS, (_MANY_SIGMAS / max(spread, 1e-9)) ** 2)
    for orders in zip(_orders(np.where(live, kept - (1 - rate), 0.0)), _orders(live)):
        centred, counted = (order[:_STRETCH].astype(np.float64) for order in orders)
        if len(counted) <= fewest:
            return
        pairs = np.rint(_at_distances(counted))
        together = _at_distances(centred) / spread
        strange = np.abs(together) / np.sqrt(np.maximum(pairs, fewest))
        strange[pairs < fewest] = strange[0] = 0.0  # the first is each value with itself
        far = int(np.argmax(strange))
        if strange[far] > _MANY_SIGMAS:
            words = (
                "values {} apart in memory are dropped alike or unlike more often than by chance"
            )
            raise Mismatch(words.format(far), float(together[far] / pairs[far]), None, name)


def _at_distances(values):
    """The sum of products of all values that are so far apart, by distance."""
    size = 1 << int(2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(values, size)
    return np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: len(values)]


def _orders(array):
    """The array as vectors: as it is, and images with their channels first, too."""
    yield array.ravel()
    if array.ndim == 4:
        yield array.transpose(0, 3, 1, 2).ravel()


def check_pairs(pairs):
    """What a node drops does not depend on what nodes before it drop at the same places.

    `pairs`: (node, its values before, behind) of each dropout.
    """
    for (other, *first), (node, *second) in itertools.combinations(pairs, 2):
        for early in zip(*(_orders(value != 0) for value in first)):
            for late in zip(*(_orders(value != 0) for value in second)):
                _independent(other["name"], node, early, late)


def _independent(other, node, early, late):
    (earlier, kept_early), (live, kept) = early, late
    size, rate = min(len(earlier), len(live)), node["rate"]
    for mask in (kept_early[:size], ~kept_early[:size]):
        counted = earlier[:size] & live[:size] & mask
        count = int(counted.sum())
        if count < _FEWEST:
            continue
        share = 1 - float(kept[:size][counted].mean())
        room = max(0.02, _SIGMAS * np.sqrt(rate * (1 - rate) / count))
        if abs(share - rate) > room:
            words = "drops {:.3f}, stated {:.3f}, of what {} drops or keeps alike"
            detail = words.format(share, rate, other)
            raise Mismatch(detail, abs(share - rate), room, node["name"])
