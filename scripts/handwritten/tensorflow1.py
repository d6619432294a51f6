"""mnist-cnn in plain TensorFlow 1: tf.layers, a placeholder, a session."""

import tensorflow as tf

from handwritten import timed


def cnn(image):
    net = tf.layers.conv2d(image, 32, 3, activation=tf.nn.relu)
    net = tf.layers.conv2d(net, 64, 3, activation=tf.nn.relu)
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.dropout(net, 0.25, training=True)
    net = tf.layers.dense(tf.layers.flatten(net), 128, activation=tf.nn.relu)
    net = tf.layers.dropout(net, 0.5, training=True)
    return tf.layers.dense(net, 10)


def make(kind):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 28, 28, 1])
        y = tf.placeholder(tf.int32, [None])
        loss = tf.losses.sparse_softmax_cross_entropy(y, cnn(x))
        train = tf.train.MomentumOptimizer(0.01, 0.5).minimize(loss)
        config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())

    def step(image, label):
        session.run([train, loss], {x: image, y: label})

    return timed(lambda batch: (batch["image"], batch["label"]), step)
