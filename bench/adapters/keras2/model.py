"""The model: one step of training, prediction, weights in and out."""

import os

import numpy as np
from keras import backend as K

from bench.adapters.keras2 import training
from bench.adapters.keras2.layers import OPERATIONS
from bench.adapters.keras_functional import BACKEND
from bench.adapters.keras_model import FunctionalModel, arrays_of
from bench.ops import values_of


class BatchModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        super(BatchModel, self).__init__(graph, recipe, options, OPERATIONS, training)
        self._evaluated = self._lost = None
        self.path = {
            "loop": "train_on_batch, as fit_generator does it",
            "backend": BACKEND,
            "layout": "NHWC",
            "optimizer": "adjusted" if self._is_adjusted() else "as it is",
            "lstm": "recurrent activation Keras' own" if self._native else "sigmoid",
            "batchnorm": "Keras' own running statistics" if self._native else "explicit",
            "cross_entropy": "exact" if BACKEND == "tensorflow" or not self._native else "clipped",
        }
        if self._regions:
            way = "an operation of our own" if BACKEND == "theano" else "py_func"
            self.path["host node"] = way + " inside the graph; the loss is the model's output"
        if BACKEND == "theano":
            self.path["ties"] = "gradient to all" if self._native else "gradient to the first"
        else:
            self.path["race"] = "left alone" if self._native else "resource variables"

    def _one_step(self, net, batch):
        targets = [_target(spec, batch) for spec in self._recipe["losses"] if not self._regions]
        if self._regions:  # the model's output is its loss
            targets = np.zeros((1, 1), np.float32)
        losses = net.train_on_batch(arrays_of(batch, self._net_inputs), targets)
        return float(np.ravel(losses)[0])  # of several, the sum comes first

    def run_forward(self, batch):
        if self._lost is None:
            self._lost = K.function(self._net.inputs + [K.learning_phase()], self._heads)
        self._lost(arrays_of(batch, self._net_inputs) + [1])

    def activations(self, batch, training=False):
        net, names = self._values, values_of(self._graph)
        inputs = net.inputs_for(names)
        if self._evaluated is None:
            self._evaluated = K.function(
                [net.values[name] for name in inputs] + [K.learning_phase()],
                [net.values[name] for name in names],
            )
        return dict(zip(names, self._evaluated(arrays_of(batch, inputs) + [int(training)])))

    def _read(self, variables):
        return K.batch_get_value(variables)

    def _write(self, pairs):
        K.batch_set_value(pairs)

    def save_native(self, folder):
        whole = self._values.model(self._graph["outputs"])  # also what no loss reaches
        whole.save_weights(os.path.join(folder, "model.h5"))
        state = {str(k): value for k, value in enumerate(self._net.optimizer.get_weights())}
        np.savez(os.path.join(folder, "optimizer.npz"), **state)


def _target(spec, batch):
    """A loss's target with the axes of its output; its mask, if it has one, behind it."""
    arrays = [batch[name] for name in (spec["target"], spec["mask"]) if name]
    if spec["name"] == "softmax-cross-entropy":
        arrays = [array[..., None] for array in arrays]
    return np.concatenate(arrays, axis=-1) if len(arrays) > 1 else arrays[0]
