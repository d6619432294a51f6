"""mnist-cnn in plain Keras, 2.2 to 3: Sequential, compile, fit on a generator of batches."""

import keras
from keras import layers


def make(images, labels):
    net = keras.models.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.SGD(0.01, momentum=0.5)
    net.compile(optimizer, "sparse_categorical_crossentropy")
    fit = getattr(net, "fit_generator", net.fit)  # Keras 2 has another name for it

    def run(ks, done):
        each = keras.callbacks.LambdaCallback(on_batch_end=lambda *_: done())
        batches = ((images[k], labels[k]) for k in ks)
        fit(batches, steps_per_epoch=len(ks), verbose=0, callbacks=[each])

    return run
