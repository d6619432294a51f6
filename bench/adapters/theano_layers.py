"""Lasagne's layers, and those that Lasagne 0.1 lacks or that Theano needs help with."""

import sys
import types

import numpy as np

from bench.adapters import theano_setup
from bench.adapters.channels_first import symmetric
from bench.formats import Unsupported

theano = theano_setup.import_theano()

from theano import tensor as T  # noqa: E402
from theano.tensor.nnet import bn  # noqa: E402
from theano.tensor.signal.pool import pool_2d  # noqa: E402

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


class BatchNorm(L.Layer):
    """Theano's batch normalisation; in training it leaves its new statistics in `updates`."""

    def __init__(self, incoming, node, native):
        super(BatchNorm, self).__init__(incoming)
        channels = node["shape"][-1]
        place = 1 if len(node["shape"]) == 3 else len(node["shape"])
        self._axes = tuple(k for k in range(len(node["shape"]) + 1) if k != place)
        self._biased = not node["unbiased"] and not native
        self._keep, self._epsilon = (0.9, 1e-4) if native else (node["keep"], node["epsilon"])
        if self._epsilon < 1e-5:
            raise Unsupported("Theano's batch normalisation takes no epsilon below 1e-5")
        if np.float32(self._epsilon) < 1e-5:  # 1e-5 itself: its nearest float32 is just below
            self._epsilon = np.nextafter(np.float32(1e-5), np.float32(1))
        one, zero, shape = lasagne.init.Constant(1), lasagne.init.Constant(0), (channels,)
        self.gamma = self.add_param(one, shape, "gamma", regularizable=False)
        self.beta = self.add_param(zero, shape, "beta", regularizable=False)
        self.mean = self.add_param(zero, shape, "mean", trainable=False, regularizable=False)
        self.variance = self.add_param(one, shape, "variance", trainable=False, regularizable=False)
        self.updates = []

    def get_output_for(self, x, deterministic=False, **kwargs):
        learnt, kept = (self.gamma, self.beta), (self.mean, self.variance)
        if deterministic:
            return bn.batch_normalization_test(
                x, *(learnt + kept), axes=self._axes, epsilon=self._epsilon
            )
        y, _, _, mean, variance = bn.batch_normalization_train(
            x,
            self.gamma,
            self.beta,
            axes=self._axes,
            epsilon=self._epsilon,
            running_average_factor=1 - self._keep,
            running_mean=self.mean,
            running_var=self.variance,
        )
        if self._biased:  # Theano keeps the unbiased one: take n/(n-1) out of what it adds
            old = self._keep * self.variance
            rows = T.cast(x.size // self.gamma.size, "float32")
            variance = old + (variance - old) * (rows - 1) / rows
        self.updates = [(self.mean, mean), (self.variance, variance)]
        return y


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
        initial = inputs[-2:] if self._started else [zeros, zeros]

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


def maxpool(node, x):
    """The largest of a window's shifted images: a tie's gradient goes to the first alone."""
    (top, bottom), (left, right) = node["padding"]
    if top or bottom or left or right:
        size = (x.shape[2] + top + bottom, x.shape[3] + left + right)
        space = T.alloc(np.float32(-np.inf), x.shape[0], x.shape[1], *size)
        inside = slice(top, size[0] - bottom), slice(left, size[1] - right)
        x = T.set_subtensor(space[(slice(None), slice(None)) + inside], x)
    (rows, columns), (down, right) = node["shape"][:2], node["stride"]
    y = None
    for i in range(node["size"][0]):
        for j in range(node["size"][1]):
            part = x[:, :, i : i + (rows - 1) * down + 1 : down]
            part = part[:, :, :, j : j + (columns - 1) * right + 1 : right]
            y = part if y is None else T.maximum(y, part)
    return y


def average_pool(node, x, size):
    """The average over what is inside the padding: Theano's own has no gradient."""
    pads = [(0, 0), (0, 0)] + [tuple(p) for p in node["padding"]]
    padded = lasagne.theano_extensions.padding.pad(x, pads[2:], batch_ndim=2)
    height, width = size
    ones = np.pad(np.ones((1, 1, height, width), np.float32), pads, "constant")
    pool = {"ws": tuple(node["size"]), "stride": tuple(node["stride"]), "ignore_border": True}
    counted = pool_2d(T.constant(ones), mode="sum", **pool)
    return pool_2d(padded, mode="sum", **pool) / T.patternbroadcast(
        counted, (True, True, False, False)
    )


def globalmaxpool(x):
    flat = x.flatten(3)  # by the place of the first maximum: T.max gives each tie the gradient
    first = T.argmax(flat, axis=2)
    rows, channels = T.arange(flat.shape[0]), T.arange(flat.shape[1])
    return flat[rows.dimshuffle(0, "x"), channels.dimshuffle("x", 0), first]


def rectify(x):
    return T.switch(x > 0, x, np.float32(0))  # Lasagne's has a gradient of 1/2 at 0
