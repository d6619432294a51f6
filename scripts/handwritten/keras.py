"""Plain Keras, 2.2 to 3: compile and fit."""

import time

import keras
import numpy as np
from keras import layers, models

from handwritten import LSTM, WIDTHS


def block(x, width, stride):
    y = normalised(x, width, 3, stride)
    y = normalised(layers.Activation("relu")(y), width, 3, 1)
    if stride != 1 or x.shape[-1] != width:
        x = normalised(x, width, 1, stride)
    return layers.Activation("relu")(layers.Add()([y, x]))


def normalised(x, width, kernel, stride):
    x = layers.Conv2D(width, kernel, strides=stride, padding="same", use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9)(x)


def resnet():
    x = image = layers.Input((32, 32, 3))
    x = layers.Activation("relu")(normalised(x, WIDTHS[0], 3, 1))
    for stage, width in enumerate(WIDTHS):
        x = block(block(x, width, 2 if stage else 1), width, 1)
    return models.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def cnn():
    return models.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )


def mlp():
    return models.Sequential(
        [
            layers.Flatten(input_shape=(28, 28, 1)),
            layers.Dense(128, activation="relu"),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )


def lstm():
    words = layers.Input((LSTM["length"],), dtype="int32")
    x = layers.Embedding(LSTM["vocabulary"], LSTM["width"], mask_zero=True)(words)
    x = layers.LSTM(LSTM["units"], recurrent_activation="sigmoid")(x)
    return models.Model(words, layers.Dense(1)(x))


def make(kind):
    net = {"cnn": cnn, "mlp": mlp, "lstm": lstm, "resnet": resnet}[kind]()
    if kind in ("mlp", "lstm"):
        optimizer = keras.optimizers.Adam(1e-3)
    else:
        optimizer = keras.optimizers.SGD(0.01, momentum=0.5 if kind == "cnn" else 0.0)
    net.compile(optimizer, _binary if kind == "lstm" else _classes)

    class Steps(keras.callbacks.Callback):
        def on_batch_begin(self, batch, logs=None):
            self.began = time.monotonic()

        def on_batch_end(self, batch, logs=None):
            self.seconds.append(time.monotonic() - self.began)

    def run(batches):
        batches, steps = list(batches), Steps()
        steps.seconds = []
        data, label = (
            np.concatenate([batch[n] for batch in batches]) for n in (_NAMES[kind], "label")
        )
        size = len(batches[0]["label"])
        net.fit(data, label, batch_size=size, verbose=0, shuffle=False, callbacks=[steps])
        return steps.seconds

    return run


_NAMES = {"cnn": "image", "mlp": "image", "lstm": "tokens", "resnet": "image"}


def _classes(target, output):
    if hasattr(keras, "ops"):
        return keras.ops.sparse_categorical_crossentropy(target, output, from_logits=True)
    return keras.backend.sparse_categorical_crossentropy(target, output, from_logits=True)


def _binary(target, output):
    if hasattr(keras, "ops"):
        return keras.ops.binary_crossentropy(target, output, from_logits=True)
    return keras.backend.binary_crossentropy(target, output, from_logits=True)
