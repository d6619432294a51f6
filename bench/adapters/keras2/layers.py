"""The graph as Keras 2 layers: one function for each op."""

from keras import backend as K
from keras import layers

from bench.adapters import keras_functional as functional
from bench.adapters import keras_regions as regions
from bench.adapters.keras_functional import BACKEND, layer_name

if BACKEND == "theano":
    from theano import tensor as T

    from bench.adapters import theano_maximum

_LEAST_EPSILON = 1.001e-5
"""That the backends' own normalisations take, as cuDNN does: Theano refuses less, TensorFlow takes
1.001e-5 instead."""


class BatchNorm(layers.BatchNormalization):
    """Keras' own normalisation, with running statistics as the graph has them.

    Keras 2 multiplies the variance by n/(n-1-epsilon); TensorFlow's fused kernel has multiplied it
    by n/(n-1) before that, Theano has added epsilon, and on TensorFlow the mean is zero-debiased.
    """

    unbiased = False

    def call(self, inputs, training=None):
        rows = K.cast(K.prod(K.shape(inputs)[:-1]), K.floatx())
        normalised, mean, variance = self._normalised_by_batch(inputs, rows)
        if self.unbiased:
            variance = variance * (rows / (rows - 1))
        keep = self.momentum
        self.add_update(
            [
                (self.moving_mean, self.moving_mean * keep + mean * (1 - keep)),
                (self.moving_variance, self.moving_variance * keep + variance * (1 - keep)),
            ],
            inputs,
        )
        return K.in_train_phase(
            normalised,
            lambda: self._normalised(inputs, self.moving_mean, self.moving_variance),
            training=training,
        )

    def _normalised_by_batch(self, x, rows):
        """The normalised values, the batch's mean and its biased variance."""
        axes = list(range(K.ndim(x) - 1))
        if self.epsilon < _LEAST_EPSILON:
            mean = K.mean(x, axis=axes)
            variance = K.mean(K.square(x - mean), axis=axes)
            return self._normalised(x, mean, variance), mean, variance
        y, mean, variance = K.normalize_batch_in_training(
            x, self.gamma, self.beta, axes, epsilon=self.epsilon
        )
        if BACKEND == "theano":
            variance = variance - self.epsilon
        elif K.ndim(x) == 4:
            variance = variance * ((rows - 1) / rows)
        return y, mean, variance

    def _normalised(self, x, mean, variance):
        if self.epsilon < _LEAST_EPSILON:
            return (x - mean) * (self.gamma / K.sqrt(variance + self.epsilon)) + self.beta
        return K.batch_normalization(
            x, mean, variance, self.beta, self.gamma, axis=-1, epsilon=self.epsilon
        )


def _batchnorm(net, node, inputs, values):
    if net.native:
        layer = layers.BatchNormalization(name=layer_name(node))
    else:
        layer = BatchNorm(momentum=node["keep"], epsilon=node["epsilon"], name=layer_name(node))
        layer.unbiased = node["unbiased"]
    return net.keep(node, layer)(inputs[0])


class TheanoLSTM(layers.LSTM):
    """Keras 2.3's with one unit fails on Theano: scan wants states of a type that does not change.

    Keras takes the mark of an axis of size one from the first state alone.
    """

    def get_initial_state(self, inputs):
        return _unmarked(super(TheanoLSTM, self).get_initial_state(inputs))

    def call(self, inputs, mask=None, training=None, initial_state=None):
        if isinstance(inputs, list):  # the states behind the sequence
            inputs = inputs[:1] + _unmarked(inputs[1:])
        return super(TheanoLSTM, self).call(inputs, mask, training, initial_state)


def _unmarked(states):
    return [T.unbroadcast(state, 0, 1) for state in states]


def _lstm(net, node, inputs, values):
    kind = TheanoLSTM if BACKEND == "theano" and node["units"] == 1 else layers.LSTM
    settings = {} if net.native else {"recurrent_activation": "sigmoid"}
    return functional.lstm(net, node, inputs, values, kind, **settings)


def _maxpool(net, node, inputs, values):
    if _needs_own_maximum(net):
        return _expression(node, inputs, lambda x: theano_maximum.maxpool(node, x, axis=1))
    return functional.maxpool(net, node, inputs, values, _padded_low)


def _padded_low(node, x):
    if BACKEND == "theano":
        return theano_maximum.padded_low(node["padding"], x, axis=1)
    import tensorflow as tf

    padding = [[0, 0]] + list(node["padding"]) + [[0, 0]]
    return tf.pad(x, padding, constant_values=-float("inf"))


def _globalmaxpool(net, node, inputs, values):
    if _needs_own_maximum(net):
        return _expression(
            node, inputs, lambda x: theano_maximum.globalmaxpool(x.dimshuffle(0, 3, 1, 2))
        )
    y = functional.globalmaxpool(net, node, inputs, values)
    if net.native or BACKEND == "theano":
        return y
    # TensorFlow 1.11 leaves out a relu in front of a maximum that is predicted itself
    return layers.Lambda(K.identity, name="kept_" + node["name"])(y)


def _relu(net, node, inputs, values):
    if _needs_own_maximum(net):
        return _expression(node, inputs, theano_maximum.relu)
    return functional.activation(net, node, inputs, values)


def _needs_own_maximum(net):
    return BACKEND == "theano" and not net.native


def _expression(node, inputs, function):
    shape = tuple(node["shape"])
    return layers.Lambda(function, output_shape=shape, name=layer_name(node))(inputs[0])


OPERATIONS = {
    "conv2d": functional.conv2d,
    "maxpool": _maxpool,
    "avgpool": functional.avgpool,
    "globalmaxpool": _globalmaxpool,
    "globalavgpool": functional.globalavgpool,
    "batchnorm": _batchnorm,
    "dense": functional.dense,
    "embedding": functional.embedding,
    "lstm": _lstm,
    "dropout": functional.dropout,
    "relu": _relu,
    "tanh": functional.activation,
    "sigmoid": functional.activation,
    "softmax": functional.activation,
    "flatten": functional.flatten,
    "add": functional.add,
    "concat": functional.concat,
    "affine": functional.affine,
    "proposals": regions.proposals,
    "roialign": regions.roialign,
}
