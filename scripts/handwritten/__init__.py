"""mnist-cnn as a fluent user of each framework would write it, without dlbench: the baselines.

A module has the name of the adapter it is held against and one function,
`make(images, labels)`: images float32 NHWC in 0..1, labels int32, cut into batches beforehand;
it returns `run(ks, done)`, which trains on these batches in turn and calls `done()` after each.
"""

SAME = {"keras2": "keras", "keras3": "keras"}
"""Adapters whose loop by hand is written the same way: the module that has it."""
