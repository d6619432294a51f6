"""The model of both generations of Keras: all but what a step is given, and the loop.

Gradients are shown by an optimiser that keeps them and takes no step: `compile` and
`train_on_batch` are Keras' own, whatever it runs on.
"""

import abc

import keras
import numpy as np
from keras import layers

from bench.adapters.base import Model
from bench.adapters.keras_functional import Net, alone, turned, variables_of
from bench.adapters.keras_regions import has_regions, total_loss
from bench.ops import owner, read_by_losses, trained_nodes
from bench.weights import is_decayed, is_state


class FunctionalModel(Model):
    """Keras' models of the graph: one that trains, one that predicts, one that shows gradients."""

    def __init__(self, graph, recipe, options, operations, training):
        """`training` is the generation's module of losses and optimisers."""
        self._graph, self._recipe, self._training = graph, recipe, training
        self._native = options.setting == "native"
        self._values = net = Net(graph, operations, self._native)
        self._variables = [
            (node, name, variable)
            for node in graph["nodes"]
            if node["parameters"]
            for name, variable in sorted(variables_of(node, net.layer(node)).items())
        ]
        trained = {node["name"] for node in trained_nodes(graph, recipe)}
        self._learning = [
            (node, name, variable)
            for node, name, variable in self._variables
            if node["name"] in trained and not is_state(node, name)
        ]
        self._regions = has_regions(graph)
        self._loss_outputs = (
            sorted(read_by_losses(recipe))
            if self._regions
            else [spec["output"] for spec in recipe["losses"]]
        )
        targets = {}
        if self._regions:
            head, targets = total_loss(graph, recipe, net, self._per_place)
            self._heads = [head]
        else:
            self._heads = _heads(recipe, net)
        self._net_inputs = net.inputs_for(self._loss_outputs) + list(targets)
        self._targets = list(targets.values())
        self._net = self._compiled(_optimizer_of(recipe, self._decayed(), training, self._native))
        self._gradient_net = None
        self._predictor = net.model(graph["outputs"])
        self._predictor_inputs = net.inputs_for(graph["outputs"])

    def _decayed(self):
        """The ids of the variables that decay."""
        return {id(variable) for _, name, variable in self._learning if is_decayed(name)}

    def _compiled(self, optimizer):
        """A model that trains with this optimiser."""
        net = self._values.model(self._loss_outputs, self._heads, self._targets)
        losses = self._recipe["losses"]
        if self._regions:
            net.compile(optimizer=optimizer, loss=self._training.identity_loss())
            return net
        weights = [spec["weight"] for spec in losses]
        net.compile(
            optimizer=optimizer,
            loss=alone([self._training.loss_of(spec, self._native) for spec in losses]),
            loss_weights=None if weights == [1] else weights,
        )
        return net

    def _per_place(self, name, target, output):
        return self._training.per_place(name, target, output, self._native)

    def _is_adjusted(self):
        return type(self._net.optimizer).__module__ == self._training.__name__

    @abc.abstractmethod
    def _one_step(self, net, batch):
        """Train on a batch; returns the loss."""

    def train_step(self, batch):
        return self._one_step(self._net, batch)

    def set_rate(self, rate):
        optimizer = self._net.optimizer
        if self._recipe["optimizer"].get("momentum") and not self._native:
            # Keras' velocities have the learning rate in them
            velocities = self._training.velocities(optimizer)
            before = self._training.rate_of(optimizer)
            ratio = rate / before if before else 0.0  # a schedule may end below what float32 holds
            self._write(
                [(v, value * ratio) for v, value in zip(velocities, self._read(velocities))]
            )
        self._training.set_rate(optimizer, rate)

    def losses(self, handles):
        return list(handles)

    def predict(self, batch):
        arrays = alone(arrays_of(batch, self._predictor_inputs))
        values = as_list(self._predictor.predict_on_batch(arrays))
        return {name: np.asarray(v) for name, v in zip(self._graph["outputs"], values)}

    def _gradients_net(self):
        """A model whose steps keep the gradients."""
        if self._gradient_net is None:
            self._gradient_net = self._compiled(self._training.GradientCatcher())
        return self._gradient_net

    def run_backward(self, batch):
        self._one_step(self._gradients_net(), batch)

    def gradients(self, batch):
        before = self.weights()
        loss = self._one_step(self._gradients_net(), batch)
        self.load(before)  # the running statistics
        net = self._gradient_net
        caught = {id(v): c for v, c in zip(net.optimizer.learning, net.optimizer.caught)}
        gradients = self._read([caught[id(variable)] for _, _, variable in self._learning])
        return loss, _named(self._learning, gradients)

    @abc.abstractmethod
    def _read(self, variables):
        """Their values, all at once."""

    @abc.abstractmethod
    def _write(self, pairs):
        """Put values into variables, all at once."""

    def weights(self):
        return _named(self._variables, self._read([each[2] for each in self._variables]))

    def load(self, weights):
        self._write(
            [
                (variable, turned(node, name, weights[node["name"]][name]))
                for node, name, variable in self._variables
            ]
        )

    def sync(self):
        pass  # Keras has waited for the loss that it returns


def _optimizer_of(recipe, decayed, training, native):
    """Keras' optimiser of the recipe."""
    o = recipe["optimizer"]
    kind = {"sgd": "SGD", "adam": "Adam", "adadelta": "Adadelta"}[o["name"]]
    kind = getattr(keras.optimizers, kind)
    decay, clip = o.get("weight_decay", 0.0), recipe.get("clip")
    if decay or clip is not None or not native:
        kind = training.adjusted(kind, decayed, decay, clip, native, o.get("hat_epsilon", False))
    if o["name"] == "sgd":
        return kind(o["lr"], momentum=o["momentum"], nesterov=o["nesterov"])
    if native:
        return kind(o["lr"])
    if o["name"] == "adam":
        return kind(o["lr"], beta_1=o["beta1"], beta_2=o["beta2"], epsilon=o["epsilon"])
    return kind(o["lr"], rho=o["rho"], epsilon=o["epsilon"])


def _heads(recipe, net):
    """The tensor of each loss. Keras has one loss an output, and one output a layer by name."""
    heads, used = [], set()
    for k, spec in enumerate(recipe["losses"]):
        head = net.values[spec["output"]]
        if owner(spec["output"]) in used:
            head = layers.Activation("linear", name="loss_{}".format(k))(head)
        used.add(owner(spec["output"]))
        heads.append(head)
    return heads


def _named(variables, values):
    """{node: {parameter: canonical value}}."""
    named = {}
    for (node, name, _), value in zip(variables, values):
        named.setdefault(node["name"], {})[name] = np.array(turned(node, name, value))
    return named


def arrays_of(batch, names):
    """The batch's arrays for a model of these inputs."""
    return [batch[name][:, None] if batch[name].ndim == 1 else batch[name] for name in names]


def as_list(values):
    """Keras gives the value of a single output without a list."""
    return values if isinstance(values, (list, tuple)) else [values]
