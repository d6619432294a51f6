"""The model: a training step and a prediction as tf.functions, weights in and out."""

import os

import numpy as np
import tensorflow as tf

from bench.adapters.base import Model, Prepared
from bench.adapters.tensorflow2.layers import Net, variables_of
from bench.adapters.tensorflow2.training import make_slots, optimizer_of, set_rate
from bench.adapters.tensorflow_nn import choices, dense_gradient, total_loss
from bench.adapters.tensorflow_regions import open_shape
from bench.ops import nodes_for, trained_nodes, values_of
from bench.weights import is_state


class FunctionModel(Model):
    """GradientTape inside a tf.function: the loop that TensorFlow 2 users write themselves."""

    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._native = native = options.setting == "native"
        self._net = Net(graph, native)
        self._trained = trained_nodes(graph, recipe)
        self._predicted = nodes_for(graph, graph["outputs"])
        self._parameters = [
            (node, name, variable)
            for node in self._trained
            for name, variable in sorted(self._variables_of(node).items())
            if not is_state(node, name)
        ]
        self._optimizer = optimizer_of(recipe, self._parameters, native)
        self._step = self._evaluate = self._last = self._lose = self._differentiate = None
        self.path = {"loop": options.variant, "layout": "NHWC"}
        settings = self._optimizer.get_config()
        self.path.update(choices(graph, recipe, self._net.by_node, settings, native))
        if native:
            self.path["initial"] += "; recurrent kernels orthogonal, tables uniform-0.05"

    def _variables_of(self, node):
        return variables_of(node, self._net.by_node[node["name"]]) if node["parameters"] else {}

    def _loss_of(self, batch):
        values = self._net.run(batch, self._trained, training=True)
        return total_loss(self._recipe, values, batch)

    def _gradients_of(self, batch):
        with tf.GradientTape() as tape:
            loss = self._loss_of(batch)
        return loss, tape.gradient(loss, [_raw(variable) for _, _, variable in self._parameters])

    def _take_step(self, batch):
        loss, gradients = self._gradients_of(batch)
        if gradients:
            variables = [variable for _, _, variable in self._parameters]
            self._optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def prepared(self, batch):
        if isinstance(batch, Prepared):
            return batch
        with tf.device("CPU:0"):
            return Prepared((name, tf.constant(value)) for name, value in batch.items())

    def train_step(self, batch):
        batch = dict(self.prepared(batch))
        if self._step is None:
            make_slots(self._optimizer, self._parameters)
            self._step = self._step_function(batch)
        self._last = self._step(batch)
        return self._last

    def _step_function(self, batch):
        return self._function(self._take_step, batch)

    def _function(self, function, batch):
        """A tf.function of batches like this one, of any size."""
        signature = {name: self._open_spec(name, value) for name, value in batch.items()}
        return tf.function(function, input_signature=[signature], autograph=False)

    def _open_spec(self, name, value):
        """The array's spec, the batch left open: a last, partial batch compiles nothing anew."""
        return tf.TensorSpec(open_shape(self._graph, name, value.shape), value.dtype)

    def set_rate(self, rate):
        set_rate(self._optimizer, self._recipe, self._parameters, rate, self._native)

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        inputs = self._inputs(batch)
        if self._evaluate is None:
            self._evaluate = self._function(self._outputs, inputs)
        values = self._evaluate(inputs)
        return {name: value.numpy() for name, value in zip(self._graph["outputs"], values)}

    def _outputs(self, inputs):
        values = self._net.run(inputs, self._predicted, training=False)
        return [values[name] for name in self._graph["outputs"]]

    def _inputs(self, batch):
        return {s["name"]: tf.convert_to_tensor(batch[s["name"]]) for s in self._graph["inputs"]}

    def activations(self, batch, training=False):
        values = self._net.run(self._inputs(batch), self._graph["nodes"], training)
        return {name: values[name].numpy() for name in values_of(self._graph)}

    def gradients(self, batch):
        tensors = {name: tf.convert_to_tensor(value) for name, value in batch.items()}
        loss, tensors = self._gradients_of(tensors)
        gradients = {}
        for (node, name, variable), tensor in zip(self._parameters, tensors):
            value = dense_gradient(tensor, variable).numpy()
            gradients.setdefault(node["name"], {})[name] = value
        return float(loss), gradients

    def run_forward(self, batch):
        if self._lose is None:
            self._lose = self._function(self._loss_of, batch)
        self._lose(batch).numpy()

    def run_backward(self, batch):
        if self._differentiate is None:
            self._differentiate = self._function(self._gradients_of, batch)
        self._differentiate(batch)[0].numpy()  # on a GPU all that was asked for before it is done

    def weights(self):
        return {
            node["name"]: {
                name: np.array(variable.numpy())
                for name, variable in self._variables_of(node).items()
            }
            for node in self._graph["nodes"]
            if node["parameters"]
        }

    def load(self, weights):
        for node in self._graph["nodes"]:
            for name, variable in self._variables_of(node).items():
                variable.assign(weights[node["name"]][name])

    def sync(self):
        if self._last is not None:
            self._last.numpy()

    def save_native(self, folder):
        self._net.save_weights(os.path.join(folder, "model.weights.h5"))
        # a checkpoint of the optimiser itself holds, by release, the weights too or no slots
        state = self._optimizer.variables
        state = [_raw(variable) for variable in (state() if callable(state) else state)]
        tf.train.Checkpoint(variables=state).write(os.path.join(folder, "optimizer"))


def _raw(variable):
    """The tf.Variable behind a Keras 3 variable; in Keras 2 it is one."""
    return variable if isinstance(variable, tf.Variable) else variable.value
