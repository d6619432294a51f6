"""Small models as a fluent user of each framework would write them, without dlbench: the baselines.

A module has the name of the adapter it is held against and one function, `make(kind)`. It returns
`run(batches)`, which trains on batches of NumPy arrays by name (images float32 NHWC in 0..1, the
rest int32) and returns the seconds of each step. The kinds:

    cnn      mnist-cnn
    mlp      mnist-mlp
    lstm     imdb-lstm, with LSTM's sizes below
    resnet   cifar10-resnet18, with WIDTHS channels

The two modules with Keras' layers have their models in keras_nets.py.

The kind `detector`, voc2012-faster-rcnn in its size `small`, is in ADAPTER_detector.py. How long a
step takes depends on what its model has learnt, so `make(weights)` starts from the same weights as
dlbench, on the same batches with the targets of the RPN. It returns `run`, the list of all losses
so far, and the number of parameters.
"""

import time

import numpy as np

KINDS = ("cnn", "mlp", "lstm", "resnet", "detector")
CNN_ALONE = ("paddle", "tensorflow1", "theano")
"""Adapters of which only this kind is written by hand."""
DETECTORS = ("torch",)
"""Adapters of which the detector is written by hand, too."""

SAME = {"keras2": "keras", "keras3": "keras"}
"""Adapters whose loop by hand is written the same way: the module that has it."""

LSTM = {"length": 60, "vocabulary": 1000, "width": 32, "units": 64}
WIDTHS = (16, 32, 64, 128)
DETECTOR = {
    **{"stride": 16, "scales": [16, 24, 32, 44, 60], "ratios": [0.5, 1, 2], "classes": 20},
    **{"rpn_weights": [1, 1, 1, 1], "rpn_samples": 64, "candidates": 300, "smallest": 6},
    **{"proposal_overlap": 0.7, "proposals_training": 60, "rois": 32, "foreground": 0.25},
    **{"foreground_overlap": 0.5, "pool": 7, "samples": 2, "weights": [10, 10, 5, 5]},
}
"""The sizes of the models that are trained in small."""


def kinds_of(adapter):
    """The kinds that are written by hand for an adapter."""
    if adapter in CNN_ALONE:
        return ("cnn",)
    return tuple(kind for kind in KINDS if kind != "detector" or adapter in DETECTORS)


def timed(ready, step):
    """A loop that takes the time of `step(*ready(batch))`, without what a data loader does."""

    def run(batches):
        seconds = []
        for batch in batches:
            arrays = ready(batch)
            start = time.monotonic()
            step(*arrays)
            seconds.append(time.monotonic() - start)
        return seconds

    return run


def timed_fit(net, keras, read):
    """The same around Keras' `fit` on the array `read`, by a callback of each batch."""

    class Steps(keras.callbacks.Callback):
        def on_batch_begin(self, batch, logs=None):
            self.began = time.monotonic()

        def on_batch_end(self, batch, logs=None):
            float(logs["loss"])  # until it has been computed
            self.seconds.append(time.monotonic() - self.began)

    def run(batches):
        batches, steps = list(batches), Steps()
        size, steps.seconds = len(batches[0]["label"]), []
        # as with most data sets a last batch is partial, so TensorFlow leaves their size open
        batches.append({name: array[: size // 2] for name, array in batches[0].items()})
        data, label = (np.concatenate([b[name] for b in batches]) for name in (read, "label"))
        net.fit(data, label, batch_size=size, verbose=0, shuffle=False, callbacks=[steps])
        return steps.seconds[:-1]

    return run
