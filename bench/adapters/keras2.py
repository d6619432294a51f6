"""Keras 2 on TensorFlow 1 or Theano: compile and train_on_batch, which fit_generator calls, too."""

import os

import keras
import numpy as np
from keras import backend as K

from bench.adapters.keras_layers import BACKEND, FunctionalModel, layer_of
from bench.formats import Unsupported
from bench.weights import is_decayed

# ---- layers -------------------------------------------------------------------------------------


class BatchNorm(keras.layers.BatchNormalization):
    """Keras' own normalisation, with running statistics as the graph has them.

    Keras 2 multiplies the variance by n/(n-1-epsilon); TensorFlow's fused kernel has multiplied it
    by n/(n-1) before that, Theano has added epsilon, and on TensorFlow the mean is zero-debiased.
    """

    unbiased = False

    def __init__(self, **told):
        super(BatchNorm, self).__init__(**told)
        if BACKEND == "theano":
            if self.epsilon < 1e-5:
                raise Unsupported("Theano's batch normalisation takes no epsilon below 1e-5")
            # nor 1e-5 itself, whose nearest float32 is just below
            self.epsilon = max(self.epsilon, float(np.nextafter(np.float32(1e-5), np.float32(1))))

    def call(self, inputs, training=None):
        axes = list(range(K.ndim(inputs) - 1))
        normed, mean, variance = K.normalize_batch_in_training(
            inputs, self.gamma, self.beta, axes, epsilon=self.epsilon
        )
        rows = K.cast(K.prod(K.shape(inputs)[:-1]), K.floatx())
        if BACKEND == "theano":
            variance = variance - self.epsilon
        elif K.ndim(inputs) == 4:
            variance = variance * ((rows - 1) / rows)
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
        running = (self.moving_mean, self.moving_variance, self.beta, self.gamma)
        return K.in_train_phase(
            normed,
            lambda: K.batch_normalization(inputs, *running, axis=-1, epsilon=self.epsilon),
            training=training,
        )


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec, native):
    """A loss of one value a sample, for targets in which a mask, if there is one, comes last."""

    def loss(y_true, y_pred):
        target = y_true[..., :1] if spec["mask"] else y_true
        places = _PLACES[spec["name"]](target, y_pred, native)
        if spec["mask"]:
            mask = y_true[..., 1]
            places = places * mask / K.mean(mask)
        return K.mean(K.batch_flatten(places), axis=-1)

    return loss


def _softmax_cross_entropy(target, logits, native):
    flat = K.reshape(logits, (-1, K.int_shape(logits)[-1]))
    if native or BACKEND != "theano":
        places = K.sparse_categorical_crossentropy(K.flatten(target), flat, from_logits=True)
    else:  # Keras clips the probabilities on Theano
        flat = flat - K.stop_gradient(K.max(flat, axis=-1, keepdims=True))
        chosen = K.one_hot(K.cast(K.flatten(target), "int32"), K.int_shape(logits)[-1])
        places = K.log(K.sum(K.exp(flat), axis=-1)) - K.sum(flat * chosen, axis=-1)
    return K.reshape(places, K.shape(logits)[:-1]) if K.ndim(logits) > 2 else places[:, None]


def _sigmoid_cross_entropy(target, logits, native):
    if native or BACKEND != "theano":
        return K.binary_crossentropy(target, logits, from_logits=True)
    return K.softplus(logits) - target * logits


_PLACES = {
    "softmax-cross-entropy": _softmax_cross_entropy,
    "sigmoid-cross-entropy": _sigmoid_cross_entropy,
    "mean-squared-error": lambda target, output, native: K.square(output - target),
    "mean-absolute-error": lambda target, output, native: K.abs(output - target),
}


def _helped(kind, decayed, decay, native):
    """Keras' optimiser with weight decay in the gradient and Adam's epsilon where it belongs."""

    class Helped(kind):
        def get_gradients(self, loss, params):
            gradients = super(Helped, self).get_gradients(loss, params)
            return [
                decay * p + g if decay and id(p) in decayed else g
                for p, g in zip(params, gradients)
            ]

        def get_updates(self, loss, params):
            if native or not hasattr(self, "beta_2"):
                return super(Helped, self).get_updates(loss, params)
            # epsilon stands inside the bias correction: moved outside
            stated, step = self.epsilon, K.cast(self.iterations, K.floatx()) + 1
            self.epsilon = stated * K.sqrt(1.0 - K.pow(self.beta_2, step))
            updates = super(Helped, self).get_updates(loss, params)
            self.epsilon = stated
            if BACKEND == "tensorflow":  # the count goes up when everybody has read it
                import tensorflow as tf

                with tf.control_dependencies(updates[1:]):
                    updates[0] = K.update_add(self.iterations, 1)
            return updates

    Helped.__name__ = kind.__name__
    return Helped


