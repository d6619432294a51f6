"""Which step times of a trial are written: all of them, or, of a very long one, every k-th.

A trial has a budget of events (FORMATS.md). Three thousand epochs of nine thousand steps each would
be hundreds of megabytes of times, of which one in thirty tells as much.
"""

MOST_IN_TRIAL = 1000000
MOST_IN_EPOCH = 100000


def every(steps_an_epoch, steps_total):
    """How many steps there are for each one whose time is written."""
    longest = min(steps_an_epoch, steps_total)
    return max(1, -(-steps_total // MOST_IN_TRIAL), -(-longest // MOST_IN_EPOCH))


def sampled(steps_ms, first, every):
    """The times of an epoch that are written.

    First step and warm-up (`first` of them) are there in full; of the others the middle one of each
    `every`, so that the step behind an evaluation counts no more than any other.
    """
    return steps_ms[:first] + steps_ms[first + every // 2 :: every]
