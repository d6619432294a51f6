"""Plain Keras, 2.2 to 3: compile and fit."""

import keras

from handwritten import timed_fit
from handwritten.keras_nets import net_of


def make(kind):
    net = net_of(kind, keras)
    if kind in ("mlp", "lstm"):
        optimizer = keras.optimizers.Adam(1e-3)
    else:
        optimizer = keras.optimizers.SGD(0.01, momentum=0.5 if kind == "cnn" else 0.0)
    net.compile(optimizer, _binary if kind == "lstm" else _classes)

    return timed_fit(net, keras, "tokens" if kind == "lstm" else "image")


_OPS = keras.ops if hasattr(keras, "ops") else keras.backend


def _classes(target, output):
    return _OPS.sparse_categorical_crossentropy(target, output, from_logits=True)


def _binary(target, output):
    return _OPS.binary_crossentropy(target, output, from_logits=True)
