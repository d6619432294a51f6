"""mnist-cnn in plain TensorFlow 2: Keras layers, GradientTape, tf.function."""

import tensorflow as tf


def make(images, labels):
    layers = tf.keras.layers
    net = tf.keras.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.5)
    xs = [tf.constant(batch) for batch in images]
    ys = [tf.constant(batch) for batch in labels]
    net(xs[0])

    @tf.function(
        input_signature=[tf.TensorSpec((None, 28, 28, 1)), tf.TensorSpec((None,), tf.int32)]
    )
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, net(x, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    def run(ks, done):
        for k in ks:
            train(xs[k], ys[k]).numpy()
            done()

    return run
