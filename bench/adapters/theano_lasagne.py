"""Lasagne 0.1 on today's Theano, and layers that it lacks or that Theano needs help with."""

import sys
import types

import numpy as np
import theano
from theano import tensor as T
from theano.tensor.nnet import bn
from theano.tensor.signal.pool import pool_2d

from bench.adapters.channels_first import symmetric

# Lasagne 0.1 imports a module that Theano has renamed since
_downsample = types.ModuleType("theano.tensor.signal.downsample")
_downsample.max_pool_2d = lambda x, ds, st, ignore_border, padding, mode: pool_2d(
    x, ws=ds, stride=st, ignore_border=ignore_border, pad=padding, mode=mode
)
sys.modules[_downsample.__name__] = theano.tensor.signal.downsample = _downsample

import lasagne  # noqa: E402
from lasagne import layers as L  # noqa: E402


class Expression(L.MergeLayer):
    """A function of other layers' outputs; Lasagne 0.1 has no such layer yet."""

    def __init__(self, incomings, function, shape):
        super(Expression, self).__init__(incomings)
        self._function, self._shape = function, (None,) + tuple(shape)

    def get_output_shape_for(self, input_shapes):
        return self._shape

    def get_output_for(self, inputs, **kwargs):
        return self._function(*inputs)


def softmax(x, axis):
    largest = theano.gradient.disconnected_grad(x.max(axis=axis, keepdims=True))
    powers = T.exp(x - largest)
    return powers / powers.sum(axis=axis, keepdims=True)


class Convolution(L.Conv2DLayer):
    """Lasagne's layer with Theano's own padding: that of Lasagne 0.1 copies the image."""

    def __init__(self, incoming, node):
        given = {} if node["bias"] else {"b": None}
        super(Convolution, self).__init__(
            incoming, node["filters"], node["kernel"], node["stride"], nonlinearity=None, **given
        )
        height, width, channels = node["shape"]
        self._shape = (None, channels, height, width)
        if symmetric(node["padding"]):
            self._border = tuple(p[0] for p in node["padding"])
        else:
            self._border = tuple(tuple(p) for p in node["padding"])

    def get_output_shape_for(self, input_shape):
        return self._shape

    def get_output_for(self, x, **kwargs):
        y = T.nnet.conv2d(
            x,
            self.W,
            input_shape=self.input_shape,
            filter_shape=self.get_W_shape(),
            border_mode=self._border,
            subsample=self.stride,
        )
        return y if self.b is None else y + self.b.dimshuffle("x", 0, "x", "x")


class Affine(L.Layer):
    """A factor and an offset a channel that never learn."""

    def __init__(self, incoming, shape):
        super(Affine, self).__init__(incoming)
        self._axes = [0, "x", "x"] if len(shape) == 3 else [0]
        for name, value in (("scale", 1), ("offset", 0)):
            constant = lasagne.init.Constant(value)
            variable = self.add_param(constant, (shape[-1],), name, trainable=False)
            setattr(self, name, variable)

    def get_output_for(self, x, **kwargs):
        return x * self.scale.dimshuffle(*self._axes) + self.offset.dimshuffle(*self._axes)


