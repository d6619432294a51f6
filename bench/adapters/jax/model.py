"""The model: the module taken apart into pure state, which jitted functions take and give back."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from bench.adapters import jax_device
from bench.adapters.base import Model, Prepared
from bench.adapters.jax import COMPILED, tuned
from bench.adapters.jax.layers import OPERATIONS, Net, key_of, variables_of
from bench.adapters.jax.training import loss_of, optimizer_of, set_rate
from bench.ops import host_nodes, nodes_for, trained_nodes, values_of
from bench.weights import is_decayed, is_frozen


class JaxModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._on_gpu = options.device == "gpu"
        native = options.setting == "native"
        self._operations = tuned.OPERATIONS if options.variant == "tuned" else OPERATIONS
        self._trained = trained_nodes(graph, recipe)
        self._predicted = nodes_for(graph, graph["outputs"])
        self._trained_keys = {key_of(node) for node in self._trained if not is_frozen(node)}
        self._split(Net(graph, native, nnx.Rngs(options.seed)))
        self._optimizer = optimizer_of(recipe, None if native else self._decayed(), native)
        self._slots = self._optimizer.init(self._params)
        alike = json.dumps([graph, recipe["losses"], options], sort_keys=True)

        def function(name, pure, key=alike, **settings):
            return COMPILED.setdefault((name, key), jax.jit(pure, **settings))

        own = json.dumps([alike, recipe], sort_keys=True)
        self._step = function("step", self._pure_step, own, donate_argnums=(0, 1, 2))
        self._predict = function("predict", self._pure_predict)
        self._differentiate = function("differentiate", self._pure_gradients)
        self._lose = function("lose", self._loss_of)
        shown = {"compiler_options": jax_device.QUICKLY}
        self._show_gradients = function("gradients", self._pure_gradients, **shown)
        self._run = function("run", self._pure_run, static_argnums=3, **shown)
        self.path = {
            "loop": "jit, state donated, compiled once for each size of batch",
            "layout": "NHWC",
            "lstm": "nnx.RNN of OptimizedLSTMCell: a scan",
            "optimizer": "optax's defaults" if native else "explicit",
            "weight decay": "on every parameter" if native else "on kernels and tables",
            "batchnorm": "flax's defaults, biased" if native else "explicit, accurate variance",
        }
        if options.variant == "tuned":
            self.path["tuned"] = tuned.tricks(graph)
        if host_nodes(graph):
            self.path["host node"] = "pure_callback; compiled once for each size of image"

    # ---- state: what is trained, and the others (statistics, random keys, what no loss reaches)

    def _is_trained(self, path, variable):
        return isinstance(variable, nnx.Param) and path[1] in self._trained_keys

    def _split(self, net):
        self._structure, self._params, self._others = nnx.split(net, self._is_trained, ...)

    def _net(self, params=None):
        return nnx.merge(self._structure, self._params if params is None else params, self._others)

    def _variables(self, net, nodes):
        for node in nodes:
            if node["parameters"]:
                for name, variable in variables_of(node, net.layer(node)).items():
                    yield node["name"], name, variable

    def _trained_variables(self, net):
        learning = [node for node in self._trained if not is_frozen(node)]
        for node, name, variable in self._variables(net, learning):
            if isinstance(variable, nnx.Param):
                yield node, name, variable

    def _decayed(self):
        """True or False in the place of every parameter."""
        net = self._net(jax.tree.map(lambda _: False, self._params))
        for _, name, variable in self._trained_variables(net):
            variable.set_value(is_decayed(name))
        return nnx.state(net, self._is_trained)

    # ---- pure functions, which are compiled

    def _loss_of(self, params, others, batch):
        net = nnx.merge(self._structure, params, others, copy=True)
        values = net(batch, self._trained, True, self._operations)
        losses = (spec["weight"] * loss_of(spec, values, batch) for spec in self._recipe["losses"])
        return sum(losses), nnx.split(net, self._is_trained, ...)[2]

    def _pure_gradients(self, params, others, batch):
        return jax.value_and_grad(self._loss_of, has_aux=True)(params, others, batch)

    def _pure_step(self, params, others, slots, batch):
        (loss, others), gradients = self._pure_gradients(params, others, batch)
        updates, slots = self._optimizer.update(gradients, slots, params)
        return loss, optax.apply_updates(params, updates), others, slots

    def _pure_predict(self, params, others, inputs):
        net = nnx.merge(self._structure, params, others)
        values = net(inputs, self._predicted, False, self._operations)
        return {name: values[name] for name in self._graph["outputs"]}

    def _pure_run(self, params, others, inputs, training):
        net = nnx.merge(self._structure, params, others, copy=True)
        values = net(inputs, self._graph["nodes"], training, self._operations)
        others = nnx.split(net, self._is_trained, ...)[2]
        return {name: values[name] for name in values_of(self._graph)}, others

    # ---- the model

    def prepared(self, batch):
        if isinstance(batch, Prepared) or self._on_gpu:
            return batch
        return Prepared((name, jnp.asarray(value)) for name, value in batch.items())

    def train_step(self, batch):
        loss, self._params, self._others, self._slots = self._step(
            self._params, self._others, self._slots, dict(batch)
        )
        return loss

    def set_rate(self, rate):
        self._slots = set_rate(self._slots, rate)

    def losses(self, handles):
        return [float(loss) for loss in jax.device_get(list(handles))]

    def _inputs(self, batch):
        return {spec["name"]: batch[spec["name"]] for spec in self._graph["inputs"]}

    def predict(self, batch):
        return jax.device_get(self._predict(self._params, self._others, self._inputs(batch)))

    def activations(self, batch, training=False):
        # dropout's keys come back changed: it draws anew the next time
        values, self._others = self._run(self._params, self._others, self._inputs(batch), training)
        return jax.device_get(values)

    def gradients(self, batch):
        (loss, _), gradients = self._show_gradients(self._params, self._others, batch)
        return float(loss), _by_node(self._trained_variables(self._net(gradients)))

    def run_forward(self, batch):
        jax.block_until_ready(self._lose(self._params, self._others, batch))

    def run_backward(self, batch):
        jax.block_until_ready(self._differentiate(self._params, self._others, batch))

    def weights(self):
        return _by_node(self._variables(self._net(), self._graph["nodes"]))

    def load(self, weights):
        net = self._net()
        for node, name, variable in self._variables(net, self._graph["nodes"]):
            variable[...] = jnp.array(weights[node][name])
        self._split(net)

    def sync(self):
        jax.block_until_ready((self._params, self._others))

    def save_native(self, folder):
        from orbax import checkpoint

        model = nnx.state(self._net(), nnx.Not(nnx.RngState))  # constants, too
        with checkpoint.StandardCheckpointer() as saver:
            for name, state in (("model", model), ("optimizer", self._slots)):
                saver.save(os.path.join(os.path.abspath(folder), name), nnx.as_pure(state))


def _by_node(variables):
    """{node: {parameter: a copy of its value}}."""
    values = {}
    for node, name, variable in variables:
        values.setdefault(node, {})[name] = np.array(variable[...])
    return values
