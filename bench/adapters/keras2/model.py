"""The model: one step of training, prediction, weights in and out."""

import os

import numpy as np
from keras import backend as K

from bench.adapters.keras2.layers import OPERATIONS
from bench.adapters.keras2.training import GradientCatcher, is_adjusted, loss_of, optimizer_of
from bench.adapters.keras_functional import BACKEND, FunctionalModel, Net, arrays_of
from bench.ops import values_of
from bench.weights import is_decayed


class BatchModel(FunctionalModel):
    def __init__(self, graph, recipe, options):
        self._native = options.setting == "native"
        super(BatchModel, self).__init__(graph, recipe, Net(graph, OPERATIONS, self._native))
        decayed = {id(variable) for _, name, variable in self._learning if is_decayed(name)}
        optimizer = optimizer_of(recipe, decayed, self._native)
        self._compile(self._net, optimizer)
        self._catching = self._evaluated = None
        self.path = {
            "loop": "train_on_batch, as fit_generator does it",
            "backend": BACKEND,
            "layout": "NHWC",
            "optimizer": "adjusted" if is_adjusted(optimizer) else "as it is",
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
            loss=[loss_of(spec, self._native) for spec in losses],
            loss_weights=[spec["weight"] for spec in losses],
        )

    def train_step(self, batch):
        return self._one_step(self._net, batch)

    def _one_step(self, net, batch):
        targets = [_target(spec, batch) for spec in self._recipe["losses"]]
        losses = net.train_on_batch(arrays_of(batch, self._net_inputs), targets)
        return float(np.ravel(losses)[0])  # of several, the sum comes first

    def losses(self, handles):
        return list(handles)

    def activations(self, batch, training=False):
        net, names = self._functional, values_of(self._graph)
        inputs = net.inputs_for(names)
        if self._evaluated is None:
            self._evaluated = K.function(
                [net.values[name] for name in inputs] + [K.learning_phase()],
                [net.values[name] for name in names],
            )
        return dict(zip(names, self._evaluated(arrays_of(batch, inputs) + [int(training)])))

    def gradients(self, batch):
        """Keras' own step with an optimiser that keeps what it is given."""
        if self._catching is None:
            self._catching = self._training_model()
            self._compile(self._catching, GradientCatcher())
        net, before = self._catching, self.weights()
        loss = self._one_step(net, batch)
        self.load(before)  # the running statistics
        caught = {id(p): place for p, place in zip(net.optimizer.params, net.optimizer.weights)}
        return loss, self._named_gradients(caught)

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
    """A loss's target with the axes of its output; its mask, if it has one, behind it."""
    arrays = [batch[name] for name in (spec["target"], spec["mask"]) if name]
    if spec["name"] == "softmax-cross-entropy":
        arrays = [array[..., None] for array in arrays]
    return np.concatenate(arrays, axis=-1) if len(arrays) > 1 else arrays[0]
