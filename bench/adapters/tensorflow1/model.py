"""The model: placeholders, a training step and an evaluation in one graph, and its session.

The model is laid out twice in the graph, once as it trains and once as it is evaluated, on the
same layers and variables: so no step has to ask which of the two it is.
"""

import os

import tensorflow as tf

from bench.adapters.base import Model
from bench.adapters.tensorflow1.layers import (
    Net,
    forget_bias,
    from_tensorflow,
    to_tensorflow,
    variables_of,
)
from bench.adapters.tensorflow1.training import (
    clipped,
    optimizer_of,
    rate_of,
    target_placeholders,
    with_decay,
)
from bench.adapters.tensorflow_nn import choices, dense_gradient, total_loss
from bench.ops import open_shapes, trained_nodes, values_of
from bench.weights import is_state


class SessionModel(Model):
    def __init__(self, graph, recipe, options, config):
        self._graph, self._recipe = graph, recipe
        self._native = options.setting == "native"
        self._forget = forget_bias(self._native)
        self._rates = {}
        with tf.Graph().as_default() as tensorflow_graph:
            tf.set_random_seed(options.seed)
            # plain variables may be overwritten while backpropagation still reads them
            tf.get_variable_scope().set_use_resource(not self._native)
            self._lay_out()
            self._session = tf.Session(config=config)
            self._session.run(tf.global_variables_initializer())
        tensorflow_graph.finalize()
        settings = {name.strip("_"): value for name, value in vars(self._optimizer).items()}
        self.path = {
            "loop": "session.run with feed_dict",
            "layout": "NHWC",
            "variables": "reference" if self._native else "resource",
        }
        self.path.update(choices(graph, recipe, self._layers, settings, self._native))
        if any(node["op"] == "lstm" for node in graph["nodes"]):
            self.path["lstm"] = "LSTMBlockFusedCell, adds {:g} to forget".format(self._forget)

    def _lay_out(self):
        nodes, trained = self._graph["nodes"], trained_nodes(self._graph, self._recipe)
        shapes = open_shapes(self._graph)
        self._inputs = {
            spec["name"]: tf.placeholder(spec["dtype"], [None] + shapes[spec["name"]], spec["name"])
            for spec in self._graph["inputs"]
        }
        self._batch = target_placeholders(self._graph, self._recipe, self._inputs)
        net = Net(self._graph, self._native)
        self._layers = net.layers
        values = net.lay_out(self._inputs, trained, training=True)
        statistics = tf.get_collection(tf.GraphKeys.UPDATE_OPS)  # of the trained batch-norms
        others = [node for node in nodes if node not in trained]
        self._training = net.lay_out(values, others, training=True)
        self._evaluation = net.lay_out(self._inputs, nodes, training=False)
        self._outputs = {
            name: self._evaluation[name] if self._native else tf.identity(self._evaluation[name])
            for name in self._graph["outputs"]
        }
        self._variables = {
            node["name"]: variables_of(node, net.layers[node["name"]])
            for node in nodes
            if node["parameters"]
        }
        self._loss = total_loss(self._recipe, values, self._batch)
        self._lay_out_step(trained, statistics)
        self._differentiated = tf.group(
            self._loss, *[g for own in self._gradients.values() for g in own.values()]
        )
        own = [v for variables in self._variables.values() for v in variables.values()]
        saved = {"model": own, "optimizer": self._optimizer.variables()}
        self._savers = {name: tf.train.Saver(v) for name, v in saved.items() if v}

    def _lay_out_step(self, trained, statistics):
        """The gradients, and the operation that takes a step."""
        parameters = [
            (node["name"], name, variable)
            for node in trained
            for name, variable in sorted(self._variables.get(node["name"], {}).items())
            if not is_state(node, name)
        ]
        step = tf.train.get_or_create_global_step()
        self._rate = rate_of(self._recipe)
        self._optimizer = optimizer_of(self._recipe, self._rate, self._native, step)
        self._gradients, self._step = {}, tf.group(*statistics)
        if not parameters:
            return
        variables = [variable for _, _, variable in parameters]
        gradients = self._optimizer.compute_gradients(self._loss, variables)
        for (node, name, _), (gradient, variable) in zip(parameters, gradients):
            self._gradients.setdefault(node, {})[name] = dense_gradient(gradient, variable)
        pairs, gradients = [], clipped(self._recipe, gradients)
        for (_, name, _), (gradient, variable) in zip(parameters, gradients):
            decayed = with_decay(self._recipe, self._native, name, gradient, variable)
            pairs.append((decayed, variable))
        with tf.control_dependencies(statistics):
            self._step = self._optimizer.apply_gradients(pairs, global_step=step)

    def _feed(self, batch, placeholders):
        return {placeholder: batch[name] for name, placeholder in placeholders.items()}

    def train_step(self, batch):
        feed = self._feed(batch, self._batch)
        feed.update(self._rates)
        return self._session.run([self._loss, self._step], feed)[0]

    def set_rate(self, rate):
        self._rates = {self._rate: rate}

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        # 1.11 leaves out a relu in front of a maximum that is fetched itself: hence the identities
        return self._values(batch, self._outputs, self._graph["outputs"])

    def activations(self, batch, training=False):
        values = self._training if training else self._evaluation
        return self._values(batch, values, values_of(self._graph))

    def _values(self, batch, values, names):
        fetched = {name: values[name] for name in names}
        return self._session.run(fetched, self._feed(batch, self._inputs))

    def gradients(self, batch):
        fetched = [self._loss, self._gradients]
        loss, gradients = self._session.run(fetched, self._feed(batch, self._batch))
        return float(loss), self._canonical(gradients)

    def run_forward(self, batch):
        self._session.run(self._loss, self._feed(batch, self._batch))

    def run_backward(self, batch):
        self._session.run(self._differentiated, self._feed(batch, self._batch))

    def _canonical(self, by_node, forget=0.0):
        return {
            node["name"]: from_tensorflow(node, by_node[node["name"]], forget)
            for node in self._graph["nodes"]
            if node["name"] in by_node
        }

    def weights(self):
        return self._canonical(self._session.run(self._variables), self._forget)

    def load(self, weights):
        for node in self._graph["nodes"]:
            if node["parameters"]:
                values = to_tensorflow(node, weights[node["name"]], self._forget)
                for name, variable in self._variables[node["name"]].items():
                    variable.load(values[name], self._session)

    def sync(self):
        pass  # session.run has returned only when its devices were done

    def save_native(self, folder):
        for name, saver in self._savers.items():
            saver.save(
                self._session,
                os.path.join(folder, name),
                latest_filename=name + ".checkpoint",
                write_meta_graph=False,
            )
