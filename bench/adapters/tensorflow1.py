"""TensorFlow 1: tf.layers and tf.nn in a graph, trained by tf.train in a session.

Images are NHWC, so canonical weights go in as they are, except the LSTM's: its gates stand in
another order. The model is laid out twice in the graph, once as it trains and once as it is
evaluated, on the same layers and variables: so no step has to ask which of the two it is.
"""

import logging
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from bench.adapters.base import Model
from bench.adapters.tensorflow_nn import (
    average_pool,
    chosen,
    loss_of,
    max_pool,
    padded,
    padding_word,
)
from bench.formats import Unsupported
from bench.weights import is_decayed, is_state

VARIANTS = ("session",)

logging.getLogger("tensorflow").setLevel(logging.ERROR)  # 1.15 warns of every name that 2.0 lacks
_config = tf.ConfigProto()
"""What every session is made with; set_up fills it in."""


def set_up(options):
    if options.device == "gpu":
        if not tf.test.is_gpu_available():
            raise Unsupported("this TensorFlow sees no GPU")
        _config.gpu_options.allow_growth = True
    else:
        _config.device_count["GPU"] = 0
    if options.threads:
        _config.intra_op_parallelism_threads = options.threads
        _config.inter_op_parallelism_threads = 1


def describe():
    return {
        "framework": "tensorflow",
        "version": tf.__version__,
        # 0: TensorFlow takes as many as there are cores
        "threads": _config.intra_op_parallelism_threads or len(os.sched_getaffinity(0)),
        "inter_op_threads": _config.inter_op_parallelism_threads or None,
        "kernels": {"cuda": tf.test.is_built_with_cuda(), "compiler": str(tf.COMPILER_VERSION)},
    }


def build(graph, recipe, options):
    return SessionModel(graph, recipe, options)


# ---- layers -------------------------------------------------------------------------------------


def _layer(node, native):
    """The layer of a node; None for a pure function."""
    op, name = node["op"], node["name"]
    if op == "conv2d":
        return tf.layers.Conv2D(
            node["filters"],
            node["kernel"],
            strides=node["stride"],
            padding=padding_word(node) or "valid",
            use_bias=node["bias"],
            name=name,
        )
    if op == "dense":
        return tf.layers.Dense(node["units"], use_bias=node["bias"], name=name)
    if op == "batchnorm":
        if native:
            return tf.layers.BatchNormalization(name=name)
        # the fused kernel keeps the unbiased running variance, the plain formula the biased one
        return tf.layers.BatchNormalization(
            momentum=node["keep"], epsilon=node["epsilon"], fused=node["unbiased"], name=name
        )
    if op == "embedding":
        return tf.get_variable(name + "/table", [node["vocabulary"], node["units"]])
    if op == "lstm":
        from tensorflow.contrib.rnn import LSTMBlockFusedCell  # contrib is slow to import

        # by default 1 is added to the forget gate while it runs, where the graph's bias has it
        return LSTMBlockFusedCell(node["units"], forget_bias=_forget_bias(native), name=name)
    if op == "dropout":
        return tf.layers.Dropout(node["rate"], name=name)
    return None


def _forget_bias(native):
    return 1.0 if native else 0.0


class Net:
    """The graph's layers by node, run in the graph's order."""

    def __init__(self, graph, native):
        self._graph, self._native = graph, native
        self.by_node = {node["name"]: _layer(node, native) for node in graph["nodes"]}

    def run(self, inputs, training):
        """Every node's value by name."""
        values = dict(inputs)
        for node in self._graph["nodes"]:
            self._run(node, values, training)
        return values

    def _run(self, node, values, training):
        op, name = node["op"], node["name"]
        x, layer = values[node["inputs"][0]], self.by_node[name]
        if op == "conv2d":
            y = layer(x if padding_word(node) else padded(node, x))
        elif op == "dense":
            y = layer(x)
        elif op == "embedding":
            y = tf.nn.embedding_lookup(layer, x)
        elif op == "dropout":
            y = layer(x, training=training)
        elif op == "batchnorm":
            y = self._batchnorm(node, layer, x, training)
        elif op == "maxpool":
            y = max_pool(node, x)
        elif op == "avgpool":
            y = average_pool(node, x)
        elif op == "globalavgpool":
            y = tf.reduce_mean(x, [1, 2])
        elif op == "globalmaxpool":
            y = tf.reduce_max(x, [1, 2])
        elif op == "lstm":
            y = self._lstm(node, layer, x, values)
        elif op in ("relu", "tanh", "sigmoid"):
            y = getattr(tf.nn, op)(x)
        elif op == "flatten":
            y = tf.reshape(x, [-1, node["shape"][0]])
        elif op == "add":
            y = tf.add_n([values[source] for source in node["inputs"]])
        elif op == "concat":
            y = tf.concat([values[source] for source in node["inputs"]], -1)
        else:
            raise Unsupported("no {} in the TensorFlow 1 adapter".format(op))
        values[name] = y

    def _batchnorm(self, node, layer, x, training):
        shape = node["shape"]
        if self._native or not node["unbiased"] or len(shape) == 3:
            return layer(x, training=training)
        # the fused kernel takes images only: every row is an image of one pixel
        image = tf.reshape(x, [-1, 1, 1, shape[-1]])
        return tf.reshape(layer(image, training=training), [-1] + shape)

    def _lstm(self, node, layer, x, values):
        name = node["name"]
        lengths = values[node["lengths"]] if node["lengths"] else None
        initial = None
        if node["initial"]:
            h, c = (values[source] for source in node["initial"])
            initial = (c, h)
        steps = tf.transpose(x, [1, 0, 2])
        outputs, (c, h) = layer(
            steps, initial_state=initial, dtype=tf.float32, sequence_length=lengths
        )
        values[name + ":h"], values[name + ":c"] = h, c
        return h if node["output"] == "last" else tf.transpose(outputs, [1, 0, 2])


