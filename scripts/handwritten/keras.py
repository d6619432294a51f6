"""Plain Keras, 2.2 to 3: compile and fit."""

import time

import keras
import numpy as np

from handwritten.keras_nets import net_of


def make(kind):
    net = net_of(kind, keras)
    if kind in ("mlp", "lstm"):
        optimizer = keras.optimizers.Adam(1e-3)
    else:
        optimizer = keras.optimizers.SGD(0.01, momentum=0.5 if kind == "cnn" else 0.0)
    net.compile(optimizer, _binary if kind == "lstm" else _classes)

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
        names = ("tokens" if kind == "lstm" else "image", "label")
        data, label = (np.concatenate([batch[name] for batch in batches]) for name in names)
        net.fit(data, label, batch_size=size, verbose=0, shuffle=False, callbacks=[steps])
        return steps.seconds[:-1]

    return run


_OPS = keras.ops if hasattr(keras, "ops") else keras.backend


def _classes(target, output):
    return _OPS.sparse_categorical_crossentropy(target, output, from_logits=True)


def _binary(target, output):
    return _OPS.binary_crossentropy(target, output, from_logits=True)
