"""Sums of many small arrays in few operations: each costs as much as one of a large array.

Plain SGD is such a sum, (1 - lr·wd)·weight - lr·gradient; since 1.5 MXNet has it of many at once.
"""

import mxnet as mx

_MOST = 60
"""Arrays that the operation takes at once."""


def mix(arrays, factors, others, shares):
    """Put factor·array + share·other in the place of each array."""
    sums = []
    for array, factor, other, share in zip(arrays, factors, others, shares):
        if share:
            sums.append((array, other, -share, (factor - 1) / share))
        elif factor != 1:
            array *= factor
    if not hasattr(mx.nd, "multi_sgd_update"):
        for array, other, lr, wd in sums:
            mx.nd.sgd_update(array, other, lr=lr, wd=wd, out=array)
        return
    for start in range(0, len(sums), _MOST):
        part = sums[start : start + _MOST]
        mx.nd.multi_sgd_update(
            *[each for array, other, _, _ in part for each in (array, other)],
            lrs=[lr for _, _, lr, _ in part],
            wds=[wd for _, _, _, wd in part],
            num_weights=len(part),
            out=[array for array, _, _, _ in part],
        )
