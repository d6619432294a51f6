"""The model: compiled functions, weights in and out."""

import os
from collections import OrderedDict

import numpy as np
import theano
from theano import tensor as T

from bench.adapters.base import Model
from bench.adapters.channels_first import Layout, value_in
from bench.adapters.theano.layers import Net, from_theano, to_theano, variables_of
from bench.adapters.theano.training import loss_of, targets_and_masks, updates_of
from bench.adapters.theano_lasagne import L, lasagne
from bench.ops import (
    host_nodes,
    nodes_for,
    read_by_losses,
    shapes_of,
    sources,
    trained_nodes,
    values_of,
)
from bench.weights import is_decayed, is_state


class TheanoModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._native = options.setting == "native"
        self._layout = Layout(graph)
        self._net = Net(graph, self._layout, self._native)
        self._trained = trained_nodes(graph, recipe)
        self._heads = sorted(read_by_losses(recipe))
        self._batch = self._inputs_for(self._heads)
        for name, variable in targets_and_masks(recipe, shapes_of(graph)):
            self._batch.setdefault(name, variable)
        self._compiled, self._state = {}, []
        self._rate = recipe["optimizer"]["lr"]
        if recipe.get("schedule"):
            self._rate = theano.shared(np.float32(self._rate), "rate")
        self.path = {
            "loop": "theano.function with updates",
            "layers": "Lasagne " + lasagne.__version__,
            "layout": "NCHW, filters turned around",
            "lstm": "scan",
        }
        self.path.update(_NATIVE if self._native else _ADJUSTED)
        if host_nodes(graph):
            self.path["host node"] = "an Op of its own inside the function"

    def _inputs_for(self, names):
        """{input: variable} of the inputs that these values depend on."""
        read = set()
        for node in nodes_for(self._graph, names):
            read.update(sources(node) + [node.get("lengths")])
        return OrderedDict((k, v) for k, v in sorted(self._net.inputs.items()) if k in read)

    # ---- what is compiled, each when it is first needed

    def _function(self, name, *arguments):
        if (name, arguments) not in self._compiled:
            self._compiled[name, arguments] = getattr(self, "_compile_" + name)(*arguments)
        return self._compiled[name, arguments]

    def _compile_step(self):
        loss = self._loss()
        parameters = L.get_all_params(self._loss_layers(), trainable=True)
        decayed = {variable for _, name, variable in self._learning() if is_decayed(name)}
        gradients = T.grad(loss, parameters) if parameters else []
        updates = updates_of(self._recipe, gradients, parameters, decayed, self._rate, self._native)
        self._state = [variable for variable in updates if variable not in parameters]
        for node in self._trained:
            if node["op"] == "batchnorm":
                updates.update(self._net.layer(node).updates)
        return theano.function(list(self._batch.values()), loss, updates=updates)

    def _compile_loss(self):
        return theano.function(list(self._batch.values()), self._loss())

    def _compile_gradients(self):
        loss = self._loss()
        variables = [variable for _, _, variable in self._learning()]
        gradients = T.grad(loss, variables) if variables else []
        return theano.function(list(self._batch.values()), [loss] + gradients)

    def _compile_values(self, names, training):
        expressions = self._net.expressions(names, deterministic=not training)
        inputs = self._inputs_for(names)
        return theano.function(list(inputs.values()), expressions), inputs

    def _loss_layers(self):
        return [self._net.values[name] for name in self._heads]

    def _loss(self):
        values = dict(zip(self._heads, self._net.expressions(self._heads, deterministic=False)))
        losses = self._recipe["losses"]
        return sum(spec["weight"] * loss_of(spec, values, self._batch) for spec in losses)

    def _learning(self):
        """(node, canonical name, variable) of everything that learns."""
        for node in self._trained:
            if node["parameters"]:
                for name, variables in sorted(variables_of(node, self._net.layer(node)).items()):
                    if not is_state(node, name):
                        for variable in variables:
                            yield node, name, variable

    # ---- what a model does

    def train_step(self, batch):
        return self._function("step")(*_arrays(batch, self._batch))

    def set_rate(self, rate):
        if self._recipe["optimizer"].get("momentum") and not self._native:
            for velocity in self._state:  # Lasagne's velocities have the learning rate in them
                velocity.set_value(velocity.get_value() * np.float32(rate / self._rate.get_value()))
        self._rate.set_value(np.float32(rate))

    def losses(self, handles):
        return [float(loss) for loss in handles]

    def predict(self, batch):
        return self._values(batch, self._graph["outputs"], False)

    def activations(self, batch, training=False):
        return self._values(batch, values_of(self._graph), training)

    def _values(self, batch, names, training):
        function, inputs = self._function("values", tuple(names), training)
        values = function(*_arrays(batch, inputs))
        return {name: self._layout.value_out(name, v) for name, v in zip(names, values)}

    def gradients(self, batch):
        values = self._function("gradients")(*_arrays(batch, self._batch))
        pieces = OrderedDict()  # an LSTM of Lasagne has a variable for each gate
        for (node, name, _), value in zip(self._learning(), values[1:]):
            pieces.setdefault((node["name"], name), (node, []))[1].append(value)
        gradients = {}
        for (key, name), (node, parts) in pieces.items():
            value = from_theano(node, name, np.concatenate(parts, axis=-1), self._layout)
            gradients.setdefault(key, {})[name] = value
        return float(values[0]), gradients

    def run_forward(self, batch):
        self._function("loss")(*_arrays(batch, self._batch))

    def run_backward(self, batch):
        self._function("gradients")(*_arrays(batch, self._batch))

    def _nodes_with_weights(self):
        return [node for node in self._graph["nodes"] if node["parameters"]]

    def weights(self):
        return {
            node["name"]: {
                name: from_theano(
                    node,
                    name,
                    np.concatenate([variable.get_value() for variable in variables], axis=-1),
                    self._layout,
                )
                for name, variables in variables_of(node, self._net.layer(node)).items()
            }
            for node in self._nodes_with_weights()
        }

    def load(self, weights):
        for node in self._nodes_with_weights():
            for name, variables in variables_of(node, self._net.layer(node)).items():
                value = to_theano(node, name, weights[node["name"]][name], self._layout)
                for variable, piece in zip(variables, np.split(value, len(variables), axis=-1)):
                    variable.set_value(np.ascontiguousarray(piece, np.float32))

    def sync(self):
        """A function returns when it is done; what is not yet compiled is compiled now."""
        self._function("step")
        self._function("values", tuple(self._graph["outputs"]), False)

    def save_native(self, folder):
        layers = [self._net.values[name] for name in self._graph["outputs"]]
        np.savez(os.path.join(folder, "model.npz"), *L.get_all_param_values(layers))
        state = [variable.get_value() for variable in self._state]
        np.savez(os.path.join(folder, "optimizer.npz"), *state)


def _arrays(batch, variables):
    """The batch's arrays as these variables want them."""
    return [
        value_in(batch[name]).astype(variable.dtype, copy=False)
        for name, variable in variables.items()
    ]


_ADJUSTED = {
    "ties": "a maximum's gradient goes to one place, that of relu at 0 is 0",
    "adam": "epsilon adjusted each step",
}
_NATIVE = {
    "ties": "a maximum's gradient goes to every place that has it; that of relu at 0 is 1/2",
    "adam": "betas .9, .999, epsilon 1e-8 inside the bias correction",
    "adadelta": "rho .95, epsilon 1e-6",
    "batchnorm": "keep .9, epsilon 1e-4, unbiased",
    "peepholes": "on; the output gate's is added behind the sigmoid",
}