class BatchNorm(L.Layer):
    """Theano's batch normalisation; in training it leaves its new statistics in `updates`."""

    def __init__(self, incoming, node, native):
        super(BatchNorm, self).__init__(incoming)
        channels = node["shape"][-1]
        self._ndim = len(node["shape"]) + 1
        axis = 1 if self._ndim == 4 else self._ndim - 1
        self._axes = tuple(k for k in range(self._ndim) if k != axis)
        self._unbiased = node["unbiased"] or native
        self._keep, self._epsilon = (0.9, 1e-4) if native else (node["keep"], node["epsilon"])
        one, zero, shape = lasagne.init.Constant(1), lasagne.init.Constant(0), (channels,)
        self.gamma = self.add_param(one, shape, "gamma", regularizable=False)
        self.beta = self.add_param(zero, shape, "beta", regularizable=False)
        self.mean = self.add_param(zero, shape, "mean", trainable=False, regularizable=False)
        self.variance = self.add_param(one, shape, "variance", trainable=False, regularizable=False)
        self.updates = []

    def get_output_for(self, x, deterministic=False, **kwargs):
        if deterministic:
            return self._normalised(x, self.mean, self.variance)
        rows = T.cast(x.size // self.gamma.size, "float32")
        keep, share = np.float32(self._keep), np.float32(1 - self._keep)
        if self._epsilon < _LEAST_EPSILON:
            mean = x.mean(self._axes)
            variance = T.sqr(x - self._spread(mean)).mean(self._axes)
            y = self._normalised(x, mean, variance)
            added = share * variance * (rows / (rows - 1) if self._unbiased else 1)
            self.updates = [
                (self.mean, keep * self.mean + share * mean),
                (self.variance, keep * self.variance + added),
            ]
            return y
        y, _, _, mean, variance = bn.batch_normalization_train(
            x,
            self.gamma,
            self.beta,
            axes=self._axes,
            epsilon=_float32_above(self._epsilon),
            running_average_factor=1 - self._keep,
            running_mean=self.mean,
            running_var=self.variance,
        )
        if not self._unbiased:  # Theano keeps the unbiased one: n/(n-1) is taken out again
            variance = keep * self.variance + (variance - keep * self.variance) * (rows - 1) / rows
        self.updates = [(self.mean, mean), (self.variance, variance)]
        return y

    def _normalised(self, x, mean, variance):
        if self._epsilon < _LEAST_EPSILON:
            scale = self.gamma / T.sqrt(variance + np.float32(self._epsilon))
            return (x - self._spread(mean)) * self._spread(scale) + self._spread(self.beta)
        statistics = (self.gamma, self.beta, mean, variance)
        epsilon = _float32_above(self._epsilon)
        return bn.batch_normalization_test(x, *statistics, axes=self._axes, epsilon=epsilon)

    def _spread(self, vector):
        """One value a channel, along all the other axes."""
        return vector.dimshuffle(*("x" if k in self._axes else 0 for k in range(self._ndim)))


_LEAST_EPSILON = 1e-5
"""That Theano's normalisation takes, as cuDNN does."""


def _float32_above(epsilon):
    """Theano compares the nearest float32, and that of 1e-5 is just below."""
    return max(np.float32(epsilon), np.nextafter(np.float32(_LEAST_EPSILON), np.float32(1)))


class StatefulLSTM(L.MergeLayer):
    """An LSTM whose states come in and go out, which Lasagne's does not do: [B, T, h and c]."""

    def __init__(self, incoming, units, mask=None, initial=None):
        super(StatefulLSTM, self).__init__(
            [incoming] + ([mask] if mask else []) + list(initial or [])
        )
        self._units, self._masked, self._started = units, mask is not None, initial is not None
        normal, features = lasagne.init.Normal(0.1), self.input_shapes[0][-1]
        self.W_in = self.add_param(normal, (features, 4 * units), "W_in")
        self.W_hid = self.add_param(normal, (units, 4 * units), "W_hid")
        self.b = self.add_param(lasagne.init.Constant(0), (4 * units,), "b", regularizable=False)

    def get_output_shape_for(self, input_shapes):
        return input_shapes[0][:2] + (2 * self._units,)

    def get_output_for(self, inputs, **kwargs):
        units = self._units
        fed = T.dot(inputs[0].dimshuffle(1, 0, 2), self.W_in) + self.b
        masks = [inputs[1].dimshuffle(1, 0, "x")] if self._masked else []
        zeros = T.zeros((inputs[0].shape[0], units), "float32")
        initial = [unbroadcast(x) for x in (inputs[-2:] if self._started else [zeros, zeros])]

        def step(*arguments):
            z, mask, (h, c, W_hid) = arguments[0], arguments[1:-3], arguments[-3:]
            z = z + T.dot(h, W_hid)
            i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
            new_c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
            new_h = T.nnet.sigmoid(o) * T.tanh(new_c)
            if mask:
                return T.switch(mask[0], new_h, h), T.switch(mask[0], new_c, c)
            return new_h, new_c

        (h, c), _ = theano.scan(step, [fed] + masks, initial, [self.W_hid], strict=True)
        return T.concatenate([h, c], axis=2).dimshuffle(1, 0, 2)


def unbroadcast(x):
    """The same value with no axis known to be of size one: scan wants types that do not change."""
    return T.patternbroadcast(x, (False,) * x.ndim)


def average_pool(node, x, size):
    """The average over what is inside the padding: Theano's own has no gradient.

    `size` is None, None where images come in several sizes.
    """
    pads = [(0, 0), (0, 0)] + [tuple(p) for p in node["padding"]]
    padded = lasagne.theano_extensions.padding.pad(x, pads[2:], batch_ndim=2)
    if None in size:
        inside = T.ones_like(x[:1, :1])
        ones = lasagne.theano_extensions.padding.pad(inside, pads[2:], batch_ndim=2)
    else:
        height, width = size
        ones = np.pad(np.ones((1, 1, height, width), np.float32), pads, "constant")
        ones = T.constant(ones)
    pool = {"ws": tuple(node["size"]), "stride": tuple(node["stride"]), "ignore_border": True}
    counted = pool_2d(ones, mode="sum", **pool)
    return pool_2d(padded, mode="sum", **pool) / T.patternbroadcast(
        counted, (True, True, False, False)
    )
