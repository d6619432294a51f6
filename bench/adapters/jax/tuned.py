"""The variant `tuned`: operations that XLA makes slow code of, written so that it does not.

Only what was measured to be worth it (docs/speed.md). Any other operation is the one of layers.py,
and so is one of these where its trick does not apply.
"""

import jax.numpy as jnp

from bench.adapters.jax import layers


def _maxpool(net, node, inputs, values, training):
    """The maximum of values side by side, where no two windows share one.

    XLA's own, a reduce-window, has a gradient that looks for each maximum again.
    """
    if not _tiles(node):
        return layers.OPERATIONS["maxpool"](net, node, inputs, values, training)
    x, (down, across) = inputs[0], node["size"]
    batch, height, width, channels = x.shape
    height, width = height // down, width // across
    x = x[:, : height * down, : width * across]
    x = x.reshape(batch, height, down, width, across, channels)
    places = [x[:, :, row, :, column] for row in range(down) for column in range(across)]
    while len(places) > 1:
        pairs = [_larger(*places[k : k + 2]) for k in range(0, len(places) - 1, 2)]
        places = pairs + places[2 * len(pairs) :]
    return places[0]


def _tiles(node):
    """Whether windows stand side by side, without padding; so many places are written out."""
    down, across = node["size"]
    padded = any(node["padding"][0] + node["padding"][1])
    return node["size"] == node["stride"] and not padded and down * across <= _MOST_PLACES


_MOST_PLACES = 16


def _larger(a, b):
    # of equal values one gets all of the gradient; jnp.maximum would share it out
    return jnp.where(a >= b, a, b)


OPERATIONS = dict(layers.OPERATIONS, maxpool=_maxpool)


def tricks(graph):
    """What of this is used in a graph, in words."""
    pools = [node for node in graph["nodes"] if node["op"] == "maxpool"]
    return ["non-overlapping maxima as reshape and select"] * any(map(_tiles, pools))
