"""mnist-cnn in plain Theano: one compiled function, its updates written out."""

import numpy as np
import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import conv2d
from theano.tensor.signal.pool import pool_2d

from handwritten import timed


def cnn(x):
    """(Logits, parameters)."""
    random = np.random.RandomState(0)
    streams = MRG_RandomStreams(1)

    def weight(*shape):
        bound = np.sqrt(6.0 / (np.prod(shape[1:]) + shape[0]))
        return theano.shared(random.uniform(-bound, bound, shape).astype("float32"))

    def zeros(*shape):
        return theano.shared(np.zeros(shape, "float32"))

    def drop(x, rate):
        keep = streams.binomial(x.shape, p=1 - rate, dtype="float32")
        return x * keep / np.float32(1 - rate)

    w1, b1 = weight(32, 1, 3, 3), zeros(32)
    w2, b2 = weight(64, 32, 3, 3), zeros(64)
    w3, b3 = weight(9216, 128), zeros(128)
    w4, b4 = weight(128, 10), zeros(10)
    parameters = [w1, b1, w2, b2, w3, b3, w4, b4]
    net = T.nnet.relu(conv2d(x, w1) + b1.dimshuffle("x", 0, "x", "x"))
    net = T.nnet.relu(conv2d(net, w2) + b2.dimshuffle("x", 0, "x", "x"))
    net = drop(pool_2d(net, (2, 2), ignore_border=True), 0.25).flatten(2)
    net = drop(T.nnet.relu(T.dot(net, w3) + b3), 0.5)
    return T.dot(net, w4) + b4, parameters


def make(kind):
    x, y = T.tensor4(dtype="float32"), T.ivector()
    logits, parameters = cnn(x)
    probabilities = T.nnet.softmax(logits)
    loss = T.nnet.categorical_crossentropy(probabilities, y).mean()
    updates = []
    for parameter, gradient in zip(parameters, T.grad(loss, parameters)):
        velocity = theano.shared(np.zeros_like(parameter.get_value()))
        moved = np.float32(0.5) * velocity - np.float32(0.01) * gradient
        updates += [(velocity, moved), (parameter, parameter + moved)]
    train = theano.function([x, y], loss, updates=updates)

    def ready(batch):
        return batch["image"].transpose(0, 3, 1, 2).copy(), batch["label"]

    return timed(ready, train)
