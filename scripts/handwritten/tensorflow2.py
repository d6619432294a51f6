"""Plain TensorFlow 2: Keras layers, GradientTape, tf.function."""

import tensorflow as tf

from handwritten import timed
from handwritten.keras_nets import net_of


def make(kind):
    net = net_of(kind, tf.keras)
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
        names = ("label", "tokens" if kind == "lstm" else "image")
        return [tf.constant(batch[name]) for name in names]

    return timed(ready, lambda *arrays: train(*arrays).numpy())