def _optimizer(recipe, decayed, native):
    o = recipe["optimizer"]
    kind = {"sgd": "SGD", "adam": "Adam", "adadelta": "Adadelta"}[o["name"]]
    kind = getattr(keras.optimizers, kind)
    decay = o.get("weight_decay", 0.0)
    if decay or not native:
        kind = _helped(kind, decayed, decay, native)
    if o["name"] == "sgd":
        return kind(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if native:
        return kind(o["lr"])
    if o["name"] == "adam":
        return kind(o["lr"], beta_1=o["beta1"], beta_2=o["beta2"], epsilon=o["epsilon"])
    return kind(o["lr"], rho=o["rho"], epsilon=o["epsilon"])


class Catch(keras.optimizers.Optimizer):
    """Keeps the gradients and takes no step."""

    def get_updates(self, loss, params):
        gradients = self.get_gradients(loss, params)
        self.params, self.weights = params, [K.zeros(K.int_shape(p)) for p in params]
        self.updates = [
            K.update(place, K.zeros_like(place) + gradient)  # also a sparse one
            for place, gradient in zip(self.weights, gradients)
        ]
        return self.updates


# ---- model --------------------------------------------------------------------------------------


class BatchModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        self._native = options.setting == "native"
        lstm = {} if self._native else {"recurrent_activation": "sigmoid"}
        super(BatchModel, self).__init__(
            graph, recipe, lambda node: layer_of(node, self._native, BatchNorm, **lstm)
        )
        decayed = {id(v) for _, name, v in self._trained() if is_decayed(name)}
        optimizer = _optimizer(recipe, decayed, self._native)
        self._compile(self._net, optimizer)
        self.path = {
            "loop": "train_on_batch, as fit_generator does it",
            "backend": BACKEND,
            "layout": "NHWC",
            "optimizer": "helped" if type(optimizer).__module__ == __name__ else "as it is",
            "lstm": "recurrent activation Keras' own" if self._native else "sigmoid",
            "batchnorm": "Keras' own running statistics" if self._native else "explicit",
            "cross_entropy": "exact" if BACKEND == "tensorflow" or not self._native else "clipped",
        }
        if BACKEND == "theano":
            self.path["ties"] = "gradient to all" if self._native else "gradient to the first"
        else:
            self.path["race"] = "left alone" if self._native else "resource variables"

    def _compile(self, net, optimizer):
        losses = self._recipe["losses"]
        net.compile(
            optimizer=optimizer,
            loss=[_loss(spec, self._native) for spec in losses],
            loss_weights=[spec["weight"] for spec in losses],
        )

    def _targets(self, batch):
        return [_target(spec, batch) for spec in self._recipe["losses"]]

    def train_step(self, batch):
        found = self._net.train_on_batch(self._arrays(batch), self._targets(batch))
        return float(np.ravel(found)[0])  # of several, the sum comes first

    def losses(self, handles):
        return list(handles)

    def activations(self, batch, training=False):
        names = [node["name"] for node in self._graph["nodes"]]
        run = K.function(
            self._net.inputs + [K.learning_phase()], [self._values[name] for name in names]
        )
        return dict(zip(names, run(self._arrays(batch) + [int(training)])))

    def gradients(self, batch):
        """Keras' own step with an optimiser that keeps what it is given."""
        before = self.weights()
        net, optimizer = self._model(self._heads), Catch()
        self._compile(net, optimizer)
        found = net.train_on_batch(self._arrays(batch), self._targets(batch))
        self.load(before)  # the running statistics
        caught = {id(p): w for p, w in zip(optimizer.params, optimizer.weights)}
        return float(np.ravel(found)[0]), self._caught(caught)

    def _read(self, variables):
        return K.batch_get_value(variables)

    def _write(self, pairs):
        K.batch_set_value(pairs)

    def sync(self):
        pass  # train_on_batch returns when the step is done

    def save_native(self, folder):
        self._net.save_weights(os.path.join(folder, "model.h5"))
        state = {str(k): value for k, value in enumerate(self._net.optimizer.get_weights())}
        np.savez(os.path.join(folder, "optimizer.npz"), **state)


def _target(spec, batch):
    target = batch[spec["target"]]
    if spec["name"] == "softmax-cross-entropy":
        target = target[..., None]
    return np.stack([target[..., 0], batch[spec["mask"]]], -1) if spec["mask"] else target
