"""NumPy, with its matrices stored by rows or by columns: is one of them faster?

This file runs inside a trial, as those of bench/adapters do, and may import from `bench`.
bench/adapters/base.py says what an adapter must have.
"""

import numpy as np

from bench.adapters import numpy as plain

VARIANTS = ("rows", "columns")

set_up = plain.set_up
describe = plain.describe


def build(graph, recipe, options):
    model = ByColumns if options.variant == "columns" else plain.Reference
    return model(graph, recipe, options.seed, np.float32)


class ByColumns(plain.Reference):
    """The same model; only the order of the numbers in memory differs."""

    def load(self, weights):
        super().load(
            {
                node: {name: np.asfortranarray(value) for name, value in parameters.items()}
                for node, parameters in weights.items()
            }
        )
