"""Keras 3: compile and fit, one fit an epoch, the same on TensorFlow, JAX and PyTorch."""

import os
import time
import warnings

import keras
import numpy as np
from keras import ops

from bench.adapters.keras_layers import BACKEND, FunctionalModel, layer_of
from bench.weights import is_decayed

# ---- layers -------------------------------------------------------------------------------------


class BatchNorm(keras.layers.BatchNormalization):
    """Keras 3 keeps the biased variance: the factor n/(n-1) goes into what it has added."""

    unbiased = False

    def call(self, inputs, training=None, mask=None):
        kept = self.moving_variance * self.momentum
        y = super().call(inputs, training=training, mask=mask)
        if training and self.unbiased:
            rows = ops.cast(ops.prod(ops.shape(inputs)[:-1]), "float32")
            added = self.moving_variance - kept
            self.moving_variance.assign(kept + added * (rows / (rows - 1)))
        return y


# ---- loss and optimiser -------------------------------------------------------------------------


def _loss(spec):
    kinds, told = keras.losses, {}
    if spec["mask"]:
        told["reduction"] = "mean_with_sample_weight"  # else the mean is over all places
    return {
        "softmax-cross-entropy": lambda: kinds.SparseCategoricalCrossentropy(True, **told),
        "sigmoid-cross-entropy": lambda: kinds.BinaryCrossentropy(True, **told),
        "mean-squared-error": lambda: kinds.MeanSquaredError(**told),
        "mean-absolute-error": lambda: kinds.MeanAbsoluteError(**told),
    }[spec["name"]]()


def _dense(gradient):
    """On TensorFlow an embedding's gradient comes as rows: Keras' formulas for these differ."""
    if BACKEND != "tensorflow":
        return gradient
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)


def _helped(kind, variables, decayed, decay, native):
    """Keras' optimiser with weight decay in the gradient and Adam's epsilon where it belongs."""
    kind = type(kind())  # on PyTorch, Keras puts a class of its own in the place of each

    class Helped(kind):
        def apply(self, grads, trainable_variables=None):
            grads = grads if native else [_dense(gradient) for gradient in grads]
            if decay:
                grads = [
                    _dense(gradient) + decay * ops.convert_to_tensor(variable) if each else gradient
                    for gradient, variable, each in zip(grads, variables, decayed)
                ]
            stated = getattr(self, "epsilon", None)
            if hasattr(self, "beta_2") and not native:
                # Adam's stands inside the bias correction: moved outside
                power = ops.power(
                    ops.cast(self.beta_2, "float32"), ops.cast(self.iterations + 1, "float32")
                )
                self.epsilon = stated * ops.sqrt(1 - power)
            super().apply(grads, trainable_variables)
            self.epsilon = stated

    Helped.__name__ = kind.__name__
    return Helped


