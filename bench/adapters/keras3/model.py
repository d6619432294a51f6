"""The model: fit an epoch, prediction, weights in and out."""

import functools
import os
import time
import warnings

import keras
import numpy as np
from keras import ops

from bench.adapters import tensorflow_xla
from bench.adapters.keras3 import training
from bench.adapters.keras3.layers import OPERATIONS
from bench.adapters.keras_functional import BACKEND, alone
from bench.adapters.keras_model import FunctionalModel, arrays_of, as_list
from bench.ops import values_of

_SOURCE = "a queue filled between steps" if BACKEND == "tensorflow" else "a generator, untimed"


class FitModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        self._compiles = tensorflow_xla.compiles(graph, options)
        super().__init__(graph, recipe, options, OPERATIONS, training)
        # while it fits, Keras' trainer for JAX holds the variables: none can be set between steps
        self._fits = BACKEND != "jax" or not recipe.get("schedule")
        self.path = {
            "loop": "fit on {}; train_on_batch for a step alone".format(_SOURCE)
            if self._fits
            else "train_on_batch, because the learning rate changes within an epoch",
            "backend": BACKEND,
            "layout": "NHWC",
            "jit_compile": bool(self._net.jit_compile),
            "optimizer": "adjusted in apply" if self._is_adjusted() else "as it is",
            "batchnorm": "Keras' defaults, biased" if self._native else "explicit",
        }
        if options.variant == "tuned":
            self.path["tuned"] = tensorflow_xla.tricks(self._compiles)
        if self._regions:
            ways = {"tensorflow": "numpy_function", "jax": "pure_callback", "torch": "called"}
            self.path["host node"] = ways[BACKEND] + "; the loss is the model's output"

    def _compiled(self, optimizer):
        net = super()._compiled(optimizer)
        if self._compiles:  # by default Keras has this on a GPU alone
            net.jit_compile = True
        return net

    def _rows(self, batch):
        """(inputs, targets) or, where a loss has a mask, (inputs, targets, weights)."""
        losses = self._recipe["losses"]
        inputs = alone(tuple(arrays_of(batch, self._net_inputs)))
        if self._regions:  # the model's output is its loss
            return inputs, np.zeros((1, 1), np.float32)
        targets = [batch[spec["target"]] for spec in losses]
        if not any(spec["mask"] for spec in losses):
            return inputs, alone(tuple(targets))
        weights = [
            batch[spec["mask"]].astype(np.float32)
            if spec["mask"]
            else np.ones(target.shape, np.float32)
            for spec, target in zip(losses, targets)
        ]
        return inputs, alone(tuple(targets)), alone(tuple(weights))

    def _one_step(self, net, batch):
        net.reset_metrics()  # else Keras reports the mean since it began
        return float(np.ravel(net.train_on_batch(*self._rows(batch)))[0])  # the sum comes first

    def train_epoch(self, batches, on_step):
        if not self._fits:
            super().train_epoch(batches, on_step)
        elif BACKEND == "tensorflow":
            self._fit_queue(map(self._rows, batches), on_step)
        else:
            self._fit_generator(batches, on_step)

    def _fit_queue(self, batches, on_step):
        """Each batch is put into the queue before its step begins."""
        from bench.adapters.keras3.queue import Queue

        first = next(batches)
        queue = Queue(first, [tuple(x.shape) for x in self._net.inputs])
        queue.put(first)

        class Steps(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                self.began = time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                loss, taken = float(logs["loss"]), time.monotonic() - self.began
                self.model.reset_metrics()  # else Keras reports the mean since it began
                on_step(loss, taken)
                following = next(batches, None)
                if following is None:
                    self.model.stop_training = True
                else:
                    queue.put(following)

        self._net.fit(queue.dataset, epochs=1, verbose=0, callbacks=[Steps()])

    def _fit_generator(self, batches, on_step):
        sizes, fetching = [], []

        class Steps(keras.callbacks.Callback):
            total, seen = 0.0, 0

            def on_train_batch_begin(self, batch, logs=None):
                fetching[:] = []
                self.began = time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                loss, taken = float(logs["loss"]), time.monotonic() - self.began
                taken -= sum(fetching)  # within Keras' step, but the work of a data loader
                if BACKEND == "jax":
                    # what fit holds can't be reset: the mean since the epoch began without the
                    # mean before is this batch's part
                    seen = self.seen + sizes[batch]
                    total = loss * seen
                    loss = (total - self.total) / sizes[batch]
                    self.total, self.seen = total, seen
                else:
                    self.model.reset_metrics()  # else Keras reports the mean since it began
                on_step(loss, taken)

        def rows():
            start = time.monotonic()
            for batch in batches:
                sizes.append(len(next(iter(batch.values()))))
                fetched = self._rows(batch)
                fetching.append(time.monotonic() - start)
                yield fetched
                start = time.monotonic()

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Your input ran out of data")
            self._net.fit(rows(), epochs=1, verbose=0, shuffle=False, callbacks=[Steps()])

    def run_forward(self, batch):
        """A training step's forward pass, compiled as its steps are; a detector's output is its
        loss."""
        arrays = alone(arrays_of(batch, self._net_inputs))
        if BACKEND == "torch":
            loss = self._net(arrays, training=True)
        elif BACKEND == "tensorflow":
            loss = self._compiled_forward(arrays)
        else:
            variables = self._net.trainable_variables, self._net.non_trainable_variables
            loss, _ = self._compiled_forward(*[[v.value for v in own] for own in variables], arrays)
        float(ops.convert_to_numpy(loss).ravel()[0])

    @functools.cached_property
    def _compiled_forward(self):
        if BACKEND == "tensorflow":
            import tensorflow as tf

            return tf.function(
                lambda arrays: self._net(arrays, training=True), reduce_retracing=True
            )
        import jax

        return jax.jit(functools.partial(self._net.stateless_call, training=True))

    def activations(self, batch, training=False):
        names = values_of(self._graph)
        arrays = alone(arrays_of(batch, self._values.inputs_for(names)))
        values = as_list(self._values.model(names)(arrays, training=training))
        return {name: ops.convert_to_numpy(value) for name, value in zip(names, values)}

    def _read(self, variables):
        return [ops.convert_to_numpy(variable) for variable in variables]

    def _write(self, pairs):
        for variable, value in pairs:
            variable.assign(value)

    def save_native(self, folder):
        # the one that was compiled would save its optimiser's state with the weights
        whole = self._values.model(self._graph["outputs"])
        whole.save_weights(os.path.join(folder, "model.weights.h5"))
        state = self._read(self._net.optimizer.variables)
        state = {str(k): value for k, value in enumerate(state)}
        np.savez(os.path.join(folder, "optimizer.npz"), **state)
