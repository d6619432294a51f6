"""mnist-cnn in plain Keras, 2.2 to 3: Sequential, compile, train_on_batch."""

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

    def step(k):
        net.train_on_batch(images[k], labels[k])

    return step