# ---- weights ------------------------------------------------------------------------------------


def _variables(node, layer):
    """{canonical parameter: variable}; the LSTM's two kernels are one variable, `kernels`."""
    op = node["op"]
    if op in ("conv2d", "dense"):
        found = {"kernel": layer.kernel}
        if node["bias"]:
            found["bias"] = layer.bias
        return found
    if op == "batchnorm":
        return {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "mean": layer.moving_mean,
            "variance": layer.moving_variance,
        }
    if op == "embedding":
        return {"table": layer}
    kernels, bias = layer.variables
    return {"kernels": kernels, "bias": bias}


def _gates(value):
    """Gates i,f,g,o to i,g,f,o, and back: it is its own inverse."""
    i, f, g, o = np.split(value, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def _to_tensorflow(node, parameters, forget):
    """Values by variable from canonical ones."""
    if node["op"] != "lstm":
        return parameters
    kernels = np.concatenate([parameters["input_kernel"], parameters["recurrent_kernel"]])
    bias = parameters["bias"].copy()
    bias[node["units"] : 2 * node["units"]] -= forget
    return {"kernels": _gates(kernels), "bias": _gates(bias)}


def _from_tensorflow(node, values, forget=0.0):
    """Canonical values from those by variable."""
    if node["op"] != "lstm":
        return values
    kernels, bias = _gates(values["kernels"]), _gates(values["bias"])
    bias[node["units"] : 2 * node["units"]] += forget
    features = len(kernels) - node["units"]
    return {
        "input_kernel": kernels[:features],
        "recurrent_kernel": kernels[features:],
        "bias": bias,
    }


# ---- loss and optimiser -------------------------------------------------------------------------


def _targets(graph, recipe):
    """{name: placeholder} of the recipe's targets and masks."""
    shapes = {node["name"]: node["shape"] for node in graph["nodes"]}
    found = {}
    for spec in recipe["losses"]:
        shape, dtype = shapes[spec["output"]], tf.float32
        if spec["name"] == "softmax-cross-entropy":
            shape, dtype = shape[:-1], tf.int32
        for name, kind in ((spec["target"], dtype), (spec["mask"], tf.float32)):
            if name is not None and name not in found:
                found[name] = tf.placeholder(kind, [None] + shape, name)
    return found


def _optimizer(recipe, native, step):
    o = recipe["optimizer"]
    if o["name"] == "sgd":
        if not o["momentum"]:
            return tf.train.GradientDescentOptimizer(o["lr"])
        return tf.train.MomentumOptimizer(o["lr"], o["momentum"], use_nesterov=o["nesterov"])
    if o["name"] == "adam":
        if native:
            return tf.train.AdamOptimizer(o["lr"])
        # TensorFlow's Adam has its epsilon inside the bias correction: moved outside each step
        power = tf.pow(o["beta2"], tf.cast(step + 1, tf.float32))
        epsilon = o["epsilon"] * tf.sqrt(1 - power)
        return tf.train.AdamOptimizer(o["lr"], o["beta1"], o["beta2"], epsilon)
    if native:
        return tf.train.AdadeltaOptimizer(o["lr"])
    return tf.train.AdadeltaOptimizer(o["lr"], o["rho"], o["epsilon"])


def _dense(gradient, variable):
    """The gradient of a table as a tensor: all rows, most of them zero."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.unsorted_segment_sum(gradient.values, gradient.indices, variable.shape[0])


# ---- model --------------------------------------------------------------------------------------


class SessionModel(Model):
    def __init__(self, graph, recipe, options):
        self._graph, self._recipe = graph, recipe
        self._native = options.setting == "native"
        self._forget = _forget_bias(self._native)
        with tf.Graph().as_default() as place:
            tf.set_random_seed(options.seed)
            # plain variables may be overwritten while backpropagation still reads them
            tf.get_variable_scope().set_use_resource(not self._native)
            self._lay_out()
            self._session = tf.Session(config=_config)
            self._session.run(tf.global_variables_initializer())
        place.finalize()
        settings = {name.strip("_"): value for name, value in vars(self._optimizer).items()}
        self.path = {
            "loop": "session.run with feed_dict",
            "layout": "NHWC",
            "variables": "reference" if self._native else "resource",
        }
        self.path.update(chosen(graph, self._layers, settings, self._native))
        if any(node["op"] == "lstm" for node in graph["nodes"]):
            self.path["lstm"] = "LSTMBlockFusedCell, adds {:g} to forget".format(self._forget)

    def _lay_out(self):
        self._inputs = {
            spec["name"]: tf.placeholder(spec["dtype"], [None] + spec["shape"], spec["name"])
            for spec in self._graph["inputs"]
        }
        self._targets = _targets(self._graph, self._recipe)
        net = Net(self._graph, self._native)
        self._layers = net.by_node
        self._training = net.run(self._inputs, training=True)
        self._evaluation = net.run(self._inputs, training=False)
        self._variables = {
            node["name"]: _variables(node, net.by_node[node["name"]])
            for node in self._graph["nodes"]
            if node["parameters"]
        }
        losses = self._recipe["losses"]
        self._loss = tf.add_n(
            [spec["weight"] * loss_of(spec, self._training, self._targets) for spec in losses]
        )
        self._lay_out_step()
        own = [v for variables in self._variables.values() for v in variables.values()]
        self._savers = {"model": tf.train.Saver(own)}
        if self._optimizer.variables():
            self._savers["optimizer"] = tf.train.Saver(self._optimizer.variables())

    def _lay_out_step(self):
        nodes = {node["name"]: node for node in self._graph["nodes"]}
        trained = [
            (node, name, variable)
            for node, variables in self._variables.items()
            for name, variable in sorted(variables.items())
            if not is_state(nodes[node], name)
        ]
        step = tf.train.get_or_create_global_step()
        self._optimizer = _optimizer(self._recipe, self._native, step)
        pairs = self._optimizer.compute_gradients(self._loss, [v for _, _, v in trained])
        self._gradients = {}
        for (node, name, _), (gradient, variable) in zip(trained, pairs):
            self._gradients.setdefault(node, {})[name] = _dense(gradient, variable)
        o = self._recipe["optimizer"]
        decay = o.get("weight_decay", 0.0)
        # sparse gradients of a table would leave the momentum of its other rows alone
        dense = not self._native and (o["name"] != "sgd" or o["momentum"])
        coupled = []
        for (_, name, _), (gradient, variable) in zip(trained, pairs):
            if decay and (is_decayed(name) or name == "kernels"):
                gradient = _dense(gradient, variable) + decay * variable
            coupled.append((_dense(gradient, variable) if dense else gradient, variable))
        # batch-norm's running statistics
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self._step = self._optimizer.apply_gradients(coupled, global_step=step)

    def _feed(self, batch, targets=True):
        places = dict(self._inputs, **(self._targets if targets else {}))
        return {placeholder: batch[name] for name, placeholder in places.items()}

    def train_step(self, batch):
        return self._session.run([self._loss, self._step], self._feed(batch))[0]

    def losses(self, handles):
        return [float(handle) for handle in handles]

    def predict(self, batch):
        wanted = {name: self._evaluation[name] for name in self._graph["outputs"]}
        return self._session.run(wanted, self._feed(batch, targets=False))

    def activations(self, batch, training=False):
        values = self._training if training else self._evaluation
        wanted = {node["name"]: values[node["name"]] for node in self._graph["nodes"]}
        return self._session.run(wanted, self._feed(batch, targets=False))

    def gradients(self, batch):
        loss, found = self._session.run([self._loss, self._gradients], self._feed(batch))
        return float(loss), self._canonical(found)

    def _canonical(self, found, forget=0.0):
        return {
            node["name"]: _from_tensorflow(node, found[node["name"]], forget)
            for node in self._graph["nodes"]
            if node["name"] in found
        }

    def weights(self):
        return self._canonical(self._session.run(self._variables), self._forget)

    def load(self, weights):
        for node in self._graph["nodes"]:
            if node["parameters"]:
                values = _to_tensorflow(node, weights[node["name"]], self._forget)
                for name, variable in self._variables[node["name"]].items():
                    variable.load(values[name], self._session)

    def sync(self):
        pass  # session.run has returned only when its devices were done

    def save_native(self, folder):
        for name, saver in self._savers.items():
            saver.save(self._session, os.path.join(folder, name), write_meta_graph=False)
