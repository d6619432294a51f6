"""The recipe's losses and optimisers in Keras 2's words."""

import keras
from keras import backend as K

from bench.adapters.keras_functional import BACKEND

# ---- losses -------------------------------------------------------------------------------------


def loss_of(spec, native):
    """A loss of one value a sample; a mask, if there is one, comes behind the target.

    Keras 2 has a loss for each output, with as many axes in its target: labels are a column.
    """

    def loss(y_true, y_pred):
        if not spec["mask"]:
            return _mean_by_sample(_PER_PLACE[spec["name"]](y_true, y_pred, native))
        size = 1 if spec["name"] == "softmax-cross-entropy" else K.int_shape(y_pred)[-1]
        target, mask = y_true[..., :size], y_true[..., size:]
        places = K.cast(K.prod(K.shape(mask)), K.floatx())
        values = _PER_PLACE[spec["name"]](target, y_pred, native) * mask
        divisor = spec.get("divisor") or K.maximum(K.sum(mask), 1.0)
        return _mean_by_sample(values * (places / divisor))

    return loss


def identity_loss():
    """Of a model whose output is its loss."""
    return lambda y_true, y_pred: y_pred


def per_place(name, target, output, native):
    return _PER_PLACE[name](target, output, native)


def _mean_by_sample(values):
    return K.mean(K.batch_flatten(values), axis=-1)


def _softmax_cross_entropy(target, logits, native):
    classes = K.int_shape(logits)[-1]
    flat, labels = K.reshape(logits, (-1, classes)), K.flatten(target)
    if native or BACKEND != "theano":
        values = K.sparse_categorical_crossentropy(labels, flat, from_logits=True)
    else:  # Keras clips the probabilities on Theano
        flat = flat - K.stop_gradient(K.max(flat, axis=-1, keepdims=True))
        chosen = K.one_hot(K.cast(labels, "int32"), classes)
        values = K.log(K.sum(K.exp(flat), axis=-1)) - K.sum(flat * chosen, axis=-1)
    return K.reshape(values, K.shape(target))


def _sigmoid_cross_entropy(target, logits, native):
    if native or BACKEND != "theano":
        return K.binary_crossentropy(target, logits, from_logits=True)
    return K.softplus(logits) - target * logits


def _smooth_l1(target, output, native):
    error = output - target
    slope = K.clip(error, -1.0, 1.0)
    return slope * (error - 0.5 * slope)


_PER_PLACE = {
    "smooth-l1": _smooth_l1,
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": lambda target, output, native: K.square(output - target),
    "mean-absolute-error": lambda target, output, native: K.abs(output - target),
}


# ---- optimisers ---------------------------------------------------------------------------------


def set_rate(optimizer, rate):
    K.set_value(optimizer.lr, rate)


def rate_of(optimizer):
    return float(K.get_value(optimizer.lr))


def velocities(optimizer):
    return optimizer.weights[1:]  # behind the count of the steps; none before the first one


def adjusted(kind, decayed, decay, clip, native, hat):
    """Keras' optimiser with clipping, weight decay in the gradient, Adam's epsilon in its place.

    `decayed` are the ids of the variables that decay; `hat`: the epsilon stays inside.
    """

    class Adjusted(kind):
        def get_gradients(self, loss, params):
            gradients = super(Adjusted, self).get_gradients(loss, params)
            if clip is not None:  # Keras' own clipnorm would come after the weight decay
                norm = K.sqrt(sum(K.sum(K.square(gradient)) for gradient in gradients))
                gradients = [gradient * (clip / K.maximum(norm, clip)) for gradient in gradients]
            return [
                decay * p + g if decay and id(p) in decayed else g
                for p, g in zip(params, gradients)
            ]

        def get_updates(self, loss, params):
            if native or hat or not hasattr(self, "beta_2"):
                return super(Adjusted, self).get_updates(loss, params)
            # epsilon stands inside the bias correction: moved outside
            stated, step = self.epsilon, K.cast(self.iterations, K.floatx()) + 1
            self.epsilon = stated * K.sqrt(1.0 - K.pow(self.beta_2, step))
            updates = super(Adjusted, self).get_updates(loss, params)
            self.epsilon = stated
            if BACKEND == "tensorflow":  # the count goes up when everybody has read it
                import tensorflow as tf

                with tf.control_dependencies(updates[1:]):
                    updates[0] = K.update_add(self.iterations, 1)
            return updates

    Adjusted.__name__ = kind.__name__
    return Adjusted


class GradientCatcher(keras.optimizers.Optimizer):
    """Keeps the gradients and takes no step."""

    def get_updates(self, loss, params):
        gradients = self.get_gradients(loss, params)
        self.learning, self.caught = params, [K.zeros(K.int_shape(p)) for p in params]
        self.updates = [
            K.update(place, K.zeros_like(place) + gradient)  # also a sparse one
            for place, gradient in zip(self.caught, gradients)
        ]
        return self.updates