def _optimizer(recipe, net, decayed, native):
    o = recipe["optimizer"]
    kind = {"sgd": "SGD", "adam": "Adam", "adadelta": "Adadelta"}[o["name"]]
    kind = getattr(keras.optimizers, kind)
    decay = o.get("weight_decay", 0.0)
    if decay or not native:
        kind = _helped(kind, net.trainable_variables, decayed, decay, native)
    if o["name"] == "sgd":
        return kind(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if native:
        return kind(o["lr"])
    if o["name"] == "adam":
        return kind(o["lr"], beta_1=o["beta1"], beta_2=o["beta2"], epsilon=o["epsilon"])
    return kind(o["lr"], rho=o["rho"], epsilon=o["epsilon"])


class Catch(keras.optimizers.Optimizer):
    """Keeps the gradients and takes no step."""

    def __init__(self):
        super().__init__(learning_rate=0.0)

    def build(self, variables):
        super().build(variables)
        self.caught = [self.add_variable_from_reference(v, "caught") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        place = self.caught[self._get_variable_index(variable)]
        self.assign(place, _dense(gradient))


# ---- model --------------------------------------------------------------------------------------


class FitModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        self._native = native = options.setting == "native"
        super().__init__(graph, recipe, lambda node: layer_of(node, native, BatchNorm))
        names = {id(variable): name for _, name, variable in self._variables}
        decayed = [is_decayed(names[id(v)]) for v in self._net.trainable_variables]
        optimizer = _optimizer(recipe, self._net, decayed, native)
        self._compile(self._net, optimizer)
        helped = type(optimizer).__module__ == __name__
        self.path = {
            "loop": "fit on a generator, step times with fetching; train_on_batch for a step alone",
            "backend": BACKEND,
            "layout": "NHWC",
            "jit_compile": bool(self._net.jit_compile),
            "optimizer": "helped in apply" if helped else "as it is",
            "batchnorm": "Keras' defaults, biased" if native else "explicit",
            "iterations": "as Keras counts them" if native else "one an optimiser step",
        }

    def _compile(self, net, optimizer):
        losses = self._recipe["losses"]
        net.compile(
            optimizer=optimizer,
            loss=[_loss(spec) for spec in losses],
            loss_weights=[spec["weight"] for spec in losses],
        )

    def _pair(self, batch):
        """(inputs, targets) or, where a loss has a mask, (inputs, targets, weights)."""
        losses = self._recipe["losses"]
        pair = (tuple(self._arrays(batch)), tuple(batch[spec["target"]] for spec in losses))
        if not any(spec["mask"] for spec in losses):
            return pair
        ones = np.ones(len(pair[1][0]), np.float32)
        weights = [batch[s["mask"]].astype(np.float32) if s["mask"] else ones for s in losses]
        return pair + (tuple(weights),)

    def train_step(self, batch):
        return self._one_step(self._net, batch)

    def _one_step(self, net, batch):
        net.reset_metrics()  # else Keras reports the mean since it began
        return float(np.ravel(net.train_on_batch(*self._pair(batch)))[0])  # the sum comes first

    def train_epoch(self, batches, on_step):
        rows = []

        class Steps(keras.callbacks.Callback):
            total, seen, began = 0.0, 0, time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                # Keras reports the mean since the epoch began, this is the last batch's part
                seen = self.seen + rows[batch]
                total = float(logs["loss"]) * seen
                loss = (total - self.total) / rows[batch]
                self.total, self.seen = total, seen
                on_step(loss, time.monotonic() - self.began)
                self.began = time.monotonic()

        def pairs():
            for batch in batches:
                pair = self._pair(batch)
                rows.append(len(pair[0][0]))
                yield pair

        optimizer = self._net.optimizer
        taken = int(ops.convert_to_numpy(optimizer.iterations))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Your input ran out of data")
            self._net.fit(pairs(), epochs=1, verbose=0, shuffle=False, callbacks=[Steps()])
        if not self._native:
            # on TensorFlow, Keras also counts the step that finds no more data
            optimizer.iterations.assign(taken + len(rows))

    def losses(self, handles):
        return list(handles)

    def activations(self, batch, training=False):
        names = [node["name"] for node in self._graph["nodes"]]
        net = self._model([self._values[name] for name in names])
        found = net(self._arrays(batch), training=training)
        return {name: ops.convert_to_numpy(value) for name, value in zip(names, found)}

    def gradients(self, batch):
        """Keras' own step with an optimiser that keeps what it is given."""
        before = self.weights()
        net, optimizer = self._model(self._heads), Catch()
        self._compile(net, optimizer)
        loss = self._one_step(net, batch)
        caught = {id(v): c for v, c in zip(net.trainable_variables, optimizer.caught)}
        self.load(before)  # the running statistics
        return loss, self._caught(caught)

    def _read(self, variables):
        return [ops.convert_to_numpy(variable) for variable in variables]

    def _write(self, pairs):
        for variable, value in pairs:
            variable.assign(value)

    def sync(self):
        pass  # the loss that fit reports has been waited for

    def save_native(self, folder):
        self._net.save_weights(os.path.join(folder, "model.weights.h5"))
        state = self._read(self._net.optimizer.variables)
        state = {str(k): value for k, value in enumerate(state)}
        np.savez(os.path.join(folder, "optimizer.npz"), **state)
