"""Plain TensorFlow 2: Keras layers, GradientTape, tf.function."""

import tensorflow as tf

from handwritten import LSTM, WIDTHS, timed

layers, models = tf.keras.layers, tf.keras.models


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
        optimizer = tf.keras.optimizers.Adam(1e-3)
    else:
        optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.5 if kind == "cnn" else 0.0)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if kind == "lstm":
        loss_of = tf.keras.losses.BinaryCrossentropy(from_logits=True)

    # the batch left open: a last, partial one is not traced anew
    target = (
        tf.TensorSpec([None, 1], tf.float32) if kind == "lstm" else tf.TensorSpec([None], "int32")
    )
    data = tf.TensorSpec(net.inputs[0].shape, net.inputs[0].dtype)

    @tf.function(input_signature=[target, data])
    def train(target, data):
        with tf.GradientTape() as tape:
            loss = loss_of(target, net(data, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    def ready(batch):
        return tf.constant(batch["label"]), tf.constant(
            batch["tokens" if kind == "lstm" else "image"]
        )

    return timed(ready, lambda *arrays: train(*arrays).numpy())
