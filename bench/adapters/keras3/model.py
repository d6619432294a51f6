"""The model: fit an epoch, prediction, weights in and out."""

import os
import time
import warnings

import keras
import numpy as np
from keras import ops

from bench.adapters.keras3.layers import OPERATIONS
from bench.adapters.keras3.training import (
    GradientCatcher,
    PlaceLoss,
    is_adjusted,
    optimizer_of,
)
from bench.adapters.keras_functional import BACKEND, FunctionalModel, Net, arrays_of, as_list
from bench.ops import values_of
from bench.weights import is_decayed


class FitModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        self._native = native = options.setting == "native"
        super().__init__(graph, recipe, Net(graph, OPERATIONS, native))
        names = {id(variable): name for _, name, variable in self._variables}
        decayed = [is_decayed(names[id(v)]) for v in self._net.trainable_variables]
        optimizer = optimizer_of(recipe, decayed, native)
        self._compile(self._net, optimizer)
        self._catching = None
        self.path = {
            "loop": "fit on a generator, step times with fetching; train_on_batch for a step alone",
            "backend": BACKEND,
            "layout": "NHWC",
            "jit_compile": bool(self._net.jit_compile),
            "optimizer": "adjusted in apply" if is_adjusted(optimizer) else "as it is",
            "batchnorm": "Keras' defaults, biased" if native else "explicit",
            "iterations": "as Keras counts them" if native else "one an optimiser step",
        }

    def _compile(self, net, optimizer):
        losses = self._recipe["losses"]
        net.compile(
            optimizer=optimizer,
            loss=[PlaceLoss(spec) for spec in losses],
            loss_weights=[spec["weight"] for spec in losses],
        )

    def _rows(self, batch):
        """(inputs, targets) or, where a loss has a mask, (inputs, targets, weights)."""
        losses = self._recipe["losses"]
        inputs = tuple(arrays_of(batch, self._net_inputs))
        targets = [batch[spec["target"]] for spec in losses]
        if not any(spec["mask"] for spec in losses):
            return inputs, _alone_or_tuple(targets)
        weights = [
            batch[spec["mask"]].astype(np.float32)
            if spec["mask"]
            else np.ones(target.shape, np.float32)
            for spec, target in zip(losses, targets)
        ]
        return inputs, _alone_or_tuple(targets), _alone_or_tuple(weights)

    def train_step(self, batch):
        return self._one_step(self._net, batch)

    def _one_step(self, net, batch):
        net.reset_metrics()  # else Keras reports the mean since it began
        return float(np.ravel(net.train_on_batch(*self._rows(batch)))[0])  # the sum comes first

    def train_epoch(self, batches, on_step):
        sizes = []

        class Steps(keras.callbacks.Callback):
            total, seen, began = 0.0, 0, time.monotonic()

            def on_train_batch_end(self, batch, logs=None):
                # Keras reports the mean since the epoch began, this is the last batch's part
                seen = self.seen + sizes[batch]
                total = float(logs["loss"]) * seen
                loss = (total - self.total) / sizes[batch]
                self.total, self.seen = total, seen
                on_step(loss, time.monotonic() - self.began)
                self.began = time.monotonic()

        def rows():
            for batch in batches:
                sizes.append(len(next(iter(batch.values()))))
                yield self._rows(batch)

        optimizer = self._net.optimizer
        taken = int(ops.convert_to_numpy(optimizer.iterations))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Your input ran out of data")
            self._net.fit(rows(), epochs=1, verbose=0, shuffle=False, callbacks=[Steps()])
        if not self._native:
            # on TensorFlow, Keras also counts the step that finds no more data
            optimizer.iterations.assign(taken + len(sizes))

    def losses(self, handles):
        return list(handles)

    def activations(self, batch, training=False):
        names = values_of(self._graph)
        arrays = arrays_of(batch, self._functional.inputs_for(names))
        values = as_list(self._functional.model(names)(arrays, training=training))
        return {name: ops.convert_to_numpy(value) for name, value in zip(names, values)}

    def gradients(self, batch):
        """Keras' own step with an optimiser that keeps what it is given."""
        if self._catching is None:
            self._catching = self._training_model()
            self._compile(self._catching, GradientCatcher())
        net, before = self._catching, self.weights()
        loss = self._one_step(net, batch)
        self.load(before)  # the running statistics
        caught = getattr(net.optimizer, "caught", [])  # never built where nothing learns
        return loss, self._named_gradients(
            {id(v): place for v, place in zip(net.trainable_variables, caught)}
        )

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


def _alone_or_tuple(values):
    """Keras knows no tuple of one output."""
    return values[0] if len(values) == 1 else tuple(values)
